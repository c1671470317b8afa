/* Texts that grow, and JSON text in particular. Out of memory is noted in the text and asked for once, at its end. */
#ifndef DRMAA_TEXT_H
#define DRMAA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* ends with NUL; NULL while nothing was added */
    size_t length, room;
    bool failed; /* there was no memory: the text is cut off */
};

void text_add(struct text *text, const char *bytes, size_t count);
void text_puts(struct text *text, const char *string);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add a JSON string. What is no UTF-8 must have been refused before (`is_utf8`). */
void text_json(struct text *text, const char *bytes, size_t count);
void text_json_string(struct text *text, const char *string);

/* Add `"name":` behind a comma where something is there already; the text began with an open brace. */
void text_field(struct text *text, const char *name);

/* The last byte, NUL where there is none. */
char text_last(const struct text *text);

/* Take away the first `count` bytes. */
void text_drop(struct text *text, size_t count);
void text_free(struct text *text);

bool is_utf8(const char *bytes, size_t count);

/* Copy a string into a buffer of a caller, cut off where that is too small. */
void copy_out(char *buffer, size_t room, const char *string);

#endif
