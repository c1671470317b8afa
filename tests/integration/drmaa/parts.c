/* Parts of the library without a cell: each check that fails is a line, and the exit status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_table.h"
#include "json.h"
#include "ranges.h"
#include "start_time.h"
#include "text.h"

static int faults;

#define CHECK(condition) ((condition) ? (void)0 : (void)(faults++, printf("%s:%d: %s\n", __FILE__, __LINE__, #condition)))

static void texts(void) {
    struct text text = {0};
    text_json(&text, "a\"\\\n\x01\xc3\xbc", 7);
    CHECK(!strcmp(text.data, "\"a\\\"\\\\\\n\\u0001\xc3\xbc\""));
    text_free(&text);
    CHECK(is_utf8("\xf0\x9f\x98\x80\xe2\x82\xac", 7) && is_utf8("", 0));
    const char *const broken[] = {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"};
    for (size_t at = 0; at < sizeof broken / sizeof *broken; at++)
        CHECK(!is_utf8(broken[at], strlen(broken[at])));
    char room[4];
    copy_out(room, sizeof room, "abcdef");
    CHECK(!strcmp(room, "abc"));
    copy_out(NULL, 0, "x");
}

static void values(void) {
    static const char good[] = " {\"a\": [1, -2.5e3, true, null, {}], \"b\": \"\\u00fc\\ud83d\\ude00\\n\", \"c\": {\"d\": 7}} ";
    struct json_document *document = json_read(good, strlen(good));
    CHECK(document);
    if (document) {
        const struct json *root = json_root(document), *list = json_get(root, "a");
        CHECK(list->first->number == 1 && list->first->next->number == -2 && list->first->next->next->number == 1);
        CHECK(!strcmp(json_string(root, "b", ""), "\xc3\xbc\xf0\x9f\x98\x80\n"));
        CHECK(json_number(json_get(root, "c"), "d", 0) == 7 && json_number(root, "none", 3) == 3);
        CHECK(json_get(root, "c")->raw_length == 8 && !strncmp(json_get(root, "c")->raw, "{\"d\": 7}", 8));
        CHECK(!json_get(NULL, "a") && !json_get(list, "a"));
    }
    json_free(document);
    const char *const bad[] = {"", "{", "[1,]", "{\"a\"}", "\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\x\"", "nul", "1 2", "{\"a\":1,}", "-"};
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        document = json_read(bad[at], strlen(bad[at]));
        if (document)
            printf("read: %s\n", bad[at]);
        CHECK(!document);
        json_free(document);
    }
    char deep[200];
    memset(deep, '[', sizeof deep);
    CHECK(!json_read(deep, sizeof deep));
    CHECK(!json_read("\"a\0b\"", 5));
}

static bool sum(uint32_t number, void *of) {
    *(unsigned *)of += number;
    return true;
}

static void numbers(void) {
    unsigned total = 0;
    CHECK(ranges_each("1-4,7,10-20:5", sum, &total) && total == 1 + 2 + 3 + 4 + 7 + 10 + 15 + 20);
    CHECK(ranges_have("1-4,7,10-20:5", 15) && !ranges_have("1-4,7,10-20:5", 16) && !ranges_have("", 1));
    CHECK(ranges_have("4294967295", 4294967295u) && !ranges_have("1-9:0", 1));
}

static time_t meant(const char *text, time_t now) {
    time_t found = -1;
    return read_start_time(text, now, &found) ? found : -1;
}

static void times(void) {
    setenv("TZ", "UTC", 1);
    tzset();
    const time_t now = 1800000000; /* 2027/01/15 08:00:00 */
    CHECK(meant("2027/01/15 08:00:30", now) == now + 30);
    CHECK(meant("2027/01/15 09:00 +01:00", now) == now);
    CHECK(meant("2027/01/14 23:30 -08:30", now) == now);
    CHECK(meant("27/01/15 08:01", now) == now + 60);
    CHECK(meant("08:01", now) == now + 60);
    CHECK(meant("07:59", now) == now - 60 + 86400);      /* tomorrow */
    CHECK(meant("15 07:59", now) == now - 60 + 31 * 86400); /* next month */
    CHECK(meant("01/15 07:59", now) == now - 60 + 365 * 86400);
    CHECK(meant("07:59 +01:00", now) == now - 3660 + 86400);
    const char *const wrong[] = {"", "soon", "8:00", "25:00", "08:60", "08:00:62", "2027/02/30 08:00", "2027/13/01 08:00", "00 08:00",
                                 "08:00 x", "08:00 +1:00", "1/2/3/4 08:00", "2027/01 08:00", "08", "08:00:", "202/01/15 08:00"};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        if (meant(wrong[at], now) != -1)
            printf("taken: %s\n", wrong[at]);
        CHECK(meant(wrong[at], now) == -1);
    }
}

static void tasks(void) {
    struct job_table table = {0};
    struct task one = {1, 0}, early = {2, 0}, asked = {3, 7};
    struct end *end;
    CHECK(job_table_look(&table, one, NULL) == STANDING_NONE);
    for (uint32_t job = 100; job < 1100; job++)
        CHECK(job_table_live(&table, (struct task){job, job % 3}));
    CHECK(job_table_live(&table, one) && table.live == 1001);
    CHECK(job_table_end(&table, early, OUTCOME_EXITED, 4, true, NULL));
    CHECK(job_table_look(&table, early, NULL) == STANDING_NONE && !table.first && !job_table_reap(&table, early));
    CHECK(job_table_live(&table, early) && job_table_look(&table, early, &end) == STANDING_ENDED && end->status == 4);
    CHECK(table.first == end && table.live == 1001);
    CHECK(job_table_end(&table, one, OUTCOME_SIGNALED, 9, false, NULL) && table.live == 1000 && table.last->task.job == 1);
    free(job_table_reap(&table, early));
    CHECK(table.first == table.last && table.first->task.job == 1);
    CHECK(job_table_look(&table, early, NULL) == STANDING_REAPED && job_table_end(&table, early, OUTCOME_EXITED, 0, true, NULL));
    CHECK(job_table_asked(&table, asked) && job_table_look(&table, asked, NULL) == STANDING_ASKED);
    job_table_unknown(&table, asked);
    CHECK(job_table_look(&table, asked, NULL) == STANDING_NONE);
    CHECK(job_table_asked(&table, asked) && job_table_end(&table, asked, OUTCOME_ABORTED, 0, false, NULL));
    CHECK(table.last->task.job == 1); /* what is asked for by its number is not for who waits for any */
    free(job_table_reap(&table, asked));
    CHECK(table.live == 1000);
    job_table_free(&table);
}

int main(void) {
    texts();
    values();
    numbers();
    times();
    tasks();
    return faults != 0;
}
