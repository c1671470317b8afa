#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct text *text, size_t more) {
    if (text->failed)
        return false;
    if (text->room - text->length > more) /* one byte is for NUL */
        return true;
    size_t room = text->room ? text->room : 256;
    while (room - text->length <= more) {
        if (room > SIZE_MAX / 4) {
            text->failed = true;
            return false;
        }
        room *= 2;
    }
    char *data = realloc(text->data, room);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->room = room;
    return true;
}

void text_add(struct text *text, const char *bytes, size_t count) {
    if (!make_room(text, count))
        return;
    if (count)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_puts(struct text *text, const char *string) { text_add(text, string, strlen(string)); }

void text_printf(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (wanted < 0 || !make_room(text, (size_t)wanted))
        return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)wanted + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)wanted;
}

void text_json(struct text *text, const char *bytes, size_t count) {
    text_add(text, "\"", 1);
    size_t plain = 0;
    for (size_t at = 0; at < count; at++) {
        unsigned char byte = (unsigned char)bytes[at];
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        text_add(text, bytes + plain, at - plain);
        plain = at + 1;
        if (byte == '\n')
            text_add(text, "\\n", 2);
        else if (byte < 0x20)
            text_printf(text, "\\u%04x", byte);
        else
            text_printf(text, "\\%c", byte);
    }
    text_add(text, bytes + plain, count - plain);
    text_add(text, "\"", 1);
}

void text_json_string(struct text *text, const char *string) { text_json(text, string, strlen(string)); }

char text_last(const struct text *text) { return text->length ? text->data[text->length - 1] : '\0'; }

void text_field(struct text *text, const char *name) {
    if (text->length && !strchr("{[,:", text_last(text)))
        text_add(text, ",", 1);
    text_json_string(text, name);
    text_add(text, ":", 1);
}

void text_drop(struct text *text, size_t count) {
    if (!text->data)
        return;
    text->length -= count;
    memmove(text->data, text->data + count, text->length + 1);
}

void text_free(struct text *text) {
    free(text->data);
    *text = (struct text){0};
}

/* How many bytes follow the first of a character, -1 for a byte that begins none; `low`: the least second byte, `high`. */
static int following(unsigned char first, unsigned char *low, unsigned char *high) {
    *low = 0x80;
    *high = 0xbf;
    if (first < 0x80)
        return 0;
    if (first >= 0xc2 && first <= 0xdf)
        return 1;
    if (first >= 0xe0 && first <= 0xef) {
        *low = first == 0xe0 ? 0xa0 : 0x80;
        *high = first == 0xed ? 0x9f : 0xbf;
        return 2;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        *low = first == 0xf0 ? 0x90 : 0x80;
        *high = first == 0xf4 ? 0x8f : 0xbf;
        return 3;
    }
    return -1;
}

bool is_utf8(const char *bytes, size_t count) {
    for (size_t at = 0; at < count;) {
        unsigned char low, high;
        int more = following((unsigned char)bytes[at++], &low, &high);
        if (more < 0 || (size_t)more > count - at)
            return false;
        for (; more; more--, at++) {
            unsigned char byte = (unsigned char)bytes[at];
            if (byte < low || byte > high)
                return false;
            low = 0x80;
            high = 0xbf;
        }
    }
    return true;
}

void copy_out(char *buffer, size_t room, const char *string) {
    if (!buffer || !room)
        return;
    size_t length = strnlen(string, room - 1);
    memcpy(buffer, string, length);
    buffer[length] = '\0';
}
