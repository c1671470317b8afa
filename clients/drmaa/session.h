/* The session of this process: one at a time, shared by all of its threads.
 *
 * Owns who may call, what the session is named, and that its end waits for the calls in it. A child of a fork has no session.
 */
#ifndef DRMAA_SESSION_H
#define DRMAA_SESSION_H

#include <pthread.h>
#include <stdbool.h>

#include "ends.h"
#include "gdi.h"
#include "job_table.h"
#include "options.h"

struct session {
    struct gdi gdi;
    char name[256];
    bool staging;          /* delegated_file_staging is on: drmaa_transfer_files is an attribute */
    pthread_mutex_t lock;  /* of all below */
    pthread_cond_t changed; /* a task has ended, or who reads the stream has stopped */
    struct job_table jobs;
    struct ends ends;
    struct option_cache options;
    bool closing;
    int calls; /* that go on; under the gate of session.c */
};

/* The session for a call, which `session_leave` ends; NULL, and the diagnosis, where none is active. */
struct session *session_enter(struct diagnosis diagnosis);
void session_leave(struct session *session);

#endif
