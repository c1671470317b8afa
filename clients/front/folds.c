/* The folds that the front has, each as the function of `gridengine.options.submit_folds` with that name; `tools/front_options.py`
 * has both names side by side. A value whose meaning is not plain is handed over, as is one that is wrong. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "submission.h"

extern char **environ;

enum { SLOTS_MOST = 9999999, DIGITS_MOST = 9 };

struct text *field_of(struct submission *submission, const char *name) {
    for (size_t at = 0; at < submission->field_count; at++)
        if (!strcmp(submission->fields[at].name, name)) {
            submission->fields[at].value.length = 0;
            return &submission->fields[at].value;
        }
    submission->fields = grow(submission->fields, submission->field_count + 1, sizeof *submission->fields);
    submission->fields[submission->field_count] = (struct field){name, {0}};
    return &submission->fields[submission->field_count++].value;
}

void set_string(struct submission *submission, const char *name, const char *value) {
    text_json_string(field_of(submission, name), value);
}

void set_bool(struct submission *submission, const char *name, bool value) {
    text_puts(field_of(submission, name), value ? "true" : "false");
}

bool read_switch(const char *value) {
    if (!strcasecmp(value, "y") || !strcasecmp(value, "yes"))
        return true;
    if (strcasecmp(value, "n") && strcasecmp(value, "no"))
        hand_over();
    return false;
}

/* The list of a field; `replaced`: what earlier sources put there is dropped. */
static struct strings *list_of(struct submission *submission, const char *name, bool replaced) {
    struct list *list = NULL;
    for (size_t at = 0; at < submission->list_count && !list; at++)
        if (!strcmp(submission->lists[at].name, name))
            list = &submission->lists[at];
    if (!list) {
        submission->lists = grow(submission->lists, submission->list_count + 1, sizeof *submission->lists);
        list = &submission->lists[submission->list_count++];
        *list = (struct list){name, {0}, submission->level};
    }
    if (replaced && list->level != submission->level)
        list->items.count = 0;
    list->level = submission->level;
    return &list->items;
}

/* The first item of a list without quotes, which has at least one. */
static char *first_item(const char **list, const char *separators) {
    char *item = strpbrk(*list, "'\"") ? NULL : next_item(list, separators);
    if (!item)
        hand_over();
    return item;
}

static bool is_in(const struct strings *list, const char *item) {
    for (size_t at = 0; at < list->count; at++)
        if (!strcmp(list->items[at], item))
            return true;
    return false;
}

static void fold_names(struct submission *submission, const char *field, const char *value) {
    struct strings *names = list_of(submission, field, true);
    for (char *item = first_item(&value, ","); item; item = next_item(&value, ","))
        strings_add(names, item);
}

static void fold_predecessors(struct submission *submission, const char *field, const char *value) {
    struct strings *jobs = list_of(submission, field, false);
    for (char *item = first_item(&value, ","); item; item = next_item(&value, ","))
        if (!is_in(jobs, item))
            strings_add(jobs, item);
}

/* A second request for the same resource replaces the first. */
static void fold_requests(struct submission *submission, const char *value) {
    struct strings *requests = list_of(submission, "hard", false);
    for (char *item = first_item(&value, ", "); item; item = next_item(&value, ", ")) {
        size_t length = strcspn(item, "="), at = 0;
        if (!length)
            hand_over();
        while (at < requests->count && (strncmp(requests->items[at], item, length) || !strchr("=", requests->items[at][length])))
            at++;
        if (at < requests->count)
            requests->items[at] = item;
        else
            strings_add(requests, item);
    }
}

static void export(struct submission *submission, const char *name, const char *value, bool replaced) {
    if (!is_ascii(value, strlen(value)) || !is_ascii(name, strlen(name)))
        hand_over();
    for (size_t at = 0; at < submission->variable_count; at++)
        if (!strcmp(submission->variables[at].name, name)) {
            if (replaced)
                submission->variables[at].value = value;
            return;
        }
    submission->variables = grow(submission->variables, submission->variable_count + 1, sizeof *submission->variables);
    submission->variables[submission->variable_count++] = (struct pair){name, value};
}

static void fold_variables(struct submission *submission, const char *value) {
    for (char *item = first_item(&value, ","); item; item = next_item(&value, ",")) {
        char *equals = strchr(item, '=');
        if (equals == item)
            hand_over();
        if (equals)
            *equals = '\0';
        export(submission, item, equals ? equals + 1 : variable(item), true);
    }
}

/* The whole environment; variables of -v stay. */
static void fold_environment(struct submission *submission) {
    for (char **entry = environ; *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == *entry)
            hand_over();
        if (equals)
            export(submission, copy_of(*entry, (size_t)(equals - *entry)), equals + 1, false);
    }
}

/* One path for all hosts. */
static void fold_path(struct submission *submission, const char *field, const char *value) {
    if (!*value || strpbrk(value, ",:'\"["))
        hand_over();
    struct text *path = field_of(submission, field);
    text_puts(path, "[[\"\",");
    text_json_string(path, value);
    text_puts(path, "]]");
}

static void fold_directory(struct submission *submission, const char *field, const char *value) {
    struct text path = {0};
    if (value && *value && *value != '/')
        text_printf(&path, "%s/", submission->cwd);
    text_puts(&path, value ? value : submission->cwd);
    if (path.failed)
        hand_over();
    set_string(submission, field, path.data);
}

