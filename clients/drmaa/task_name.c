#include "task_name.h"

#include <inttypes.h>
#include <stdio.h>

/* A number without a sign at `*at`, which moves behind it; 0 for none, or one that no job or task has. */
static uint32_t number(const char **at, uint64_t most) {
    uint64_t value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value * 10 + (uint64_t)(**at - '0');
        if (value > most)
            return 0;
    }
    return (uint32_t)value;
}

int read_task_name(const char *name, struct task *task, struct diagnosis diagnosis) {
    const char *at = name ? name : "";
    *task = (struct task){number(&at, 9999999), 0};
    bool valid = task->job != 0;
    if (valid && *at == '.') {
        at++;
        task->number = number(&at, UINT32_MAX);
        valid = task->number != 0;
    }
    if (valid && !*at)
        return DRMAA_ERRNO_SUCCESS;
    return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "\"%.100s\" is no id of a job", name ? name : "");
}

void write_task_name(struct task task, char name[TASK_NAME_ROOM]) {
    if (task.number)
        snprintf(name, TASK_NAME_ROOM, "%" PRIu32 ".%" PRIu32, task.job, task.number);
    else
        snprintf(name, TASK_NAME_ROOM, "%" PRIu32, task.job);
}
