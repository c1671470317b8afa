/* One request and its answer, where both go without a delay; what comes after a delay is the command's in Python. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell.h"
#include "connection.h"
#include "front.h"
#include "gdi.h"

enum { ANSWER_MS = 1200, BODY_MS = 60000, BOOTSTRAP_MOST = 65536, KEY_BYTES = 16 };

const char *common_directory(void) {
    const char *root = variable("SGE_ROOT"), *cell = variable("SGE_CELL");
    struct text path = {0};
    if (!*root)
        hand_over();
    text_printf(&path, "%s/%s/common", root, *cell ? cell : "default");
    if (path.failed)
        hand_over();
    return path.data;
}

/* The directory of the cell's sockets, by lines `name value`; hand over what a strict reader may refuse. */
static const char *run_directory(void) {
    struct text path = {0}, bootstrap = {0};
    char *found = NULL, *rest = NULL;
    text_printf(&path, "%s/bootstrap", common_directory());
    if (path.failed || read_file(path.data, BOOTSTRAP_MOST, false, &bootstrap) != FILE_READ)
        hand_over();
    for (size_t at = 0; at < bootstrap.length; at++)
        if ((bootstrap.data[at] < ' ' && bootstrap.data[at] != '\n' && bootstrap.data[at] != '\t') || bootstrap.data[at] > '~')
            hand_over();
    for (char *line = strtok_r(bootstrap.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t");
        if (!*line || *line == '#')
            continue;
        char *value = line + strcspn(line, " \t");
        if (*value)
            *value++ = '\0';
        value += strspn(value, " \t");
        size_t length = strlen(value);
        while (length && strchr(" \t", value[length - 1]))
            value[--length] = '\0';
        if (!length)
            hand_over();
        if (!strcmp(line, "run_dir"))
            found = value;
    }
    if (!found)
        hand_over();
    return found;
}

/* From now on signals stay pending: the command in Python deletes the job when one comes. */
static void defer_signals(void) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGQUIT);
    sigprocmask(SIG_BLOCK, &ending, NULL);
}

/* Send a request, and read the head of its answer. */
static void exchange_heads(struct connection *connection, const char *name, const struct text *body, const char *key) {
    int64_t deadline = now_ms() + ANSWER_MS;
    enum exchange outcome = connection_send(connection, name, body->data, body->length, key, deadline);
    if (outcome != EXCHANGE_DONE)
        hand_over();
    do
        outcome = connection_head(connection, deadline);
    while (outcome == EXCHANGE_INTERRUPTED);
    if (outcome != EXCHANGE_DONE || connection->status != 200)
        hand_over();
}

struct text ask(enum asking kind, const char *name, const struct text *body) {
    static char key[2 * KEY_BYTES + 1];
    struct connection connection;
    struct text answer = {0};
    if (body->failed || !random_digits(key, KEY_BYTES) || connection_open(&connection, run_directory()) != EXCHANGE_DONE)
        hand_over();
    if (kind == ASK_AND_WAIT)
        defer_signals();
    if (kind != ASK_READS)
        note_sent(key);
    exchange_heads(&connection, name, body, kind == ASK_READS ? NULL : key);
    if (connection_body(&connection, &answer, now_ms() + BODY_MS) != EXCHANGE_DONE || !answer.length)
        hand_over();
    connection_close(&connection);
    return answer;
}

const struct json *data_of(const char *text, size_t length, const struct json **answers) {
    struct json_document *document = json_read(text, length);
    const struct json *root = document ? json_root(document) : NULL;
    const struct json *data = json_get(root, "data");
    *answers = json_get(root, "answers");
    if (!data || !*answers || (*answers)->kind != JSON_LIST || json_number(root, "status", -1))
        hand_over();
    return data;
}

void ask_stream(struct connection *connection, const char *name, const struct text *body, int wake) {
    if (body->failed || connection_open(connection, run_directory()) != EXCHANGE_DONE)
        hand_over();
    connection->wake = wake;
    exchange_heads(connection, name, body, NULL);
    if (!connection->chunked) /* no stream: the qmaster says why */
        hand_over();
}

bool write_all(int descriptor, const struct text *text) {
    signal(SIGPIPE, SIG_IGN);
    for (size_t at = 0; !text->failed && at < text->length;) {
        ssize_t count = write(descriptor, text->data + at, text->length - at);
        if (count < 0 && errno != EINTR)
            return false;
        at += count > 0 ? (size_t)count : 0;
    }
    return !text->failed;
}

void print_text(int descriptor, const struct text *text) {
    if (!write_all(descriptor, text)) /* its reader has gone, or the disk is full: said by the command in Python */
        hand_over();
}

void finish(const struct text *output) {
    print_text(1, output);
    _exit(0);
}
