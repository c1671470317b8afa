/* Memory, lists, variables and files, as every part of the front uses them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "front.h"

void *grow(void *memory, size_t count, size_t size) {
    void *grown = count < SIZE_MAX / 2 / size ? realloc(memory, count * size) : NULL;
    if (!grown)
        hand_over();
    return grown;
}

void strings_add(struct strings *strings, char *item) {
    strings->items = grow(strings->items, strings->count + 1, sizeof *strings->items);
    strings->items[strings->count++] = item;
}

char *copy_of(const char *bytes, size_t length) {
    char *copy = grow(NULL, length + 1, 1);
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

char *next_item(const char **list, const char *separators) {
    *list += strspn(*list, separators);
    size_t length = strcspn(*list, separators);
    char *item = length ? copy_of(*list, length) : NULL;
    *list += length;
    return item;
}

void add_strings(struct text *body, const char *field, const struct strings *strings) {
    text_field(body, field);
    text_puts(body, "[");
    for (size_t at = 0; at < strings->count; at++) {
        text_puts(body, at ? "," : "");
        text_json_string(body, strings->items[at]);
    }
    text_puts(body, "]");
}

bool is_ascii(const char *bytes, size_t count) {
    for (size_t at = 0; at < count; at++)
        if ((unsigned char)bytes[at] >= 0x80)
            return false;
    return true;
}

bool is_printable(const char *string) {
    for (; *string; string++)
        if (*string < ' ' || *string > '~')
            return false;
    return true;
}

const char *variable(const char *of) {
    const char *value = getenv(of);
    if (!value)
        return "";
    if (!is_ascii(value, strlen(value)))
        hand_over();
    return value;
}

bool exists(const char *path) {
    struct stat found;
    return !lstat(path, &found) || (errno != ENOENT && errno != ENOTDIR);
}
