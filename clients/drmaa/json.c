#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32, VALUES_A_BLOCK = 64 };

struct block {
    struct block *next;
    struct json values[VALUES_A_BLOCK];
};

struct json_document {
    char *text;    /* a copy, to which `raw` points */
    char *strings; /* decoded ones; together they are never longer than the text */
    size_t strings_used;
    struct block *blocks;
    int used; /* of the newest block */
    struct json *root;
};

struct reader {
    struct json_document *document;
    const char *at, *end;
};

static struct json *new_value(struct json_document *document) {
    if (!document->blocks || document->used == VALUES_A_BLOCK) {
        struct block *block = malloc(sizeof *block);
        if (!block)
            return NULL;
        block->next = document->blocks;
        document->blocks = block;
        document->used = 0;
    }
    struct json *value = &document->blocks->values[document->used++];
    *value = (struct json){0};
    return value;
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

static bool take(struct reader *reader, char byte) {
    if (reader->at >= reader->end || *reader->at != byte)
        return false;
    reader->at++;
    return true;
}

static int hex4(struct reader *reader) {
    int value = 0;
    if (reader->end - reader->at < 4)
        return -1;
    for (int count = 0; count < 4; count++) {
        const char *digits = "0123456789abcdef";
        const char *digit = strchr(digits, *reader->at | (*reader->at >= 'A' ? 0x20 : 0));
        if (!*reader->at || !digit)
            return -1;
        value = value * 16 + (int)(digit - digits);
        reader->at++;
    }
    return value;
}

static char *put_utf8(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* What follows a backslash; NULL where that is nothing. */
static char *read_escape(struct reader *reader, char *to) {
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (reader->at >= reader->end)
        return NULL;
    char byte = *reader->at++;
    if (byte != 'u') {
        const char *found = byte ? strchr(escapes, byte) : NULL;
        if (!found)
            return NULL;
        *to++ = meant[found - escapes];
        return to;
    }
    int code = hex4(reader);
    if (code <= 0) /* a NUL would end the string for whoever reads it */
        return NULL;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!take(reader, '\\') || !take(reader, 'u'))
            return NULL;
        int second = hex4(reader);
        if (second < 0xdc00 || second > 0xdfff)
            return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    return put_utf8(to, (unsigned)code);
}

static const char *read_string(struct reader *reader) {
    struct json_document *document = reader->document;
    char *begin = document->strings + document->strings_used, *to = begin;
    if (!take(reader, '"'))
        return NULL;
    while (reader->at < reader->end && *reader->at != '"') {
        if (*reader->at == '\\') {
            reader->at++;
            to = read_escape(reader, to);
            if (!to)
                return NULL;
        } else if (!*reader->at) {
            return NULL;
        } else {
            *to++ = *reader->at++;
        }
    }
    if (!take(reader, '"'))
        return NULL;
    *to++ = '\0';
    document->strings_used += (size_t)(to - begin);
    return begin;
}

static bool read_word(struct reader *reader, struct json *value) {
    static const struct {
        const char *word;
        enum json_kind kind;
        int number;
    } words[] = {{"null", JSON_NULL, 0}, {"false", JSON_BOOL, 0}, {"true", JSON_BOOL, 1}};
    for (size_t which = 0; which < sizeof words / sizeof *words; which++) {
        size_t length = strlen(words[which].word);
        if ((size_t)(reader->end - reader->at) >= length && !memcmp(reader->at, words[which].word, length)) {
            value->kind = words[which].kind;
            value->number = words[which].number;
            reader->at += length;
            return true;
        }
    }
    char *end;
    value->kind = JSON_NUMBER;
    value->number = strtoll(reader->at, &end, 10); /* the copy ends with NUL */
    if (end == reader->at)
        return false;
    while (end < reader->end && *end && strchr("0123456789.eE+-", *end))
        end++; /* a fraction is nobody's business here */
    reader->at = end;
    return true;
}

static struct json *read_value(struct reader *reader, int depth);

static bool read_items(struct reader *reader, struct json *value, char closing, int depth) {
    struct json **last = &value->first;
    reader->at++;
    skip_blanks(reader);
    if (take(reader, closing))
        return true;
    do {
        const char *name = NULL;
        skip_blanks(reader);
        if (closing == '}') {
            name = read_string(reader);
            skip_blanks(reader);
            if (!name || !take(reader, ':'))
                return false;
        }
        struct json *item = read_value(reader, depth + 1);
        if (!item)
            return false;
        item->name = name;
        *last = item;
        last = &item->next;
        skip_blanks(reader);
    } while (take(reader, ','));
    return take(reader, closing);
}

static struct json *read_value(struct reader *reader, int depth) {
    skip_blanks(reader);
    struct json *value = depth > DEEPEST || reader->at >= reader->end ? NULL : new_value(reader->document);
    if (!value)
        return NULL;
    bool read;
    value->raw = reader->at;
    if (*reader->at == '"') {
        value->kind = JSON_STRING;
        value->string = read_string(reader);
        read = value->string != NULL;
    } else if (*reader->at == '[' || *reader->at == '{') {
        value->kind = *reader->at == '[' ? JSON_LIST : JSON_TABLE;
        read = read_items(reader, value, value->kind == JSON_LIST ? ']' : '}', depth);
    } else {
        read = read_word(reader, value);
    }
    value->raw_length = (size_t)(reader->at - value->raw);
    return read ? value : NULL;
}

struct json_document *json_read(const char *text, size_t length) {
    struct json_document *document = calloc(1, sizeof *document);
    if (!document)
        return NULL;
    document->text = malloc(length + 1);
    document->strings = malloc(length + 1);
    if (document->text && document->strings) {
        if (length)
            memcpy(document->text, text, length);
        document->text[length] = '\0';
        struct reader reader = {document, document->text, document->text + length};
        document->root = read_value(&reader, 0);
        skip_blanks(&reader);
        if (reader.at != reader.end)
            document->root = NULL;
    }
    if (!document->root) {
        json_free(document);
        return NULL;
    }
    return document;
}

const struct json *json_root(const struct json_document *document) { return document->root; }

void json_free(struct json_document *document) {
    if (!document)
        return;
    while (document->blocks) {
        struct block *block = document->blocks;
        document->blocks = block->next;
        free(block);
    }
    free(document->text);
    free(document->strings);
    free(document);
}

const struct json *json_get(const struct json *value, const char *name) {
    if (!value || value->kind != JSON_TABLE)
        return NULL;
    for (const struct json *item = value->first; item; item = item->next)
        if (!strcmp(item->name, name))
            return item;
    return NULL;
}

const char *json_string(const struct json *value, const char *name, const char *otherwise) {
    const struct json *item = json_get(value, name);
    return item && item->kind == JSON_STRING ? item->string : otherwise;
}

long long json_number(const struct json *value, const char *name, long long otherwise) {
    const struct json *item = json_get(value, name);
    return item && (item->kind == JSON_NUMBER || item->kind == JSON_BOOL) ? item->number : otherwise;
}
