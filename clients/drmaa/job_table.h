/* The tasks of a session: which have not ended, how the others have, and whom nobody may wait for any more.
 *
 * Owns the table alone; the lock of the session is its callers'. A task is (job, task), task 0 where the job is no array.
 */
#ifndef DRMAA_JOB_TABLE_H
#define DRMAA_JOB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

struct task {
    uint32_t job, number;
};

enum outcome { OUTCOME_UNKNOWN, OUTCOME_EXITED, OUTCOME_SIGNALED, OUTCOME_ABORTED };

/* How a task has ended. */
struct end {
    struct task task;
    struct end *previous, *next; /* in the order of the ends */
    enum outcome outcome;
    int status;  /* its exit status, or signal */
    bool done;   /* it did not fail */
    bool known;  /* the program has submitted it, or asked for it: else its end came first */
    bool listed; /* it is among those that may be waited for as any */
    size_t usage_count;
    char usage[]; /* name=value, a NUL behind each */
};

enum standing {
    STANDING_NONE,  /* nothing is known of it */
    STANDING_LIVE,  /* it is of the session, and has not ended as far as is known */
    STANDING_ASKED, /* somebody waits for it, who has not submitted it: perhaps there is no such task */
    STANDING_ENDED,
    STANDING_REAPED /* its end has been waited for */
};

struct slot {
    uint64_t key; /* 0 for a free one */
    struct end *end;
    enum standing standing;
};

struct job_table {
    struct slot *slots;
    size_t room, used;
    struct end *first, *last; /* ends of live tasks that nobody has waited for, the oldest first */
    size_t live;              /* STANDING_LIVE */
};

void job_table_free(struct job_table *table);
enum standing job_table_look(const struct job_table *table, struct task task, struct end **end);

/* Note a task that was submitted; its end may have come first. False without memory. */
bool job_table_live(struct job_table *table, struct task task);

/* Note a task that somebody asks for, and nothing is known of. */
bool job_table_asked(struct job_table *table, struct task task);

/* Nobody is told of it: as if it had never been asked for. */
void job_table_unknown(struct job_table *table, struct task task);

/* Note an end, unless there was one. `usage`: a list of strings, or NULL. */
bool job_table_end(struct job_table *table, struct task task, enum outcome outcome, int status, bool done,
                   const struct json *usage);

/* Take the end of a task out: it is the caller's, to be freed. */
struct end *job_table_reap(struct job_table *table, struct task task);

/* Call with each task of this standing, of a job or of all (0), until `each` returns false. `each` may change the table's ends,
 * but add nothing. */
void job_table_each(struct job_table *table, enum standing standing, uint32_t job, bool (*each)(struct task, void *), void *of);

/* The jobs of tasks that are live or asked for, each once, as `[1,2]`; "[]" for none. */
struct text;
void job_table_jobs(const struct job_table *table, struct text *list);

#endif
