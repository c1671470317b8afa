/* qdel of jobs by their numbers, as `clients.qdel`. */
#include <string.h>

#include "front.h"

void qdel(struct strings arguments) {
    struct strings targets = {0};
    struct text body = {0}, output = {0};
    const struct json *answers;
    for (size_t at = 0; at < arguments.count; at++) {
        const char *list = arguments.items[at];
        if (*list == '-')
            hand_over();
        for (char *job; (job = next_item(&list, ","));)
            strings_add(&targets, job);
    }
    if (!targets.count)
        hand_over();
    text_puts(&body, "{");
    add_strings(&body, "targets", &targets);
    text_puts(&body, "}");
    struct text answer = ask(ASK_CHANGES, "delete_jobs", &body);
    data_of(answer.data, answer.length, &answers);
    for (const struct json *pair = answers->first; pair; pair = pair->next) {
        const struct json *level = pair->first, *text = level ? level->next : NULL;
        if (!text || level->kind != JSON_STRING || text->kind != JSON_STRING || strcmp(level->string, "info"))
            hand_over();
        if (!is_printable(text->string))
            hand_over();
        text_printf(&output, "%s\n", text->string);
    }
    finish(&output);
}
