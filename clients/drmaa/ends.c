#include "ends.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ranges.h"
#include "session.h"

enum {
    SYNC_MS = 60000,      /* for all that was asked for to be told of */
    SILENCE_MS = 90000,   /* the qmaster says something every 20 s */
    AWAY_MS = 300000,     /* how long a qmaster that has gone away is waited for */
    PAUSE_MS = 200
};

bool ends_open(struct ends *ends) {
    *ends = (struct ends){.connection = {.socket = -1, .wake = -1}, .away = -1};
    ends->wake = wake_open();
    return ends->wake >= 0;
}

static void hang_up(struct ends *ends) {
    if (ends->open)
        connection_close(&ends->connection);
    ends->open = false;
    text_free(&ends->line);
}

void ends_close(struct ends *ends) {
    hang_up(ends);
    wake_close(ends->wake);
}

void ends_wake(struct ends *ends) {
    uint64_t one = 1;
    ssize_t written = write(ends->wake, &one, sizeof one);
    (void)written; /* a counter that is full wakes as well */
}

static void calm(struct ends *ends) {
    uint64_t count;
    ssize_t got = read(ends->wake, &count, sizeof count);
    (void)got;
}

/* --- what the lines say; with the session's lock --- */

struct of_job {
    struct job_table *table;
    uint32_t job;
    const char *left;
    bool array, whole; /* there was memory for it */
};

/* A task that the qmaster knows nothing of any more: it never ran. */
static bool end_unless_left(struct task task, void *of) {
    struct of_job *job = of;
    if (task.number ? !ranges_have(job->left, task.number) : !*job->left)
        job->whole &= job_table_end(job->table, task, OUTCOME_ABORTED, 0, false, NULL);
    return true;
}

/* A task that somebody has asked for, and that there is not, or is not his. */
static bool forget_unless_left(struct task task, void *of) {
    struct of_job *job = of;
    if ((task.number != 0) != job->array || (task.number ? !ranges_have(job->left, task.number) : !*job->left))
        job_table_unknown(job->table, task);
    return true;
}

static bool end_deleted(uint32_t number, void *of) {
    struct of_job *job = of;
    struct task task = {job->job, job->array ? number : 0};
    job->whole &= job_table_end(job->table, task, OUTCOME_ABORTED, 0, false, NULL);
    return job->whole;
}

static bool live_task(uint32_t number, void *of) {
    struct of_job *job = of;
    job->whole &= job_table_live(job->table, (struct task){job->job, number});
    return job->whole;
}

static bool take_live(struct job_table *table, const struct json *live) {
    for (const struct json *pair = live->first; pair; pair = pair->next) {
        const struct json *tasks = pair->first ? pair->first->next : NULL;
        if (!tasks || tasks->kind != JSON_STRING)
            return false;
        struct of_job job = {.table = table, .job = (uint32_t)pair->first->number, .whole = true};
        if (*tasks->string)
            ranges_each(tasks->string, live_task, &job);
        else
            live_task(0, &job);
        if (!job.whole)
            return false;
    }
    return true;
}

static enum outcome outcome_of(const char *word) {
    if (!strcmp(word, "exited"))
        return OUTCOME_EXITED;
    if (!strcmp(word, "signaled"))
        return OUTCOME_SIGNALED;
    return strcmp(word, "aborted") ? OUTCOME_UNKNOWN : OUTCOME_ABORTED;
}

/* Take one line in. False without memory, or where it is none. */
static bool take_line(struct session *session, const struct json *line) {
    struct job_table *table = &session->jobs;
    const struct json *live = json_get(line, "live");
    if (live) {
        session->ends.synced = true;
        return take_live(table, live);
    }
    struct of_job job = {.table = table, .job = (uint32_t)json_number(line, "job", 0), .whole = true};
    job.array = json_number(line, "array", 0);
    job.left = json_string(line, "left", NULL);
    const char *deleted = json_string(line, "deleted", NULL);
    if (!job.job)
        return line->kind == JSON_TABLE;
    if (job.left) {
        job_table_each(table, STANDING_LIVE, job.job, end_unless_left, &job);
        job_table_each(table, STANDING_ASKED, job.job, forget_unless_left, &job);
    } else if (deleted) {
        ranges_each(deleted, end_deleted, &job);
    } else {
        struct task task = {job.job, (uint32_t)json_number(line, "task", 0)};
        enum outcome outcome = outcome_of(json_string(line, "outcome", ""));
        bool done = !strcmp(json_string(line, "state", ""), "done");
        return job_table_end(table, task, outcome, (int)json_number(line, "status", 0), done, json_get(line, "usage"));
    }
    return job.whole;
}

/* --- the stream; without the session's lock, by the thread that reads --- */

static enum exchange begin(struct session *session, const struct text *request, struct diagnosis diagnosis) {
    struct ends *ends = &session->ends;
    int64_t limit = now_ms() + SYNC_MS;
    if (gdi_connect(&session->gdi, &ends->connection, now_ms(), diagnosis))
        return EXCHANGE_REFUSED;
    ends->open = true;
    enum exchange outcome = connection_send(&ends->connection, "task_ends", request->data, request->length, NULL, limit);
    while (outcome == EXCHANGE_DONE) {
        outcome = connection_head(&ends->connection, limit);
        if (outcome == EXCHANGE_DONE)
            break;
        if (outcome == EXCHANGE_INTERRUPTED)
            outcome = EXCHANGE_DONE;
    }
    if (outcome == EXCHANGE_DONE && ends->connection.status != 200)
        outcome = EXCHANGE_REFUSED;
    if (outcome == EXCHANGE_DONE && !ends->connection.chunked) { /* no stream: the qmaster says why */
        struct text body = {0};
        struct answer answer;
        outcome = connection_body(&ends->connection, &body, limit);
        if (outcome == EXCHANGE_DONE && answer_read(&answer, &body)) {
            fail(diagnosis, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, "%s", answer.texts);
            answer_free(&answer);
            outcome = EXCHANGE_FAULT;
        }
        text_free(&body);
    }
    ends->connection.wake = ends->wake;
    return outcome;
}

