#include "session.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANDOM_BYTES = 4 };

/* The gate: which session there is, and how many calls are in it. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct session *active;

/* A child has one thread and none of the others' locks, and the session is its parent's. What that has in memory is left to the
 * system: it may be half written. */
static void forked(void) {
    connections_forked();
    pthread_mutex_t new_gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t new_left = PTHREAD_COND_INITIALIZER;
    gate = new_gate;
    left = new_left;
    active = NULL;
}

__attribute__((constructor)) static void loaded(void) { pthread_atfork(NULL, NULL, forked); }

struct session *session_enter(struct diagnosis diagnosis) {
    pthread_mutex_lock(&gate);
    struct session *session = active;
    if (session)
        session->calls++;
    pthread_mutex_unlock(&gate);
    if (!session)
        fail(diagnosis, DRMAA_ERRNO_NO_ACTIVE_SESSION, NULL);
    return session;
}

void session_leave(struct session *session) {
    pthread_mutex_lock(&gate);
    if (!--session->calls)
        pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&gate);
}

static bool is_name(const char *name) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return length && !name[length] && length < sizeof ((struct session *)0)->name;
}

/* The name of a session that there was not before. */
static int new_name(struct session *session, struct diagnosis diagnosis) {
    char host[65] = "", digits[2 * RANDOM_BYTES + 1];
    gethostname(host, sizeof host - 1);
    if (!random_digits(digits, RANDOM_BYTES))
        return fail(diagnosis, DRMAA_ERRNO_INTERNAL_ERROR, "no random bytes: %s", strerror(errno));
    snprintf(session->name, sizeof session->name, "%s.%d.%s", host, (int)getpid(), digits);
    return DRMAA_ERRNO_SUCCESS;
}

/* Ask the cell what it is like, which also says whether it is there. */
static int look_at_cell(struct session *session, struct diagnosis diagnosis) {
    struct text body = {0};
    struct answer answer;
    text_puts(&body, "{\"kind\":\"configuration\",\"names\":[\"global\"]}");
    int code = gdi_ask(&session->gdi, GDI_READS, "config_show", &body, &answer, diagnosis);
    text_free(&body);
    if (code)
        return code == DRMAA_ERRNO_TRY_LATER ? DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE : code;
    const struct json *attributes = answer.data ? json_get(answer.data->first, "attributes") : NULL;
    session->staging = !strcasecmp(json_string(attributes, "delegated_file_staging", ""), "true");
    if (answer.status || !attributes)
        code = fail(diagnosis, DRMAA_ERRNO_DRMS_INIT_FAILED, "the qmaster does not say how the cell is configured: %s", answer.texts);
    answer_free(&answer);
    return code;
}

/* The tasks of a session of before that have not ended. */
static int reconnect(struct session *session, struct diagnosis diagnosis) {
    int code = ENDS_NEWS;
    int64_t deadline = now_ms();
    pthread_mutex_lock(&session->lock);
    while (code == ENDS_NEWS && !session->ends.synced) {
        bool looked = false;
        code = ends_follow(session, deadline, &looked, diagnosis);
    }
    pthread_mutex_unlock(&session->lock);
    return code == ENDS_NEWS || code == DRMAA_ERRNO_EXIT_TIMEOUT ? DRMAA_ERRNO_SUCCESS : code;
}

static void session_free(struct session *session) {
    ends_close(&session->ends);
    options_free(&session->options);
    job_table_free(&session->jobs);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    gdi_close(&session->gdi);
    free(session);
}

static int session_open(const char *name, struct session **made, struct diagnosis diagnosis) {
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    int code = gdi_open(&session->gdi, diagnosis);
    if (code) {
        free(session);
        return code;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!ends_open(&session->ends))
        code = fail(diagnosis, DRMAA_ERRNO_INTERNAL_ERROR, "no descriptor is left: %s", strerror(errno));
    if (!code)
        code = look_at_cell(session, diagnosis);
    if (!code && name) {
        strcpy(session->name, name);
        code = reconnect(session, diagnosis);
    } else if (!code) {
        code = new_name(session, diagnosis);
    }
    if (code)
        session_free(session);
    else
        *made = session;
    return code;
}

EXPORTED int drmaa_init(const char *contact, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    static const char prefix[] = "session=";
    const char *name = NULL;
    if (contact && *contact) {
        name = contact + sizeof prefix - 1;
        if (strncmp(contact, prefix, sizeof prefix - 1) || !is_name(name))
            return fail(diagnosis, DRMAA_ERRNO_INVALID_CONTACT_STRING, "\"%.200s\" is no contact string: session=NAME is expected",
                        contact);
    }
    pthread_mutex_lock(&gate);
    int code = active ? fail(diagnosis, DRMAA_ERRNO_ALREADY_ACTIVE_SESSION, NULL) : session_open(name, &active, diagnosis);
    pthread_mutex_unlock(&gate);
    return code ? code : succeed(diagnosis);
}

EXPORTED int drmaa_exit(char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    pthread_mutex_lock(&gate);
    struct session *session = active;
    active = NULL;
    if (!session) {
        pthread_mutex_unlock(&gate);
        return fail(diagnosis, DRMAA_ERRNO_NO_ACTIVE_SESSION, NULL);
    }
    pthread_mutex_lock(&session->lock);
    session->closing = true;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    ends_wake(&session->ends);
    while (session->calls)
        pthread_cond_wait(&left, &gate);
    pthread_mutex_unlock(&gate);
    session_free(session);
    return succeed(diagnosis);
}

EXPORTED int drmaa_get_contact(char *contact, size_t contact_len, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    if (!contact || !contact_len)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no room for the contact string");
    char text[sizeof active->name + 16] = "";
    pthread_mutex_lock(&gate);
    if (active)
        snprintf(text, sizeof text, "session=%s", active->name);
    pthread_mutex_unlock(&gate);
    copy_out(contact, contact_len, text);
    return succeed(diagnosis);
}
