/* drmaa_control and drmaa_job_ps: what state a job is in, and to change that. */
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "task_name.h"

enum { CATCH_UP_MS = 10000, TARGETS_MOST = 500 };

static const struct {
    const char *word; /* of `task_states` */
    int state;
    bool over;
} states[] = {
    {"queued_active", DRMAA_PS_QUEUED_ACTIVE, false},
    {"system_on_hold", DRMAA_PS_SYSTEM_ON_HOLD, false},
    {"user_on_hold", DRMAA_PS_USER_ON_HOLD, false},
    {"user_system_on_hold", DRMAA_PS_USER_SYSTEM_ON_HOLD, false},
    {"running", DRMAA_PS_RUNNING, false},
    {"system_suspended", DRMAA_PS_SYSTEM_SUSPENDED, false},
    {"user_suspended", DRMAA_PS_USER_SUSPENDED, false},
    {"user_system_suspended", DRMAA_PS_USER_SYSTEM_SUSPENDED, false},
    {"error", DRMAA_PS_FAILED, false},
    {"done", DRMAA_PS_DONE, true},
    {"failed", DRMAA_PS_FAILED, true},
};

/* The state of a task as the qmaster has it; `*over` where it has ended, or there is none (DRMAA_ERRNO_INVALID_JOB). */
static int ask_state(struct session *session, struct task task, int *state, bool *over, struct diagnosis diagnosis) {
    struct text body = {0};
    struct answer answer;
    text_printf(&body, "{\"tasks\":[[%u,%u]]}", task.job, task.number);
    int code = gdi_ask(&session->gdi, GDI_READS, "task_states", &body, &answer, diagnosis);
    text_free(&body);
    if (code)
        return code;
    const struct json *list = json_get(answer.data, "states"), *word = list ? list->first : NULL;
    if (answer.status || !word || word->kind != JSON_STRING)
        code = fail(diagnosis, DRMAA_ERRNO_INTERNAL_ERROR, "%s", answer.texts);
    *over = true;
    *state = DRMAA_PS_UNDETERMINED;
    for (size_t which = 0; !code && which < sizeof states / sizeof *states; which++) {
        if (!strcmp(word->string, states[which].word)) {
            *state = states[which].state;
            *over = states[which].over;
        }
    }
    if (!code && !*word->string)
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_JOB, "there is no job %u", task.job);
    answer_free(&answer);
    return code;
}

/* Whether the session knows the end of a task. What the qmaster says has ended is waited for a moment, so that who has seen the
 * state need not wait for the end. */
static bool has_ended(struct session *session, struct task task, bool over, bool *done) {
    struct end *end = NULL;
    struct diagnosis nobodys = {0};
    int64_t deadline = now_ms() + CATCH_UP_MS;
    bool looked = false;
    pthread_mutex_lock(&session->lock);
    while (over && job_table_look(&session->jobs, task, NULL) == STANDING_LIVE && now_ms() < deadline)
        if (ends_follow(session, deadline, &looked, nobodys) != ENDS_NEWS)
            break;
    bool ended = job_table_look(&session->jobs, task, &end) == STANDING_ENDED;
    if (ended)
        *done = end->done;
    pthread_mutex_unlock(&session->lock);
    return ended;
}

/* The state of a task. */
static int state_of(struct session *session, struct task task, int *state, bool *over, struct diagnosis diagnosis) {
    bool done = false;
    int code = DRMAA_ERRNO_SUCCESS;
    *over = true;
    if (!has_ended(session, task, false, &done)) {
        code = ask_state(session, task, state, over, diagnosis);
        if (!*over || (code && code != DRMAA_ERRNO_INVALID_JOB) || !has_ended(session, task, true, &done))
            return code;
    }
    *state = done ? DRMAA_PS_DONE : DRMAA_PS_FAILED;
    return DRMAA_ERRNO_SUCCESS;
}

EXPORTED int drmaa_job_ps(const char *job_id, int *remote_ps, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    struct task task;
    bool over;
    int code = read_task_name(job_id, &task, diagnosis);
    if (!code && !remote_ps)
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no place for the state");
    if (!code)
        code = state_of(session, task, remote_ps, &over, diagnosis);
    session_leave(session);
    return code ? code : succeed(diagnosis);
}

