/* The request that a job is submitted with: what its options come to, and over that its attributes.
 *
 * Owns the meaning of the attributes in the fields of `Submit` (gridengine/protocols/gdi/requests.py, docs/gdi.md).
 */
#ifndef DRMAA_SUBMISSION_H
#define DRMAA_SUBMISSION_H

#include <stdbool.h>

#include "diagnosis.h"
#include "text.h"

struct session;
struct drmaa_job_template_s;

/* Which tasks an array has; of another job `last` is 0. */
struct tasks {
    unsigned first, last, step;
};

/* Make the body of a request `submit`. */
int submission(struct session *session, const struct drmaa_job_template_s *template, struct tasks tasks, struct text *body,
               struct diagnosis diagnosis);

#endif
