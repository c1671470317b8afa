/* A script that is sent along (-b n), in the fields of `Submit`. */
#ifndef DRMAA_SCRIPT_H
#define DRMAA_SCRIPT_H

#include "diagnosis.h"
#include "text.h"

int script_add(struct text *body, const char *path, struct diagnosis diagnosis);

#endif