static const struct {
    const char *request, *fields;
} actions[] = {
    [DRMAA_CONTROL_SUSPEND] = {"change_states", "\"action\":\"suspend\",\"what\":\"job\""},
    [DRMAA_CONTROL_RESUME] = {"change_states", "\"action\":\"unsuspend\",\"what\":\"job\""},
    [DRMAA_CONTROL_HOLD] = {"hold_jobs", "\"holds\":\"u\""},
    [DRMAA_CONTROL_RELEASE] = {"hold_jobs", "\"holds\":\"u\",\"release\":true"},
    [DRMAA_CONTROL_TERMINATE] = {"delete_jobs", NULL},
};

/* Have the qmaster act on some targets, JSON strings with commas between them. */
static int act(struct session *session, int action, const char *targets, int *status, struct diagnosis diagnosis) {
    struct text body = {0};
    struct answer answer;
    text_printf(&body, "{\"targets\":[%s]", targets);
    if (actions[action].fields)
        text_printf(&body, ",%s", actions[action].fields);
    text_puts(&body, "}");
    int code = gdi_ask(&session->gdi, GDI_CHANGES, actions[action].request, &body, &answer, diagnosis);
    text_free(&body);
    if (code)
        return code;
    *status = answer.status;
    if (answer.status)
        fail(diagnosis, DRMAA_ERRNO_AUTH_FAILURE, "%s", answer.texts);
    answer_free(&answer);
    return DRMAA_ERRNO_SUCCESS;
}

/* Whether an action makes sense for a job in a state. */
static int check_state(int action, int state, struct diagnosis diagnosis) {
    bool user = state == DRMAA_PS_USER_SUSPENDED || state == DRMAA_PS_USER_SYSTEM_SUSPENDED;
    if (action == DRMAA_CONTROL_SUSPEND && state != DRMAA_PS_RUNNING && state != DRMAA_PS_SYSTEM_SUSPENDED)
        return fail(diagnosis, DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE, NULL);
    if (action == DRMAA_CONTROL_RESUME && !user)
        return fail(diagnosis, DRMAA_ERRNO_RESUME_INCONSISTENT_STATE, NULL);
    return DRMAA_ERRNO_SUCCESS;
}

static int control_one(struct session *session, const char *name, int action, struct diagnosis diagnosis) {
    struct task task;
    int state, status = 0, code = read_task_name(name, &task, diagnosis);
    bool over;
    if (!code)
        code = state_of(session, task, &state, &over, diagnosis);
    if (!code && over)
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_JOB, "job %.30s has ended already", name);
    if (!code)
        code = check_state(action, state, diagnosis);
    if (code)
        return code;
    char target[TASK_NAME_ROOM + 2] = "\"";
    write_task_name(task, target + 1);
    strcat(target, "\"");
    code = act(session, action, target, &status, diagnosis);
    return code ? code : status ? DRMAA_ERRNO_AUTH_FAILURE : DRMAA_ERRNO_SUCCESS;
}

/* The jobs of a session that have not ended, some at a time. What an action means nothing to is passed over. */
static int control_all(struct session *session, int action, struct diagnosis diagnosis) {
    struct text list = {0};
    int code = DRMAA_ERRNO_SUCCESS, status;
    pthread_mutex_lock(&session->lock);
    job_table_jobs(&session->jobs, &list);
    pthread_mutex_unlock(&session->lock);
    struct json_document *jobs = list.failed ? NULL : json_read(list.data, list.length);
    if (!jobs)
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    const struct json *job = jobs ? json_root(jobs)->first : NULL;
    while (job && !code) {
        struct text targets = {0};
        for (int count = 0; job && count < TARGETS_MOST; job = job->next, count++)
            text_printf(&targets, "%s\"%lld\"", count ? "," : "", job->number);
        code = targets.failed ? fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL) : act(session, action, targets.data, &status, diagnosis);
        text_free(&targets);
    }
    json_free(jobs);
    text_free(&list);
    return code;
}

EXPORTED int drmaa_control(const char *jobid, int action, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    int code;
    if (!jobid || action < DRMAA_CONTROL_SUSPEND || action > DRMAA_CONTROL_TERMINATE)
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job and an action are expected");
    else if (!strcmp(jobid, DRMAA_JOB_IDS_SESSION_ALL))
        code = control_all(session, action, diagnosis);
    else
        code = control_one(session, jobid, action, diagnosis);
    session_leave(session);
    return code ? code : succeed(diagnosis);
}
