/* The lists that calls return: names of attributes, values, ids of jobs. */
#ifndef DRMAA_LISTS_H
#define DRMAA_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drmaa.h"

/* A list of texts. `next`: the one that the next call gets. */
struct strings {
    char **items;
    size_t count, next;
};

struct drmaa_attr_names_s {
    struct strings strings;
};

struct drmaa_attr_values_s {
    struct strings strings;
};

/* The tasks of an array, whose ids are made when they are asked for. */
struct drmaa_job_ids_s {
    uint32_t job, first, step;
    size_t count, next;
};

/* Add a copy. False without memory. */
bool strings_add(struct strings *strings, const char *item);
void strings_free(struct strings *strings);

#endif
