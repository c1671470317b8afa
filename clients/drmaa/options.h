/* What the options of a job come to, before its attributes: the qmaster reads them, by the very table of qsub.
 *
 * Owns which texts there are to read: request files, job category, native specification, and what these name. All files are read
 * here, in the rights of this process. What was answered is kept, so that many equal jobs ask once. Source: adr/0161.
 */
#ifndef DRMAA_OPTIONS_H
#define DRMAA_OPTIONS_H

#include <stdbool.h>

#include "diagnosis.h"
#include "text.h"

enum { OPTIONS_KEPT = 16 };

struct option_cache {
    struct {
        struct text asked, answered;
    } kept[OPTIONS_KEPT];
    unsigned next;
};

struct session;
struct drmaa_job_template_s;

/* The fields of `Submit` that the options come to, as a JSON table. */
int options_fold(struct session *session, const struct drmaa_job_template_s *template, struct text *fields,
                 struct diagnosis diagnosis);
void options_free(struct option_cache *cache);

/* Add `name` and the variables of this process as a table; what is no UTF-8 is left out. */
void add_environment(struct text *body, const char *name);

#endif
