#include "gdi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    PATIENCE_ABSENT_MS = 1000, /* for sockets that are not there at all */
    PAUSE_MS = 100,
    ANSWER_MS = 60000,       /* an answer that does not begin within this time will not come */
    PATIENCE_LOST_MS = 30000, /* how long a change whose answer was lost is asked for again */
    IDLE_MS = 45000,         /* the other side closes a connection after 60 s */
    KEY_BYTES = 16
};

int gdi_open(struct gdi *gdi, struct diagnosis diagnosis) {
    gdi->idle_count = 0;
    int code = cell_open(&gdi->cell, diagnosis);
    if (!code)
        pthread_mutex_init(&gdi->lock, NULL);
    return code;
}

void gdi_close(struct gdi *gdi) {
    while (gdi->idle_count)
        connection_close(&gdi->idle[--gdi->idle_count].connection);
    pthread_mutex_destroy(&gdi->lock);
    cell_close(&gdi->cell);
}

bool random_digits(char *digits, size_t count) {
    unsigned char bytes[64];
    if (count > sizeof bytes || getrandom(bytes, count, 0) != (ssize_t)count)
        return false;
    for (size_t at = 0; at < count; at++) {
        digits[2 * at] = "0123456789abcdef"[bytes[at] >> 4];
        digits[2 * at + 1] = "0123456789abcdef"[bytes[at] & 15];
    }
    digits[2 * count] = '\0';
    return true;
}

static void rest(void) {
    struct timespec pause = {0, PAUSE_MS * 1000000L};
    nanosleep(&pause, NULL);
}

int gdi_connect(struct gdi *gdi, struct connection *connection, int64_t deadline, struct diagnosis diagnosis) {
    int64_t began = now_ms();
    for (;;) {
        enum exchange outcome = connection_open(connection, gdi->cell.run_dir);
        if (outcome == EXCHANGE_DONE)
            return DRMAA_ERRNO_SUCCESS;
        int64_t now = now_ms();
        int patience = outcome == EXCHANGE_ABSENT ? PATIENCE_ABSENT_MS : cell_patience_ms(&gdi->cell);
        if (now - began > patience || (deadline >= 0 && now >= deadline))
            return cell_unreachable(&gdi->cell, diagnosis);
        rest();
    }
}

/* A connection that was kept, if there is one that the other side has not closed by its clock. */
static bool take_idle(struct gdi *gdi, struct connection *connection) {
    bool found = false;
    int64_t now = now_ms();
    pthread_mutex_lock(&gdi->lock);
    while (!found && gdi->idle_count) {
        struct idle *idle = &gdi->idle[--gdi->idle_count];
        *connection = idle->connection;
        found = now - idle->since < IDLE_MS;
        if (!found)
            connection_close(connection);
    }
    pthread_mutex_unlock(&gdi->lock);
    return found;
}

static void give_back(struct gdi *gdi, struct connection *connection) {
    bool kept = false;
    if (connection->kept && connection->over && !connection->bytes.length) {
        pthread_mutex_lock(&gdi->lock);
        if (gdi->idle_count < IDLE_MOST) {
            gdi->idle[gdi->idle_count++] = (struct idle){*connection, now_ms()};
            kept = true;
        }
        pthread_mutex_unlock(&gdi->lock);
    }
    if (!kept)
        connection_close(connection);
}

/* One try: the request sent, the answer read into `body`. */
static enum exchange exchange(struct connection *connection, const char *name, const struct text *request, const char *key,
                              int64_t answer_ms, struct text *body) {
    int64_t deadline = now_ms() + answer_ms;
    bool was_used = connection->used;
    enum exchange outcome = connection_send(connection, name, request->data, request->length, key, deadline);
    if (outcome != EXCHANGE_DONE)
        return outcome;
    do
        outcome = connection_head(connection, deadline);
    while (outcome == EXCHANGE_INTERRUPTED);
    if (outcome == EXCHANGE_LOST && was_used && !connection->bytes.length)
        return EXCHANGE_LOST; /* closed between two requests, most likely: asked again as any lost answer is */
    if (outcome != EXCHANGE_DONE)
        return outcome == EXCHANGE_FAULT ? outcome : EXCHANGE_LOST;
    outcome = connection_body(connection, body, deadline);
    if (outcome != EXCHANGE_DONE)
        return outcome;
    switch (connection->status) {
    case 200:
        return EXCHANGE_DONE;
    case 502:
    case 503:
        return EXCHANGE_REFUSED;
    case 504:
        return EXCHANGE_LOST;
    default:
        return EXCHANGE_FAULT;
    }
}

