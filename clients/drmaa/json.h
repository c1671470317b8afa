/* JSON values out of a text. A document keeps its own copy of all that its values point to. */
#ifndef DRMAA_JSON_H
#define DRMAA_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_TABLE };

struct json {
    enum json_kind kind;
    const char *name;   /* in a table, else NULL */
    const char *string; /* of a string; NUL ends it, and is in none */
    long long number;   /* of a number, its whole part; of a bool 0 or 1 */
    const char *raw;    /* the value as it was written */
    size_t raw_length;
    struct json *first, *next; /* what a list or table holds; the next in the same one */
};

struct json_document;

/* Read a text; NULL where it is no JSON, or there is no memory. */
struct json_document *json_read(const char *text, size_t length);
const struct json *json_root(const struct json_document *document);
void json_free(struct json_document *document);

/* What a table has under a name; NULL without that, also for a `value` that is no table. */
const struct json *json_get(const struct json *value, const char *name);

/* The same as a string or a number; `otherwise` where there is none. */
const char *json_string(const struct json *value, const char *name, const char *otherwise);
long long json_number(const struct json *value, const char *name, long long otherwise);

#endif
