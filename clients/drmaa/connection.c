#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cell.h"

enum { REGISTERED_MOST = 1024, RECEIVE_BYTES = 65536, HEAD_MOST = 65536 };
static const int64_t CHUNK_MOST = (int64_t)1 << 40;

/* Descriptors plus one, 0 for a free place: what a child must close, readable at any moment of a fork. */
static _Atomic int registered[REGISTERED_MOST];

static bool enter(int descriptor) {
    for (int place = 0; place < REGISTERED_MOST; place++) {
        int free_place = 0;
        if (atomic_compare_exchange_strong(&registered[place], &free_place, descriptor + 1))
            return true;
    }
    return false;
}

static void leave(int descriptor) {
    for (int place = 0; place < REGISTERED_MOST; place++) {
        int there = descriptor + 1;
        if (atomic_compare_exchange_strong(&registered[place], &there, 0))
            break;
    }
    close(descriptor);
}

void connections_forked(void) {
    for (int place = 0; place < REGISTERED_MOST; place++) {
        int there = atomic_exchange(&registered[place], 0);
        if (there)
            close(there - 1);
    }
}

int wake_open(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor >= 0 && !enter(descriptor)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void wake_close(int descriptor) {
    if (descriptor >= 0)
        leave(descriptor);
}

static enum exchange connect_to(struct connection *connection, const char *run_dir, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", run_dir, name);
    if (length < 0 || (size_t)length >= sizeof address.sun_path)
        return EXCHANGE_ABSENT;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return EXCHANGE_REFUSED;
    int failed;
    do
        failed = connect(descriptor, (struct sockaddr *)&address, sizeof address);
    while (failed && errno == EINTR);
    if (failed || !enter(descriptor)) {
        enum exchange outcome = failed && errno == ENOENT ? EXCHANGE_ABSENT : EXCHANGE_REFUSED;
        close(descriptor);
        return outcome;
    }
    *connection = (struct connection){.socket = descriptor, .wake = -1};
    return EXCHANGE_DONE;
}

enum exchange connection_open(struct connection *connection, const char *run_dir) {
    enum exchange outcome = connect_to(connection, run_dir, "gdi.sock");
    if (outcome == EXCHANGE_DONE)
        return outcome;
    enum exchange second = connect_to(connection, run_dir, "gateway.sock");
    return second == EXCHANGE_ABSENT ? outcome : second;
}

void connection_close(struct connection *connection) {
    if (connection->socket >= 0)
        leave(connection->socket);
    text_free(&connection->bytes);
    connection->socket = -1;
}

/* Wait until the socket is ready for `events`. */
static enum exchange ready(struct connection *connection, short events, int64_t deadline) {
    struct pollfd watched[2] = {{connection->socket, events, 0}, {connection->wake, POLLIN, 0}};
    int64_t left = deadline < 0 ? -1 : deadline - now_ms();
    if (deadline >= 0 && left < 0)
        left = 0;
    int found = poll(watched, connection->wake < 0 ? 1 : 2, left > 3600000 ? 3600000 : (int)left);
    if (found < 0)
        return errno == EINTR ? EXCHANGE_INTERRUPTED : EXCHANGE_FAULT;
    if (watched[0].revents)
        return EXCHANGE_DONE;
    if (found && watched[1].revents)
        return EXCHANGE_WOKEN;
    return left > 3600000 ? ready(connection, events, deadline) : EXCHANGE_TIMEOUT;
}

/* Send all of it. A signal does not cut a request in two. */
static enum exchange send_all(struct connection *connection, const char *bytes, size_t count, int64_t deadline) {
    while (count) {
        ssize_t sent = send(connection->socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            count -= (size_t)sent;
        } else if (errno == EAGAIN) {
            enum exchange outcome = ready(connection, POLLOUT, deadline);
            if (outcome == EXCHANGE_TIMEOUT || outcome == EXCHANGE_WOKEN || outcome == EXCHANGE_FAULT)
                return EXCHANGE_LOST;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return EXCHANGE_DONE; /* who does not want all of it may have said why */
        } else if (errno != EINTR) {
            return EXCHANGE_LOST;
        }
    }
    return EXCHANGE_DONE;
}

enum exchange connection_send(struct connection *connection, const char *name, const char *body, size_t length,
                              const char *key, int64_t deadline) {
    struct text request = {0};
    text_printf(&request, "POST /v1/%s HTTP/1.1\r\nHost: qmaster\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n",
                name, length);
    if (key)
        text_printf(&request, "Idempotency-Key: %s\r\n", key);
    text_puts(&request, "\r\n");
    text_add(&request, body, length);
    enum exchange outcome = EXCHANGE_FAULT;
    if (!request.failed)
        outcome = send_all(connection, request.data, request.length, deadline);
    text_free(&request);
    return outcome;
}

/* Receive something more. */
static enum exchange receive(struct connection *connection, int64_t deadline) {
    char buffer[RECEIVE_BYTES];
    for (;;) {
        ssize_t count = recv(connection->socket, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count > 0) {
            text_add(&connection->bytes, buffer, (size_t)count);
            return connection->bytes.failed ? EXCHANGE_FAULT : EXCHANGE_DONE;
        }
        if (count == 0)
            return EXCHANGE_LOST;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return EXCHANGE_LOST;
        enum exchange outcome = ready(connection, POLLIN, deadline);
        if (outcome != EXCHANGE_DONE)
            return outcome;
    }
}

/* A line of a head, of which at most HEAD_MOST bytes are waited for. */
static enum exchange head_line(struct connection *connection, char *line, size_t room, int64_t deadline) {
    char *end;
    while (!connection->bytes.data || !(end = memchr(connection->bytes.data, '\n', connection->bytes.length))) {
        if (connection->bytes.length > HEAD_MOST)
            return EXCHANGE_FAULT;
        enum exchange outcome = receive(connection, deadline);
        if (outcome != EXCHANGE_DONE)
            return outcome;
    }
    size_t length = (size_t)(end - connection->bytes.data), kept = length < room ? length : room - 1;
    memcpy(line, connection->bytes.data, kept);
    line[kept] = '\0';
    line[strcspn(line, "\r")] = '\0';
    text_drop(&connection->bytes, length + 1);
    return EXCHANGE_DONE;
}

enum exchange connection_head(struct connection *connection, int64_t deadline) {
    char line[1024];
    enum exchange outcome = head_line(connection, line, sizeof line, deadline);
    if (outcome != EXCHANGE_DONE)
        return outcome;
    if (sscanf(line, "HTTP/1.%*1[01] %d", &connection->status) != 1)
        return EXCHANGE_FAULT;
    connection->used = connection->kept = true;
    connection->chunked = connection->over = false;
    connection->left = 0;
    for (;;) {
        do
            outcome = head_line(connection, line, sizeof line, deadline);
        while (outcome == EXCHANGE_INTERRUPTED);
        if (outcome != EXCHANGE_DONE)
            return outcome == EXCHANGE_FAULT ? outcome : EXCHANGE_LOST; /* half a head is no state to go on from */
        if (!*line)
            break;
        char *value = strchr(line, ':');
        if (!value)
            continue;
        *value++ = '\0';
        value += strspn(value, " \t");
        if (!strcasecmp(line, "Content-Length"))
            connection->left = strtoll(value, NULL, 10);
        else if (!strcasecmp(line, "Transfer-Encoding"))
            connection->chunked = !strcasecmp(value, "chunked");
        else if (!strcasecmp(line, "Connection"))
            connection->kept = strcasecmp(value, "close") != 0;
    }
    connection->over = !connection->chunked && connection->left <= 0;
    return EXCHANGE_DONE;
}

/* Have bytes of the body at the front of `bytes`, `left` of them, or the body over. */
static enum exchange body_piece(struct connection *connection, int64_t deadline) {
    enum exchange outcome;
    while (!connection->over) {
        if (connection->left > 0) {
            if (connection->bytes.length)
                return EXCHANGE_DONE;
            outcome = receive(connection, deadline);
            if (outcome != EXCHANGE_DONE)
                return outcome;
            continue;
        }
        if (!connection->chunked) {
            connection->over = true;
            break;
        }
        char line[64];
        outcome = head_line(connection, line, sizeof line, deadline);
        if (outcome != EXCHANGE_DONE)
            return outcome;
        if (!*line)
            continue; /* the end of the chunk before */
        char *end;
        connection->left = strtoll(line, &end, 16);
        if (end == line || connection->left < 0 || connection->left > CHUNK_MOST)
            return EXCHANGE_FAULT;
        if (!connection->left) {
            connection->over = true;
            return head_line(connection, line, sizeof line, deadline);
        }
    }
    return EXCHANGE_DONE;
}

static size_t piece_length(const struct connection *connection) {
    return connection->bytes.length < (size_t)connection->left ? connection->bytes.length : (size_t)connection->left;
}

static void use(struct connection *connection, size_t count) {
    text_drop(&connection->bytes, count);
    connection->left -= (int64_t)count;
}

enum exchange connection_body(struct connection *connection, struct text *body, int64_t deadline) {
    for (;;) {
        enum exchange outcome = body_piece(connection, deadline);
        if (outcome == EXCHANGE_INTERRUPTED)
            continue;
        if (outcome != EXCHANGE_DONE)
            return EXCHANGE_LOST;
        if (connection->over)
            return body->failed ? EXCHANGE_FAULT : EXCHANGE_DONE;
        size_t count = piece_length(connection);
        text_add(body, connection->bytes.data, count);
        use(connection, count);
    }
}

enum exchange connection_line(struct connection *connection, struct text *line, int64_t deadline) {
    for (;;) {
        enum exchange outcome = body_piece(connection, deadline);
        if (outcome != EXCHANGE_DONE)
            return outcome;
        if (connection->over)
            return EXCHANGE_LOST;
        size_t count = piece_length(connection);
        const char *end = memchr(connection->bytes.data, '\n', count);
        if (end)
            count = (size_t)(end - connection->bytes.data);
        text_add(line, connection->bytes.data, count);
        use(connection, end ? count + 1 : count);
        if (line->failed)
            return EXCHANGE_FAULT;
        if (end)
            return EXCHANGE_DONE;
    }
}
