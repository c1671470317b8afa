/* The `stat` of drmaa_wait: one number that says how a task has ended. */
#ifndef DRMAA_STAT_H
#define DRMAA_STAT_H

#include "job_table.h"

int stat_of(const struct end *end);

#endif
