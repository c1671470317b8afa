/* The plain job list of qstat, as `clients.qstat` and `clients.render.jobs`. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "front.h"

enum { LIST_MOST = 8 * 1024 * 1024, COLUMNS = 9 };
#define BLANKS " \t\n\v\f\r\x1c\x1d\x1e\x1f"

static bool is_text(const struct json *value) { return value->kind == JSON_STRING && is_printable(value->string); }

static bool is_integer(const struct json *value) { return strspn(value->raw, "0123456789") == value->raw_length; }

/* The moment as qstat prints it. */
static void add_moment(struct text *output, const struct json *value) {
    double moment = strtod(value->raw, NULL);
    char text[64];
    struct tm parts;
    if (!(moment >= 0 && moment < 1e11))
        hand_over();
    time_t seconds = (time_t)moment;
    if (!localtime_r(&seconds, &parts) || !strftime(text, sizeof text, "%m/%d/%Y %H:%M:%S", &parts))
        hand_over();
    text_puts(output, text);
}

static void add_row(struct text *output, const struct json *row) {
    static const enum json_kind kinds[COLUMNS] = {JSON_NUMBER, JSON_NUMBER, JSON_STRING, JSON_STRING, JSON_STRING,
                                                  JSON_NUMBER, JSON_LIST,   JSON_NUMBER, JSON_STRING};
    const struct json *at[COLUMNS], *value = row->kind == JSON_LIST ? row->first : NULL;
    for (int column = 0; column < COLUMNS; column++, value = value->next) {
        if (!value || value->kind != kinds[column] || (value->kind == JSON_STRING && !is_text(value)))
            hand_over();
        at[column] = value;
    }
    const struct json *grant = at[6]->first, *instance = grant ? grant->first : NULL;
    if (value || !is_integer(at[0]) || !is_integer(at[7]) || (grant && !(instance && is_text(instance))))
        hand_over();
    text_printf(output, "%7lld %7.5f %-10.10s %-12.12s %-5.5s ", at[0]->number, strtod(at[1]->raw, NULL), at[2]->string,
                at[3]->string, at[4]->string);
    add_moment(output, at[5]);
    text_printf(output, " %-30.30s %5lld %s\n", instance ? instance->string : "", at[7]->number,
                *at[8]->string ? at[8]->string : "       ");
}

static void add_rows(struct text *output, const struct json *rows) {
    if (!rows || rows->kind != JSON_LIST)
        hand_over();
    for (const struct json *row = rows->first; row; row = row->next)
        add_row(output, row);
}

/* The request for the jobs of these users, of the caller without any. */
static struct text request_of(struct strings arguments) {
    struct settings settings = {0};
    struct strings users = {0};
    struct text body = {0};
    if (read_options(qstat_table, arguments, &settings) < arguments.count)
        hand_over();
    for (size_t at = 0; at < settings.count; at++) {
        const char *list = settings.items[at].values[0];
        size_t before = users.count;
        for (char *user; (user = next_item(&list, "," BLANKS));)
            strings_add(&users, user);
        if (users.count == before)
            hand_over();
    }
    text_puts(&body, "{\"jobs\":{");
    add_strings(&body, "users", &users);
    text_puts(&body, ",\"select\":{},\"single\":false,\"details\":[]}}");
    return body;
}

static void hand_over_defaults(const char *directory, const char *file) {
    struct text path = {0};
    text_printf(&path, "%s/%s", directory, file);
    if (path.failed || exists(path.data))
        hand_over();
}

/* The running jobs of the first line. */
static const struct json *running_jobs(const char *line, size_t length) {
    const struct json *answers, *data = data_of(line, length, &answers);
    if (answers->first)
        hand_over();
    return json_get(json_get(data, "jobs"), "running");
}

/* The jobs of a further line, `[phase, rows]`. */
static const struct json *further_jobs(const char *line, size_t length) {
    struct json_document *document = json_read(line, length);
    const struct json *phase = document ? json_root(document)->first : NULL;
    return phase ? phase->next : NULL;
}

/* The text of the lines of an answer; the column names come before the first job, and where further lines follow. */
static struct text table_of(const struct text *answer) {
    struct text output = {0};
    const char *line = answer->data, *last = answer->data + answer->length;
    bool has_header = false, is_first = true;
    for (const char *end; (end = memchr(line, '\n', (size_t)(last - line))); line = end + 1) {
        size_t length = (size_t)(end - line);
        if (!length)
            continue; /* keeps the connection alive */
        const struct json *rows = is_first ? running_jobs(line, length) : further_jobs(line, length);
        if (!has_header && (!is_first || (rows && rows->first))) {
            text_puts(&output, JOB_LIST_HEADER);
            has_header = true;
        }
        add_rows(&output, rows);
        is_first = false;
    }
    if (is_first || line != last)
        hand_over();
    return output;
}

void qstat(struct strings arguments) {
    if (getenv("MORE_INFO") || *variable("SGE_LONG_QNAMES"))
        hand_over();
    hand_over_defaults(common_directory(), "sge_qstat");
    hand_over_defaults(variable("HOME"), ".sge_qstat");
    struct text body = request_of(arguments), answer = ask(ASK_READS, "job_list", &body);
    if (answer.length > LIST_MOST)
        hand_over();
    struct text output = table_of(&answer);
    finish(&output);
}
