/* The way to the command in Python. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front.h"

static char program[PATH_MAX]; /* the command in Python: libexec/NAME beside the directory of this program */
static const char *name = "";
static const char *key = ""; /* of the request that was sent, "" before */
static const char *(*state_of_wait)(void);
static char **handed;        /* its arguments: program, key, those of the caller */

void hand_over_prepare(int count, char **arguments) {
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *file = strrchr(own, '/'), *directory = NULL;
    if (file) {
        *file++ = '\0';
        directory = strrchr(own, '/');
    }
    handed = calloc((size_t)count + 2, sizeof *handed);
    int written = -1;
    if (directory && handed)
        written = snprintf(program, sizeof program, "%.*s/libexec/%s", (int)(directory - own), own, file);
    if (written < 0 || (size_t)written >= sizeof program) {
        fprintf(stderr, "%s: the command cannot be found beside /proc/self/exe\n", count ? arguments[0] : "front");
        _exit(1);
    }
    name = strrchr(program, '/') + 1;
    handed[0] = program;
    for (int at = 1; at < count; at++)
        handed[at + 1] = arguments[at];
}

const char *command_name(void) { return name; }

void note_sent(const char *of_request) { key = of_request; }

void note_waiting(const char *(*state)(void)) { state_of_wait = state; }

void hand_over(void) {
    const char *first = state_of_wait ? state_of_wait() : key;
    handed[1] = (char *)first;
    if (first)
        execv(program, handed);
    fprintf(stderr, "%s: %s cannot be started: %s\n", name, program, strerror(errno));
    _exit(1);
}
