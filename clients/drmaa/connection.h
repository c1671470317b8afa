/* A connection to the qmaster or a gateway: HTTP/1.1 on a Unix socket, one request at a time.
 *
 * Owns sockets and their bytes. No signal is raised, none is handled; every socket is closed in programs that this process
 * becomes, and in a child that it forks (`connections_forked`).
 */
#ifndef DRMAA_CONNECTION_H
#define DRMAA_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

enum exchange {
    EXCHANGE_DONE,
    EXCHANGE_ABSENT,      /* there is no socket */
    EXCHANGE_REFUSED,     /* nothing was done: nobody listens, or there is too much to do */
    EXCHANGE_LOST,        /* it is not known whether anything was done */
    EXCHANGE_TIMEOUT,     /* the deadline has passed; the connection is as good as before */
    EXCHANGE_INTERRUPTED, /* a signal was handled; the same */
    EXCHANGE_WOKEN,       /* somebody wrote to `wake`; the same */
    EXCHANGE_FAULT        /* an answer that is none; or no memory */
};

struct connection {
    int socket;
    int wake;          /* a descriptor that ends all waiting when it can be read, -1 for none */
    struct text bytes; /* received and not used yet */
    bool used;         /* a request was answered on it: the other side may have closed it since */
    bool kept;         /* the other side lets it stay open */
    /* of the answer that is being read */
    int status;
    bool chunked;
    int64_t left; /* bytes of the body, or of the chunk */
    bool over;
};

/* Connect to `gdi.sock`, or to `gateway.sock`, of a directory. EXCHANGE_ABSENT, _REFUSED or _DONE. */
enum exchange connection_open(struct connection *connection, const char *run_dir);
void connection_close(struct connection *connection);

/* Send a request; `key` NULL for none. */
enum exchange connection_send(struct connection *connection, const char *name, const char *body, size_t length,
                              const char *key, int64_t deadline);

/* Read up to the body of the answer. Of what is no 200 the body says why. */
enum exchange connection_head(struct connection *connection, int64_t deadline);

/* Add the whole body to a text. */
enum exchange connection_body(struct connection *connection, struct text *body, int64_t deadline);

/* Add the next line of a body, without its end, to a text; what is there of it when the deadline or a signal comes is kept
 * in the text, and the call repeated. EXCHANGE_LOST at the end of the body. */
enum exchange connection_line(struct connection *connection, struct text *line, int64_t deadline);

/* In a child, which must not speak on the sockets of its parent: they are closed. */
void connections_forked(void);

/* A descriptor for `wake`, -1 on failure; closed in a forked child, too. */
int wake_open(void);
void wake_close(int descriptor);

#endif