static void fold_number(struct submission *submission, const struct option *option, const char *value) {
    const char *digits = value + (*value == '-' || *value == '+');
    size_t length = strspn(digits, "0123456789");
    long long number = strtoll(value, NULL, 10);
    if (!length || digits[length] || length > DIGITS_MOST + 2 || number < option->low || number > option->high)
        hand_over();
    text_printf(field_of(submission, option->field), "%lld", number);
}

/* A number of few digits; 0 where there is none, which moves nothing. */
static long read_count(const char **text) {
    size_t length = strspn(*text, "0123456789");
    long number = length <= DIGITS_MOST ? strtol(*text, NULL, 10) : 0;
    if (number)
        *text += length;
    return number;
}

/* Slots `n` or `n-m`. */
static void fold_parallel(struct submission *submission, const char *name, const char *slots) {
    const char *end = slots;
    long low = read_count(&end), high = low;
    if (*end == '-') {
        end++;
        high = read_count(&end);
    }
    if (!*name || !low || !high || *end || low > SLOTS_MOST || high > SLOTS_MOST)
        hand_over();
    set_string(submission, "pe", name);
    set_string(submission, "pe_range", slots);
}

/* Tasks `n` or `n-m[:s]`. */
static void fold_tasks(struct submission *submission, const char *field, const char *tasks) {
    const char *end = tasks;
    long low = read_count(&end), high = low, step = 1;
    if (*end == '-') {
        end++;
        high = read_count(&end);
        if (*end == ':') {
            end++;
            step = read_count(&end);
        }
    }
    if (!low || high < low || !step || *end)
        hand_over();
    set_string(submission, field, tasks);
}

/* Codes add up over all sources, n removes them. */
static void fold_mail_options(struct submission *submission, const char *field, const char *value) {
    static const char on[] = "abes";
    struct text *codes = NULL, before = {0};
    size_t commas = 0;
    for (const char *code = value; *code; code++) {
        commas += *code == ',';
        if (!strchr("abesn,", *code))
            hand_over();
    }
    if (strlen(value) == commas)
        hand_over();
    for (size_t at = 0; at < submission->field_count; at++)
        if (!strcmp(submission->fields[at].name, field))
            text_add(&before, submission->fields[at].value.data, submission->fields[at].value.length);
    codes = field_of(submission, field);
    text_puts(codes, "\"");
    for (const char *code = on; *code && !strchr(value, 'n'); code++)
        if (strchr(value, *code) || (before.data && strchr(before.data, *code)))
            text_add(codes, code, 1);
    text_puts(codes, "\"");
}

static void fold_address(struct submission *submission, const char *field, const char *value) {
    struct strings *addresses = list_of(submission, field, false);
    if (!*value || strpbrk(value, ",'\"") || addresses->count)
        hand_over();
    strings_add(addresses, copy_of(value, strlen(value)));
}

static void fold_one(struct submission *submission, const struct option *option, char **values) {
    const char *value = option->count ? values[0] : NULL, *field = option->field;
    switch (option->fold) {
    case FOLD_ADDRESS:
        fold_address(submission, field, value);
        break;
    case FOLD_ALL_VARIABLES:
        fold_environment(submission);
        break;
    case FOLD_DIRECTORY:
        fold_directory(submission, field, value);
        break;
    case FOLD_JOB_NAME:
        if (!*value || strchr(value, '/'))
            hand_over();
        set_string(submission, field, value);
        break;
    case FOLD_MAIL_OPTIONS:
        fold_mail_options(submission, field, value);
        break;
    case FOLD_NAMES:
        fold_names(submission, field, value);
        break;
    case FOLD_NOTHING:
        break;
    case FOLD_NOT_EMPTY:
        if (!*value)
            hand_over();
        set_string(submission, field, value);
        break;
    case FOLD_NUMBER:
        fold_number(submission, option, value);
        break;
    case FOLD_OPPOSITE:
        set_bool(submission, field, !read_switch(value));
        break;
    case FOLD_PARALLEL:
        fold_parallel(submission, value, values[1]);
        break;
    case FOLD_PATH:
        fold_path(submission, field, value);
        break;
    case FOLD_PREDECESSORS:
        fold_predecessors(submission, field, value);
        break;
    case FOLD_QUEUES:
        fold_names(submission, "hard_queues", value);
        break;
    case FOLD_REQUESTS:
        fold_requests(submission, value);
        break;
    case FOLD_SWITCH:
        set_bool(submission, field, read_switch(value));
        break;
    case FOLD_SYNC:
        submission->sync = read_switch(value);
        break;
    case FOLD_TASKS:
        fold_tasks(submission, field, value);
        break;
    case FOLD_TERSE:
        submission->terse = true;
        break;
    case FOLD_TEXT:
        set_string(submission, field, value);
        break;
    case FOLD_TRUE:
        set_bool(submission, field, true);
        break;
    case FOLD_USER_HOLD:
        set_string(submission, field, "u");
        break;
    case FOLD_VALIDATION:
        if (strlen(value) != 1 || !strchr("ewn", *value))
            hand_over();
        set_string(submission, field, value);
        break;
    case FOLD_VARIABLES:
        fold_variables(submission, value);
        break;
    case FOLD_USERS: /* of qstat alone */
        hand_over();
    }
}

void fold(struct submission *submission, const struct settings *settings) {
    for (size_t at = 0; at < settings->count; at++)
        fold_one(submission, settings->items[at].option, settings->items[at].values);
}