/* Open the stream, and ask for all tasks that have not ended as far as is known. */
static int open_stream(struct session *session, struct diagnosis diagnosis) {
    struct ends *ends = &session->ends;
    struct text request = {0};
    pthread_mutex_lock(&session->lock);
    text_puts(&request, "{\"session\":");
    text_json_string(&request, session->name);
    text_puts(&request, ",\"jobs\":");
    job_table_jobs(&session->jobs, &request);
    text_puts(&request, "}");
    ends->synced = ends->renew = false;
    ends->generation++;
    pthread_mutex_unlock(&session->lock);
    enum exchange outcome = request.failed ? EXCHANGE_FAULT : begin(session, &request, diagnosis);
    text_free(&request);
    if (outcome == EXCHANGE_DONE) {
        ends->heard = now_ms();
        return ENDS_NEWS;
    }
    hang_up(ends);
    return outcome == EXCHANGE_FAULT ? DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE : DRMAA_ERRNO_SUCCESS;
}

/* Nobody answers: rest a moment, unless that is so for long enough. */
static int come_again(struct ends *ends, int64_t deadline, struct diagnosis diagnosis) {
    int64_t now = now_ms();
    hang_up(ends);
    if (ends->away < 0)
        ends->away = now;
    if (now - ends->away > AWAY_MS || (deadline >= 0 && now >= deadline && now - ends->away > PAUSE_MS))
        return fail(diagnosis, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, "the qmaster does not tell how jobs end: it cannot be asked");
    struct pollfd wake = {ends->wake, POLLIN, 0};
    poll(&wake, 1, PAUSE_MS);
    calm(ends);
    return ENDS_NEWS;
}

/* Take in the line that has come, and those that are there behind it. */
static int take_lines(struct session *session, struct diagnosis diagnosis) {
    struct ends *ends = &session->ends;
    int code = ENDS_NEWS;
    enum exchange outcome = EXCHANGE_DONE;
    while (outcome == EXCHANGE_DONE) {
        struct json_document *document = json_read(ends->line.data ? ends->line.data : "", ends->line.length);
        pthread_mutex_lock(&session->lock);
        if (!document || !take_line(session, json_root(document)))
            code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, "a line about jobs that have ended cannot be taken in");
        pthread_mutex_unlock(&session->lock);
        json_free(document);
        ends->line.length = 0;
        if (code != ENDS_NEWS)
            break;
        outcome = connection_line(&ends->connection, &ends->line, 0);
    }
    ends->heard = now_ms();
    return code;
}

static int read_some(struct session *session, int64_t deadline, bool renew, bool synced, struct diagnosis diagnosis) {
    struct ends *ends = &session->ends;
    if (renew)
        hang_up(ends);
    if (!ends->open) {
        int code = open_stream(session, diagnosis);
        return code ? code : come_again(ends, deadline, diagnosis);
    }
    int64_t limit = ends->heard + (synced ? SILENCE_MS : SYNC_MS);
    if (synced && deadline >= 0 && deadline < limit)
        limit = deadline;
    switch (connection_line(&ends->connection, &ends->line, limit)) {
    case EXCHANGE_DONE:
        ends->away = -1;
        return take_lines(session, diagnosis);
    case EXCHANGE_TIMEOUT:
        return limit == deadline ? DRMAA_ERRNO_EXIT_TIMEOUT : come_again(ends, deadline, diagnosis);
    case EXCHANGE_INTERRUPTED:
        return synced ? DRMAA_ERRNO_EXIT_TIMEOUT : ENDS_NEWS;
    case EXCHANGE_WOKEN:
        calm(ends);
        return ENDS_NEWS;
    default:
        return come_again(ends, deadline, diagnosis);
    }
}

/* Another thread reads: wait until it has read something. */
static void wait_for_reader(struct session *session, int64_t deadline) {
    struct timespec until;
    if (deadline < 0) {
        pthread_cond_wait(&session->changed, &session->lock);
        return;
    }
    if (deadline <= now_ms())
        deadline = now_ms() + PAUSE_MS; /* until what was asked for has been told of */
    until.tv_sec = deadline / 1000;
    until.tv_nsec = deadline % 1000 * 1000000;
    pthread_cond_timedwait(&session->changed, &session->lock, &until);
}

int ends_follow(struct session *session, int64_t deadline, bool *looked, struct diagnosis diagnosis) {
    struct ends *ends = &session->ends;
    if (session->closing)
        return fail(diagnosis, DRMAA_ERRNO_NO_ACTIVE_SESSION, NULL);
    bool current = ends->synced && !ends->renew;
    if (*looked && current && deadline >= 0 && now_ms() >= deadline)
        return fail(diagnosis, DRMAA_ERRNO_EXIT_TIMEOUT, NULL);
    *looked = current;
    if (ends->reading) {
        if (ends->renew)
            ends_wake(ends);
        wait_for_reader(session, deadline);
        return ENDS_NEWS;
    }
    bool renew = ends->renew, synced = ends->synced;
    ends->reading = true;
    pthread_mutex_unlock(&session->lock);
    int code = read_some(session, deadline, renew, synced && !renew, diagnosis);
    pthread_mutex_lock(&session->lock);
    ends->reading = false;
    if (!ends->open)
        ends->synced = false;
    pthread_cond_broadcast(&session->changed);
    return code == DRMAA_ERRNO_EXIT_TIMEOUT ? fail(diagnosis, code, NULL) : code;
}
