/* drmaa_run_job and drmaa_run_bulk_jobs: a job is submitted, and its tasks become the session's. */
#include <errno.h>
#include <stdlib.h>

#include "lists.h"
#include "session.h"
#include "submission.h"
#include "task_name.h"

/* The submitted tasks become those of the session. `generation`: of the stream before: one that was opened meanwhile may not
 * know of them, and they may have ended already. */
static int note(struct session *session, uint32_t job, struct tasks tasks, unsigned generation, struct diagnosis diagnosis) {
    bool noted = true;
    pthread_mutex_lock(&session->lock);
    if (!tasks.last)
        noted = job_table_live(&session->jobs, (struct task){job, 0});
    for (uint64_t number = tasks.first; tasks.last && noted && number <= tasks.last; number += tasks.step)
        noted = job_table_live(&session->jobs, (struct task){job, (uint32_t)number});
    session->ends.renew |= generation != session->ends.generation;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    if (noted)
        return DRMAA_ERRNO_SUCCESS;
    return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, "job %u was submitted, but there is no memory left to wait for it", job);
}

/* Submit; the number of the job. */
static int submit(struct session *session, const struct drmaa_job_template_s *template, struct tasks tasks, uint32_t *job,
                  struct diagnosis diagnosis) {
    struct text body = {0};
    struct answer answer = {0};
    pthread_mutex_lock(&session->lock);
    unsigned generation = session->ends.generation;
    pthread_mutex_unlock(&session->lock);
    int code = submission(session, template, tasks, &body, diagnosis);
    if (!code)
        code = gdi_ask(&session->gdi, GDI_CHANGES, "submit", &body, &answer, diagnosis);
    text_free(&body);
    if (code)
        return code;
    *job = (uint32_t)json_number(answer.data, "job_id", 0);
    if (answer.status || !*job)
        code = fail(diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "%s", answer.texts[0] ? answer.texts : "the job was refused without a reason");
    answer_free(&answer);
    return code ? code : note(session, *job, tasks, generation, diagnosis);
}

EXPORTED int drmaa_run_job(char *job_id, size_t job_id_len, const drmaa_job_template_t *jt, char *error_diagnosis,
                           size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    int code;
    uint32_t job = 0;
    if (!job_id || !job_id_len || !jt)
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job template and room for the id of the job are expected");
    else
        code = submit(session, jt, (struct tasks){0, 0, 1}, &job, diagnosis);
    session_leave(session);
    if (code)
        return code;
    char name[TASK_NAME_ROOM];
    write_task_name((struct task){job, 0}, name);
    copy_out(job_id, job_id_len, name);
    return succeed(diagnosis);
}

/* The tasks of a bulk: from one end to the other, also downwards, as the standard has it. */
static bool read_bulk(unsigned start, unsigned end, int incr, struct tasks *tasks) {
    if (!start || !end || !incr || (incr > 0 && start > end) || (incr < 0 && start < end))
        return false;
    unsigned step = incr > 0 ? (unsigned)incr : 0u - (unsigned)incr;
    unsigned count = (incr > 0 ? end - start : start - end) / step;
    unsigned far = incr > 0 ? start + count * step : start - count * step;
    *tasks = incr > 0 ? (struct tasks){start, far, step} : (struct tasks){far, start, step};
    return true;
}

EXPORTED int drmaa_run_bulk_jobs(drmaa_job_ids_t **jobids, const drmaa_job_template_t *jt, unsigned start, unsigned end,
                                 int incr, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    struct tasks tasks;
    uint32_t job = 0;
    int code;
    drmaa_job_ids_t *found = NULL;
    if (!jobids || !jt)
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job template and a place for the ids are expected");
    else if (!read_bulk(start, end, incr, &tasks))
        code = fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "%u to %u by %d are no tasks of a job", start, end, incr);
    else if (!(found = calloc(1, sizeof *found)))
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    else
        code = submit(session, jt, tasks, &job, diagnosis);
    session_leave(session);
    if (code) {
        free(found);
        return code;
    }
    *found = (drmaa_job_ids_t){job, tasks.first, tasks.step, (tasks.last - tasks.first) / tasks.step + 1, 0};
    *jobids = found;
    return succeed(diagnosis);
}
