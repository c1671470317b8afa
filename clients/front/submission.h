/* A submission while options are folded into it, as `gridengine.options.submit_folds` has it. */
#ifndef FRONT_SUBMISSION_H
#define FRONT_SUBMISSION_H

#include "front.h"

/* A field of the request with one value, as JSON. */
struct field {
    const char *name;
    struct text value;
};

/* A field of the request with a list of texts. `level`: of the source that it is of. */
struct list {
    const char *name;
    struct strings items;
    int level;
};

struct pair {
    const char *name, *value;
};

struct submission {
    struct field *fields;
    size_t field_count;
    struct list *lists;
    size_t list_count;
    struct pair *variables; /* those to export */
    size_t variable_count;
    char *cwd;
    int level; /* number of the source that is being folded */
    bool binary, terse, sync;
};

void fold(struct submission *submission, const struct settings *settings);

/* The value of a field, emptied to be written. */
struct text *field_of(struct submission *submission, const char *name);
void set_string(struct submission *submission, const char *name, const char *value);
void set_bool(struct submission *submission, const char *name, bool value);

/* y[es] or n[o]. */
bool read_switch(const char *value);

#endif
