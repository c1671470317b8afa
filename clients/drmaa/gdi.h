/* Requests to the qmaster, with the patience of the commands: it is waited for while it restarts, and no change is made twice.
 *
 * Owns connections between requests, keys of changes, and what is tried again. Many threads may ask at a time.
 * Source: architecture.md 4, adr/0143.
 */
#ifndef DRMAA_GDI_H
#define DRMAA_GDI_H

#include <pthread.h>

#include "cell.h"
#include "connection.h"
#include "diagnosis.h"
#include "json.h"

enum { IDLE_MOST = 16 };

struct idle {
    struct connection connection;
    int64_t since;
};

struct gdi {
    struct cell cell;
    pthread_mutex_t lock;
    struct idle idle[IDLE_MOST]; /* the one that was used last is the last */
    int idle_count;
};

struct answer {
    struct json_document *document;
    int status;
    const struct json *data; /* NULL for null */
    char texts[1000];        /* what was answered, a line each */
};

int gdi_open(struct gdi *gdi, struct diagnosis diagnosis);
void gdi_close(struct gdi *gdi);

enum gdi_kind { GDI_READS, GDI_CHANGES };

/* Ask, and read the answer, which `answer_free` gives back. DRMAA_ERRNO_SUCCESS says that there is an answer; that may be a
 * refusal (`status`). DRMAA_ERRNO_TRY_LATER: nothing was done, there is too much to do. */
int gdi_ask(struct gdi *gdi, enum gdi_kind kind, const char *name, const struct text *body, struct answer *answer,
            struct diagnosis diagnosis);
void answer_free(struct answer *answer);

/* Read what the body of an answer says. False: it is no answer. */
bool answer_read(struct answer *answer, const struct text *body);

/* A connection with what it takes to get one: patience while nobody listens, until the deadline at most. */
int gdi_connect(struct gdi *gdi, struct connection *connection, int64_t deadline, struct diagnosis diagnosis);

/* Random bytes as `2 * count` hexadecimal digits and NUL. */
bool random_digits(char *digits, size_t count);

#endif
