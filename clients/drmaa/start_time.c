#include "start_time.h"

#include <stdlib.h>
#include <string.h>

struct parts {
    int date[4]; /* century and year together as written, month, day; from the right */
    int dates, year_digits;
    int clock[3], clocks;
    bool zoned;
    long offset;
};

/* A number of so many digits at `*at`, which moves behind it; -1 for none. */
static int digits(const char **at, int least, int most, int *count) {
    int value = 0, found = 0;
    while (found < most && **at >= '0' && **at <= '9') {
        value = value * 10 + (*(*at)++ - '0');
        found++;
    }
    if (count)
        *count = found;
    return found < least ? -1 : value;
}

static const char *blanks(const char *at) { return at + strspn(at, " \t"); }

static bool read_clock(const char **at, struct parts *parts) {
    static const int highest[3] = {23, 59, 61};
    for (parts->clocks = 0; parts->clocks < 3; parts->clocks++) {
        if (parts->clocks && *(*at) != ':')
            break;
        *at += parts->clocks > 0;
        int value = digits(at, 2, 2, NULL);
        if (value < 0 || value > highest[parts->clocks])
            return false;
        parts->clock[parts->clocks] = value;
    }
    return parts->clocks >= 2;
}

static bool read_date(const char **at, struct parts *parts) {
    for (;;) {
        int count, value = digits(at, 2, 4, &count);
        if (value < 0 || count == 3 || (count == 4 && parts->dates) || parts->dates == 3)
            return false;
        if (!parts->dates)
            parts->year_digits = count;
        parts->date[parts->dates++] = value;
        if (**at != '/')
            return parts->year_digits == 2 || parts->dates == 3;
        (*at)++;
    }
}

static bool read_zone(const char **at, struct parts *parts) {
    if (**at != '+' && **at != '-')
        return true;
    int sign = *(*at)++ == '-' ? -1 : 1, hours = digits(at, 2, 2, NULL);
    if (hours < 0 || hours > 23 || *(*at)++ != ':')
        return false;
    int minutes = digits(at, 2, 2, NULL);
    if (minutes < 0 || minutes > 59)
        return false;
    parts->zoned = true;
    parts->offset = sign * (hours * 3600L + minutes * 60L);
    return true;
}

static bool read_parts(const char *text, struct parts *parts) {
    const char *at = blanks(text), *colon = strchr(text, ':'), *gap = at + strcspn(at, " \t");
    if (colon && gap < colon) { /* a date comes first */
        if (!read_date(&at, parts))
            return false;
        at = blanks(at);
    }
    if (!read_clock(&at, parts))
        return false;
    at = blanks(at);
    if (!read_zone(&at, parts))
        return false;
    return !*blanks(at);
}

static time_t seconds_of(const struct parts *parts, struct tm *when) {
    struct tm copy = *when;
    copy.tm_isdst = -1;
    time_t found = parts->zoned ? timegm(&copy) - parts->offset : mktime(&copy);
    *when = copy;
    return found;
}

bool read_start_time(const char *text, time_t now, time_t *meant) {
    struct parts parts = {0};
    struct tm when;
    if (!read_parts(text, &parts))
        return false;
    time_t local = now + (parts.zoned ? parts.offset : 0);
    if (!(parts.zoned ? gmtime_r(&local, &when) : localtime_r(&now, &when)))
        return false;
    when.tm_hour = parts.clock[0];
    when.tm_min = parts.clock[1];
    when.tm_sec = parts.clock[2];
    const int *date = parts.date + parts.dates; /* behind the day */
    int month = when.tm_mon, day = when.tm_mday;
    if (parts.dates > 0)
        day = when.tm_mday = date[-1];
    if (parts.dates > 1)
        month = when.tm_mon = date[-2] - 1;
    if (parts.dates > 2)
        when.tm_year = parts.year_digits == 4 ? date[-3] - 1900 : (when.tm_year / 100) * 100 + date[-3];
    if (month < 0 || month > 11 || day < 1 || day > 31)
        return false;
    struct tm whole = when;
    time_t found = seconds_of(&parts, &whole);
    if (whole.tm_mon != month || whole.tm_mday != day)
        return false; /* the 30th of February */
    if (found < now && parts.dates < 3) { /* the next such day, month or year */
        *(parts.dates == 0 ? &when.tm_mday : parts.dates == 1 ? &when.tm_mon : &when.tm_year) += 1;
        found = seconds_of(&parts, &when);
    }
    *meant = found;
    return found >= 0;
}
