/* The grammar of command lines and of option lines, as `gridengine.options.option` has it. */
#include <string.h>

#include "front.h"

#define OPTION_ROWS
#include "front_options.h"

const struct options qsub_table = {qsub_options, sizeof qsub_options / sizeof *qsub_options};
const struct options qstat_table = {qstat_options, sizeof qstat_options / sizeof *qstat_options};

static const struct option *find(struct options table, const char *name) {
    for (size_t at = 0; at < table.count; at++)
        if (!strcmp(table.rows[at].name, name))
            return &table.rows[at];
    hand_over();
}

size_t read_options(struct options table, struct strings tokens, struct settings *settings) {
    size_t at = 0;
    while (at < tokens.count && tokens.items[at][0] == '-' && tokens.items[at][1]) {
        if (!strcmp(tokens.items[at], "--"))
            hand_over();
        const struct option *option = find(table, tokens.items[at++]);
        if ((size_t)option->count > tokens.count - at)
            hand_over();
        settings->items = grow(settings->items, settings->count + 1, sizeof *settings->items);
        settings->items[settings->count++] = (struct setting){option, tokens.items + at};
        at += (size_t)option->count;
    }
    return at;
}

/* Tokens of a line, divided by blanks; quotes keep a token together, and end with the line; a `#` ends the line. */
static struct strings split_line(const char *line, size_t length) {
    struct strings tokens = {0};
    struct text token = {0};
    char quote = '\0';
    bool inside = false;
    const char *comment = memchr(line, '#', length);
    const char *end = comment ? comment : line + length;
    for (; line < end; line++) {
        if (quote) {
            if (*line == quote)
                quote = '\0';
            else
                text_add(&token, line, 1);
        } else if (*line == '\'' || *line == '"') {
            quote = *line;
            inside = true;
        } else if (*line && strchr(" \t\r\n", *line)) {
            if (inside)
                strings_add(&tokens, copy_of(token.length ? token.data : "", token.length));
            token.length = 0;
            inside = false;
        } else {
            text_add(&token, line, 1);
            inside = true;
        }
    }
    if (inside)
        strings_add(&tokens, copy_of(token.length ? token.data : "", token.length));
    if (token.failed)
        hand_over();
    return tokens;
}

struct settings read_line(struct options table, const char *line, size_t length) {
    struct settings settings = {0};
    if (!is_ascii(line, length) || memchr(line, '\0', length))
        hand_over();
    struct strings tokens = split_line(line, length);
    if (read_options(table, tokens, &settings) < tokens.count)
        hand_over();
    return settings;
}
