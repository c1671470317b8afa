/* drmaa_wait and drmaa_synchronize: until tasks have ended, and what their ends say. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lists.h"
#include "session.h"
#include "stat.h"
#include "task_name.h"

/* When a wait of so many seconds is over, ms; -1 for never. */
static int64_t deadline_of(signed long timeout) {
    if (timeout < 0)
        return -1;
    return timeout > INT_MAX ? -1 : now_ms() + (int64_t)timeout * 1000;
}

static int no_such_job(struct task task, struct diagnosis diagnosis) {
    char name[TASK_NAME_ROOM];
    write_task_name(task, name);
    return fail(diagnosis, DRMAA_ERRNO_INVALID_JOB, "there is no job %s of this user, or its end has been waited for already", name);
}

/* Wait, under the session's lock, until a task has ended. */
static int until_ended(struct session *session, struct task task, int64_t deadline, struct diagnosis diagnosis) {
    bool looked = false;
    if (job_table_look(&session->jobs, task, NULL) == STANDING_NONE) {
        if (!job_table_asked(&session->jobs, task))
            return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
        if (job_table_look(&session->jobs, task, NULL) == STANDING_ASKED)
            session->ends.renew = true;
    }
    for (;;) {
        enum standing standing = job_table_look(&session->jobs, task, NULL);
        if (standing == STANDING_ENDED)
            return DRMAA_ERRNO_SUCCESS;
        if (standing == STANDING_REAPED || standing == STANDING_NONE)
            return no_such_job(task, diagnosis);
        int code = ends_follow(session, deadline, &looked, diagnosis);
        if (code != ENDS_NEWS)
            return code;
    }
}

/* The same, until any task of the session has ended. */
static int until_any_ended(struct session *session, int64_t deadline, struct task *task, struct diagnosis diagnosis) {
    bool looked = false;
    for (;;) {
        if (session->jobs.first) {
            *task = session->jobs.first->task;
            return DRMAA_ERRNO_SUCCESS;
        }
        if (!session->jobs.live)
            return fail(diagnosis, DRMAA_ERRNO_INVALID_JOB, "the session has no job whose end has not been waited for");
        int code = ends_follow(session, deadline, &looked, diagnosis);
        if (code != ENDS_NEWS)
            return code;
    }
}

static drmaa_attr_values_t *usage_of(const struct end *end) {
    drmaa_attr_values_t *usage = calloc(1, sizeof *usage);
    const char *item = end->usage;
    for (size_t at = 0; usage && at < end->usage_count; at++, item += strlen(item) + 1) {
        if (!strings_add(&usage->strings, item)) {
            drmaa_release_attr_values(usage);
            return NULL;
        }
    }
    return usage;
}

EXPORTED int drmaa_wait(const char *job_id, char *job_id_out, size_t job_id_out_len, int *stat, signed long timeout,
                        drmaa_attr_values_t **rusage, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    struct task task = {0};
    struct end *end = NULL;
    int64_t deadline = deadline_of(timeout);
    bool any = job_id && !strcmp(job_id, DRMAA_JOB_IDS_SESSION_ANY);
    int code = any ? DRMAA_ERRNO_SUCCESS : read_task_name(job_id, &task, diagnosis);
    if (!code) {
        pthread_mutex_lock(&session->lock);
        code = any ? until_any_ended(session, deadline, &task, diagnosis) : until_ended(session, task, deadline, diagnosis);
        if (!code)
            end = job_table_reap(&session->jobs, task);
        pthread_mutex_unlock(&session->lock);
    }
    session_leave(session);
    if (code || !end)
        return code ? code : fail(diagnosis, DRMAA_ERRNO_INTERNAL_ERROR, NULL);
    char name[TASK_NAME_ROOM];
    write_task_name(task, name);
    copy_out(job_id_out, job_id_out_len, name);
    if (stat)
        *stat = stat_of(end);
    if (rusage && !(*rusage = usage_of(end)))
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    free(end);
    return code ? code : succeed(diagnosis);
}

/* The tasks that a call of drmaa_synchronize is about. */
struct wanted {
    struct task *tasks;
    size_t count, room;
    bool failed;
};

static bool add_wanted(struct task task, void *of) {
    struct wanted *wanted = of;
    if (wanted->count == wanted->room) {
        size_t room = wanted->room ? 2 * wanted->room : 64;
        struct task *tasks = realloc(wanted->tasks, room * sizeof *tasks);
        wanted->failed = !tasks;
        if (!tasks)
            return false;
        wanted->tasks = tasks;
        wanted->room = room;
    }
    wanted->tasks[wanted->count++] = task;
    return true;
}

/* What the ids mean, under the session's lock. Jobs that nothing is known of are asked for in one go. */
static int read_wanted(struct session *session, const char *job_ids[], struct wanted *wanted, struct diagnosis diagnosis) {
    for (; *job_ids; job_ids++) {
        struct task task;
        if (!strcmp(*job_ids, DRMAA_JOB_IDS_SESSION_ALL)) {
            job_table_each(&session->jobs, STANDING_LIVE, 0, add_wanted, wanted);
            job_table_each(&session->jobs, STANDING_ENDED, 0, add_wanted, wanted);
            continue;
        }
        int code = read_task_name(*job_ids, &task, diagnosis);
        if (code)
            return code;
        if (job_table_look(&session->jobs, task, NULL) == STANDING_NONE) {
            wanted->failed |= !job_table_asked(&session->jobs, task);
            session->ends.renew = true;
        }
        add_wanted(task, wanted);
    }
    return wanted->failed ? fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL) : DRMAA_ERRNO_SUCCESS;
}

/* Wait for all of them, one after the other: all have ended when each has. */
static int until_all_ended(struct session *session, const struct wanted *wanted, bool all, int64_t deadline, struct diagnosis diagnosis) {
    bool looked = false;
    for (size_t at = 0; at < wanted->count;) {
        enum standing standing = job_table_look(&session->jobs, wanted->tasks[at], NULL);
        if (standing == STANDING_ENDED || (all && standing == STANDING_REAPED)) {
            at++;
            continue;
        }
        if (standing == STANDING_REAPED || standing == STANDING_NONE)
            return no_such_job(wanted->tasks[at], diagnosis);
        int code = ends_follow(session, deadline, &looked, diagnosis);
        if (code != ENDS_NEWS)
            return code;
    }
    return DRMAA_ERRNO_SUCCESS;
}

EXPORTED int drmaa_synchronize(const char *job_ids[], signed long timeout, int dispose, char *error_diagnosis,
                               size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    if (!job_ids) {
        session_leave(session);
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a list of jobs is expected, with NULL at its end");
    }
    struct wanted wanted = {0};
    bool all = *job_ids && !strcmp(*job_ids, DRMAA_JOB_IDS_SESSION_ALL);
    pthread_mutex_lock(&session->lock);
    int code = read_wanted(session, job_ids, &wanted, diagnosis);
    if (!code)
        code = until_all_ended(session, &wanted, all, deadline_of(timeout), diagnosis);
    for (size_t at = 0; !code && dispose && at < wanted.count; at++)
        free(job_table_reap(&session->jobs, wanted.tasks[at]));
    pthread_mutex_unlock(&session->lock);
    session_leave(session);
    free(wanted.tasks);
    return code ? code : succeed(diagnosis);
}
