/* The native start of qsub, qdel, qstat and qacct: what is common and simple is done here, all else by the command in Python.
 *
 * The one rule: whatever is not understood exactly is handed over (`hand_over`), which does not return. Before the request that
 * is as if the command in Python had been called. Afterwards the command gets the key of the request and repeats it: the qmaster
 * gives the same answer and does nothing twice (adr/0143). So every fault, wait and rare text is that of the command in Python.
 * Memory is not given back, since the process ends within milliseconds; a wait frees what each line takes. Source: adr/0261.
 */
#ifndef FRONT_H
#define FRONT_H

#include <stdbool.h>
#include <stddef.h>

#include "connection.h"
#include "json.h"
#include "text.h"

#include "front_options.h"

/* An option that is understood. `count`: of its arguments; `low`, `high`: limits of a number. */
struct option {
    const char *name;
    int count;
    enum fold fold;
    const char *field;
    long long low, high;
};

struct options {
    const struct option *rows;
    size_t count;
};
extern const struct options qsub_table, qstat_table;

struct strings {
    char **items;
    size_t count;
};

struct setting {
    const struct option *option;
    char **values;
};

/* Options of one line: of the command line, or of a line of a script or a file. */
struct settings {
    struct setting *items;
    size_t count;
};

/* handover.c. Become the command in Python; with the key of the request if that was sent. */
_Noreturn void hand_over(void);
void hand_over_prepare(int count, char **arguments);
const char *command_name(void);
/* From now on the request may be carried out; `key`: hexadecimal digits. */
void note_sent(const char *key);
/* From now on the job is waited for, and not submitted again; `state` returns the first argument of the command in Python, or NULL. */
void note_waiting(const char *(*state)(void));

/* common.c. The same as `realloc`; never NULL. */
void *grow(void *memory, size_t count, size_t size);
void strings_add(struct strings *strings, char *item);
/* A copy of `length` bytes. */
char *copy_of(const char *bytes, size_t length);

/* The next item of a list, NULL behind the last. Empty ones are passed over; `list` moves on. */
char *next_item(const char **list, const char *separators);
/* Add `"field":[...]` to a JSON object. */
void add_strings(struct text *body, const char *field, const struct strings *strings);

/* Whether all bytes are ASCII, so that their meaning depends on no locale. */
bool is_ascii(const char *bytes, size_t count);
bool is_printable(const char *string);
/* The variable, "" without it; hand over what is not ASCII. */
const char *variable(const char *name);
bool exists(const char *path);

/* exchange.c. `common` directory of the cell. */
const char *common_directory(void);
enum asking { ASK_READS, ASK_CHANGES, ASK_AND_WAIT };
/* The body of the answer with status 200; ASK_AND_WAIT: a change, from which on signals wait for the command in Python. */
struct text ask(enum asking kind, const char *name, const struct text *body);
/* The data of an answer that says success; `answers`: its texts. */
const struct json *data_of(const char *text, size_t length, const struct json **answers);
/* Send a request that is answered by a stream, and read the head of that. `wake`: a descriptor that ends all waiting. */
void ask_stream(struct connection *connection, const char *name, const struct text *body, int wake);
bool write_all(int descriptor, const struct text *text);
/* Write it all to the standard output or the standard error. */
void print_text(int descriptor, const struct text *text);
/* Write it all to the standard output and end the process with 0. */
_Noreturn void finish(const struct text *output);

/* options.c. The settings and the number of tokens that are used; the rest are operands. */
size_t read_options(struct options table, struct strings tokens, struct settings *settings);
/* The settings of a line of a script or a file. */
struct settings read_line(struct options table, const char *line, size_t length);

/* wait.c. Wait for the end of a job that was submitted, and end the process with its status. `tasks`: "" or those of an array. */
_Noreturn void wait_for(long long number, const char *tasks, bool terse);

_Noreturn void qsub(struct strings arguments);
_Noreturn void qdel(struct strings arguments);
_Noreturn void qstat(struct strings arguments);
_Noreturn void qacct(struct strings arguments);

#endif
