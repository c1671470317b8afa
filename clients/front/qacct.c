/* qacct -j NUMBER: the records of a job, as `clients.qacct` and `clients.render.accounting` print them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "front.h"

enum { DIGITS_MOST = 9, BY_SIGNAL = 128, SIGNALS = 64, DATE_ROOM = 26 };
static const double LATEST = 99999999999.0, GIGABYTE = 1073741824.0;

/* A line of a record. `field`: its place in the record. */
struct line {
    const char *label;
    size_t field;
    enum kind kind;
};

static const struct line lines[] = ACCOUNTING_LINES;
static const char *const failures[] = FAILURES;

static double number_of(const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end || strspn(text, "0123456789.e+-") != strlen(text) || number > 1e18)
        hand_over();
    return number;
}

static void add_date(struct text *output, double moment, const char *none) {
    char date[DATE_ROOM];
    time_t seconds = (time_t)moment;
    if (moment > LATEST || (moment && !ctime_r(&seconds, date)))
        hand_over();
    if (moment)
        text_add(output, date, strcspn(date, "\n"));
    else
        text_puts(output, none);
}

static void add_size(struct text *output, double size) {
    static const char units[] = "KMGT";
    size_t unit = 0;
    while (size >= 1024.0 && unit < strlen(units)) {
        size /= 1024.0;
        unit++;
    }
    text_printf(output, unit ? "%.3f%cB" : "%.3fB", size, unit ? units[unit - 1] : '\0');
}

static void add_failure(struct text *output, const char *text, double number) {
    size_t code = (size_t)number;
    const char *reason = code < sizeof failures / sizeof *failures && failures[code] ? failures[code] : number ? UNKNOWN_FAILURE : "";
    text_printf(output, "%-3s %s%s", text, *reason ? ": " : " ", reason);
}

static void add_exit(struct text *output, const char *text, double status) {
    int number = (int)(status < BY_SIGNAL + SIGNALS + 1 ? status : 0) - BY_SIGNAL;
    const char *name = number > 0 ? strsignal(number) : NULL;
    text_printf(output, "%-20s", text);
    if (name && !strstr(name, "Unknown signal"))
        text_printf(output, " (%s)", name);
}

static void add_value(struct text *output, const char *text, enum kind kind) {
    double number = kind == KIND_TEXT || kind == KIND_PLAIN ? 0 : number_of(text);
    switch (kind) {
    case KIND_PLAIN:
        text_puts(output, text);
        break;
    case KIND_TEXT:
        text_printf(output, "%-20s", text);
        break;
    case KIND_WHOLE:
        text_printf(output, "%-20lld", (long long)number);
        break;
    case KIND_NUMBER:
        text_printf(output, number ? "%-20s" : "undefined", text);
        break;
    case KIND_DATE:
        add_date(output, number, "-/-");
        break;
    case KIND_DATE_OR_UNDEFINED:
        add_date(output, number, "undefined");
        break;
    case KIND_FAILED:
        add_failure(output, text, number);
        break;
    case KIND_EXIT:
        add_exit(output, text, number);
        break;
    case KIND_WHOLE_SECONDS:
        text_printf(output, "%.0fs", number);
        break;
    case KIND_SECONDS:
        text_printf(output, "%.3fs", number);
        break;
    case KIND_BYTES:
        add_size(output, number);
        break;
    case KIND_GIGABYTES:
        add_size(output, number * GIGABYTE);
        break;
    case KIND_GIGABYTE_SECONDS:
        add_size(output, number * GIGABYTE);
        text_puts(output, "s");
        break;
    }
}

/* Its fields are texts; hand over one with texts that need escapes, and one with more than the fields. */
static void add_record(struct text *output, const struct json *record) {
    const char *fields[ACCOUNTING_FIELDS];
    size_t count = 0;
    for (const struct json *field = record->first; field; field = field->next) {
        if (field->kind != JSON_STRING || !is_printable(field->string) || count == ACCOUNTING_FIELDS)
            hand_over();
        fields[count++] = field->string;
    }
    if (record->kind != JSON_LIST || count < ACCOUNTING_FIELDS)
        hand_over();
    text_puts(output, ACCOUNTING_RULE);
    for (size_t at = 0; at < sizeof lines / sizeof *lines; at++) {
        text_printf(output, "%-12s ", lines[at].label);
        add_value(output, fields[lines[at].field], lines[at].kind);
        text_puts(output, "\n");
    }
}

void qacct(struct strings arguments) {
    struct text body = {0}, output = {0};
    const struct json *answers;
    const char *job = arguments.count == 2 ? arguments.items[1] : "";
    size_t digits = strspn(job, "0123456789");
    if (!digits || job[digits] || digits > DIGITS_MOST || *job == '0' || strcmp(arguments.items[0], "-j"))
        hand_over();
    text_printf(&body, "{\"job\":\"%s\"}", job);
    struct text answer = ask(ASK_READS, "accounting", &body);
    const struct json *data = data_of(answer.data, answer.length, &answers);
    const struct json *records = json_get(data, "records"), *next = json_get(data, "next");
    if (answers->first || !records || records->kind != JSON_LIST || !records->first || (next && next->kind != JSON_NULL))
        hand_over(); /* there is none, or there are more than fit into an answer */
    for (const struct json *record = records->first; record; record = record->next)
        add_record(&output, record);
    finish(&output);
}