static void read_texts(struct answer *answer, const struct json *answers) {
    size_t length = 0;
    answer->texts[0] = '\0';
    for (const struct json *pair = answers ? answers->first : NULL; pair; pair = pair->next) {
        const struct json *level = pair->first, *text = level ? level->next : NULL;
        if (!text || text->kind != JSON_STRING || level->kind != JSON_STRING || !strcmp(level->string, "hint"))
            continue;
        if (length && length + 1 < sizeof answer->texts) {
            answer->texts[length++] = '\n';
            answer->texts[length] = '\0';
        }
        copy_out(answer->texts + length, sizeof answer->texts - length, text->string);
        length = strlen(answer->texts);
    }
}

bool answer_read(struct answer *answer, const struct text *body) {
    *answer = (struct answer){.document = json_read(body->data ? body->data : "", body->length)};
    if (!answer->document)
        return false;
    const struct json *root = json_root(answer->document);
    answer->status = (int)json_number(root, "status", 1);
    answer->data = json_get(root, "data");
    if (answer->data && answer->data->kind == JSON_NULL)
        answer->data = NULL;
    read_texts(answer, json_get(root, "answers"));
    return root->kind == JSON_TABLE;
}

void answer_free(struct answer *answer) {
    json_free(answer->document);
    answer->document = NULL;
}

/* Whether a request is worth another try, and when not what the program is told. `lost_at`: since when its answer is lost. */
static bool again(struct gdi *gdi, enum exchange outcome, int64_t began, int64_t *lost_at) {
    int64_t now = now_ms();
    if (outcome == EXCHANGE_LOST && *lost_at < 0)
        *lost_at = now;
    if (outcome != EXCHANGE_LOST && outcome != EXCHANGE_REFUSED)
        return false;
    if (*lost_at >= 0) /* whoever is there by then knows what became of the request */
        return now - *lost_at <= PATIENCE_LOST_MS;
    return now - began <= cell_patience_ms(&gdi->cell);
}

static int given_up(enum exchange outcome, bool lost, const char *name, const struct answer *answer, struct diagnosis diagnosis) {
    if (outcome == EXCHANGE_REFUSED && !lost)
        return fail(diagnosis, DRMAA_ERRNO_TRY_LATER, answer->texts[0] ? "%s" : NULL, answer->texts);
    if (lost)
        return fail(diagnosis, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE,
                    "the answer to the request %s was lost; it is not known whether it was carried out", name);
    return fail(diagnosis, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, "the qmaster gave no readable answer to the request %s", name);
}

int gdi_ask(struct gdi *gdi, enum gdi_kind kind, const char *name, const struct text *request, struct answer *answer,
            struct diagnosis diagnosis) {
    char key[2 * KEY_BYTES + 1];
    int64_t began = now_ms(), lost_at = -1, answer_ms = ANSWER_MS;
    *answer = (struct answer){0};
    if (request->failed)
        return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    if (kind == GDI_CHANGES && !random_digits(key, KEY_BYTES))
        return fail(diagnosis, DRMAA_ERRNO_INTERNAL_ERROR, "no random bytes: %s", strerror(errno));
    for (;;) {
        struct connection connection;
        struct text body = {0};
        int code = DRMAA_ERRNO_SUCCESS;
        if (!take_idle(gdi, &connection))
            code = gdi_connect(gdi, &connection, -1, diagnosis);
        if (code) {
            if (lost_at >= 0 && now_ms() - lost_at <= PATIENCE_LOST_MS)
                continue; /* it may come back, and know what became of the request */
            return code;
        }
        bool was_used = connection.used;
        enum exchange outcome = exchange(&connection, name, request, kind == GDI_CHANGES ? key : NULL, answer_ms, &body);
        answer_free(answer);
        bool readable = answer_read(answer, &body);
        text_free(&body);
        if (outcome == EXCHANGE_DONE && !readable)
            outcome = EXCHANGE_FAULT;
        if (outcome == EXCHANGE_DONE) {
            give_back(gdi, &connection);
            return DRMAA_ERRNO_SUCCESS;
        }
        connection_close(&connection);
        if (!again(gdi, outcome, began, &lost_at)) {
            code = given_up(outcome, lost_at >= 0, name, answer, diagnosis);
            answer_free(answer);
            return code;
        }
        answer_ms = lost_at < 0 ? ANSWER_MS : PATIENCE_LOST_MS;
        if (!(outcome == EXCHANGE_LOST && was_used))
            rest();
    }
}
