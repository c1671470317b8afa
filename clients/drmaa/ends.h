/* The stream by which the qmaster tells how tasks end: one for the session, read by one of the threads that wait.
 *
 * Owns that stream: opening it again when the qmaster was away, and asking for jobs that it does not tell of yet. What it
 * says goes into the job table. Source: docs/gdi.md `task_ends`.
 */
#ifndef DRMAA_ENDS_H
#define DRMAA_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "diagnosis.h"

struct session;

struct ends {
    /* of the thread that reads */
    struct connection connection;
    struct text line; /* as much of a line as has come */
    bool open;
    int64_t heard;  /* when something came last */
    int64_t away;   /* since when nobody answers, -1 if not */
    /* of the session's lock */
    bool reading;        /* a thread reads */
    bool synced;         /* all that was asked for has been told of */
    bool renew;          /* a job is to be asked for that was not when it was opened */
    unsigned generation; /* goes up when it is opened */
    int wake;            /* ends the waiting of the thread that reads */
};

bool ends_open(struct ends *ends);
void ends_close(struct ends *ends);

/* Have the thread that reads look at what has become of the session. */
void ends_wake(struct ends *ends);

enum { ENDS_NEWS = -1 };

/* Wait until something may have changed: ENDS_NEWS. DRMAA_ERRNO_EXIT_TIMEOUT at the deadline (ms, -1 for never) when all that
 * has happened until now is told, and when a signal was handled; another code where the qmaster cannot be asked. Called, and
 * left, with the session's lock. `*looked` is false at first. */
int ends_follow(struct session *session, int64_t deadline, bool *looked, struct diagnosis diagnosis);

#endif
