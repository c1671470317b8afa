/* Job templates: what a program says of a job before it submits it. One template is used by one thread at a time. */
#ifndef DRMAA_JOB_TEMPLATE_H
#define DRMAA_JOB_TEMPLATE_H

#include "lists.h"

enum attribute {
    REMOTE_COMMAND,
    JS_STATE,
    WD,
    JOB_NAME,
    INPUT_PATH,
    OUTPUT_PATH,
    ERROR_PATH,
    JOIN_FILES,
    TRANSFER_FILES,
    JOB_CATEGORY,
    NATIVE_SPECIFICATION,
    BLOCK_EMAIL,
    START_TIME,
    SUBMIT_AS_EUID,
    ATTRIBUTES
};

enum vector_attribute { V_ARGV, V_ENV, V_EMAIL, VECTOR_ATTRIBUTES };

struct drmaa_job_template_s {
    char *values[ATTRIBUTES]; /* NULL where nothing was said */
    struct strings vectors[VECTOR_ATTRIBUTES];
    bool given[VECTOR_ATTRIBUTES]; /* said, perhaps of no items */
};

#endif
