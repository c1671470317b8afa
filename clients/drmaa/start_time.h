/* drmaa_start_time: `[[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu]`. */
#ifndef DRMAA_START_TIME_H
#define DRMAA_START_TIME_H

#include <stdbool.h>
#include <time.h>

/* The time that a text means; what it leaves out is the next time from `now` on. False for what is no time. */
bool read_start_time(const char *text, time_t now, time_t *meant);

#endif
