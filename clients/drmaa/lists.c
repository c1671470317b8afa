#include "lists.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis.h"
#include "text.h"

bool strings_add(struct strings *strings, const char *item) {
    if (!(strings->count & (strings->count - 1))) { /* none, or a power of two: they are full */
        char **items = realloc(strings->items, (strings->count ? 2 * strings->count : 1) * sizeof *items);
        if (!items)
            return false;
        strings->items = items;
    }
    strings->items[strings->count] = strdup(item);
    return strings->items[strings->count] && ++strings->count;
}

void strings_free(struct strings *strings) {
    for (size_t at = 0; at < strings->count; at++)
        free(strings->items[at]);
    free(strings->items);
    *strings = (struct strings){0};
}

static int next_string(struct strings *strings, char *value, size_t room) {
    if (!strings || !value || !room)
        return DRMAA_ERRNO_INVALID_ARGUMENT;
    if (strings->next >= strings->count)
        return DRMAA_ERRNO_NO_MORE_ELEMENTS;
    copy_out(value, room, strings->items[strings->next++]);
    return DRMAA_ERRNO_SUCCESS;
}

static int tell_count(bool there, size_t count, int *size) {
    if (!there || !size)
        return DRMAA_ERRNO_INVALID_ARGUMENT;
    *size = count > INT_MAX ? INT_MAX : (int)count;
    return DRMAA_ERRNO_SUCCESS;
}

EXPORTED int drmaa_get_next_attr_name(drmaa_attr_names_t *values, char *value, size_t value_len) {
    return next_string(values ? &values->strings : NULL, value, value_len);
}

EXPORTED int drmaa_get_next_attr_value(drmaa_attr_values_t *values, char *value, size_t value_len) {
    return next_string(values ? &values->strings : NULL, value, value_len);
}

EXPORTED int drmaa_get_next_job_id(drmaa_job_ids_t *values, char *value, size_t value_len) {
    if (!values || !value || !value_len)
        return DRMAA_ERRNO_INVALID_ARGUMENT;
    if (values->next >= values->count)
        return DRMAA_ERRNO_NO_MORE_ELEMENTS;
    snprintf(value, value_len, "%" PRIu32 ".%" PRIu32, values->job, (uint32_t)(values->first + values->next++ * values->step));
    return DRMAA_ERRNO_SUCCESS;
}

EXPORTED int drmaa_get_num_attr_names(drmaa_attr_names_t *values, int *size) {
    return tell_count(values, values ? values->strings.count : 0, size);
}

EXPORTED int drmaa_get_num_attr_values(drmaa_attr_values_t *values, int *size) {
    return tell_count(values, values ? values->strings.count : 0, size);
}

EXPORTED int drmaa_get_num_job_ids(drmaa_job_ids_t *values, int *size) {
    return tell_count(values, values ? values->count : 0, size);
}

EXPORTED void drmaa_release_attr_names(drmaa_attr_names_t *values) {
    if (values)
        strings_free(&values->strings);
    free(values);
}

EXPORTED void drmaa_release_attr_values(drmaa_attr_values_t *values) {
    if (values)
        strings_free(&values->strings);
    free(values);
}

EXPORTED void drmaa_release_job_ids(drmaa_job_ids_t *values) { free(values); }
