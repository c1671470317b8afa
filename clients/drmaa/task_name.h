/* Ids of jobs as programs have them: `12`, and `12.3` for a task of an array. */
#ifndef DRMAA_TASK_NAME_H
#define DRMAA_TASK_NAME_H

#include "diagnosis.h"
#include "job_table.h"

enum { TASK_NAME_ROOM = 24 };

/* Read an id. DRMAA_ERRNO_INVALID_ARGUMENT for what is none. */
int read_task_name(const char *name, struct task *task, struct diagnosis diagnosis);
void write_task_name(struct task task, char name[TASK_NAME_ROOM]);

#endif
