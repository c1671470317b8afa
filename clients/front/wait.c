/* qsub -sync y: the ends of a job's tasks, as `clients.qsub._wait` has them. A stream that breaks, a rare end and a signal are those of
 * the command in Python, which goes on with the state of this wait. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cell.h"
#include "connection.h"
#include "front.h"

enum { TASKS_MOST = 1 << 24, BY_SIGNAL = 128, EXCEEDED_LIMIT = 37, DIED_OF_SIGNAL = 100 };

static const char *const signal_names[] = SIGNAL_NAMES;

static struct {
    long long job;
    const char *tasks;       /* "" where the job is no array */
    bool terse, ended;
    int status;              /* the first that is not 0 */
    int64_t pending_at;      /* when the job has been pending for long, -1 once that is reported, or anything of the job */
    unsigned char *reported; /* a bit for each task whose end is reported */
    size_t room;
} job;

static bool is_reported(size_t task) { return task / 8 < job.room && job.reported[task / 8] >> task % 8 & 1; }

/* Before an end is reported: without memory for it the command in Python reports it. */
static void make_room(size_t task) {
    size_t room = job.room ? job.room : 16;
    while (room <= task / 8)
        room *= 2;
    if (room > job.room)
        job.reported = grow(job.reported, room, 1);
    while (job.room < room)
        job.reported[job.room++] = 0;
}

/* The state in a file without a name, for the command in Python: `wait:DESCRIPTOR`. NULL where that cannot be. */
static const char *state_file(void) {
    static char argument[32];
    struct text state = {0};
    int descriptor = memfd_create("wait", 0);
    text_printf(&state, "{\"job_id\":%lld,\"status\":%d,\"terse\":%s,\"quiet\":%s,\"tasks\":", job.job, job.status,
                job.terse ? "true" : "false", job.pending_at < 0 ? "true" : "false");
    text_json_string(&state, job.tasks);
    text_puts(&state, ",\"reported\":[");
    for (size_t task = 0, count = 0; task < 8 * job.room; task++)
        if (is_reported(task))
            text_printf(&state, count++ ? ",%zu" : "%zu", task);
    text_puts(&state, "]}");
    if (state.failed || descriptor < 0 || !write_all(descriptor, &state) || lseek(descriptor, 0, SEEK_SET))
        return NULL;
    snprintf(argument, sizeof argument, "wait:%d", descriptor);
    return argument;
}

/* A wait may print many lines. */
static void print_line(int descriptor, struct text *text) {
    print_text(descriptor, text);
    text_free(text);
}

static int never_ran(const char *label) {
    struct text text = {0};
    text_printf(&text, "Job %s never ran.\n", label);
    print_line(2, &text);
    return EXIT_SYNC_FAILED;
}

/* Report the end of a task; the exit status for it. */
static int report_end(const char *label, const struct json *record) {
    struct text text = {0};
    const struct json *exit_status = json_get(record, "exit_status");
    if (!exit_status)
        return never_ran(label);
    long long code = exit_status->number, failed = json_number(record, "failed", 0), number = json_number(record, "signal", 0);
    if (!number && code > BY_SIGNAL && (failed == EXCEEDED_LIMIT || failed == DIED_OF_SIGNAL))
        number = code - BY_SIGNAL;
    if (number > 0 && number < (long long)(sizeof signal_names / sizeof *signal_names) && signal_names[number]) {
        text_printf(&text, "Job %s received signal %s.\n", label, signal_names[number]);
        print_line(2, &text);
        return 1;
    }
    if (number || failed)
        hand_over();
    text_printf(&text, "Job %s exited with exit code %lld.\n", label, code);
    if (code || !job.terse)
        print_line(code ? 2 : 1, &text);
    return (int)code;
}

/* Take in what the qmaster says of a task. */
static void take(const struct json *record) {
    char label[64];
    job.pending_at = -1;
    if (json_number(record, "done", 0)) {
        snprintf(label, sizeof label, "%lld", job.job);
        if (!job.ended)
            job.status = never_ran(label);
        _exit(job.status);
    }
    bool deleted = json_number(record, "deleted", 0);
    const struct json *exit_status = json_get(record, "exit_status");
    if (!exit_status && !deleted)
        return;
    long long task = json_number(record, "task_id", -1);
    if (task < 0 || task >= TASKS_MOST || (exit_status && (deleted || exit_status->kind != JSON_NUMBER)))
        hand_over();
    if (is_reported((size_t)task))
        return;
    snprintf(label, sizeof label, *job.tasks ? "%lld.%lld" : "%lld", job.job, task);
    make_room((size_t)task);
    int status = report_end(label, record);
    job.reported[task / 8] |= (unsigned char)(1 << task % 8);
    job.status = job.status ? job.status : status;
    job.ended = true;
}

static void take_line(const struct text *line) {
    struct json_document *document = json_read(line->data, line->length);
    const struct json *record = document ? json_root(document) : NULL;
    if (!record || record->kind != JSON_TABLE)
        hand_over();
    take(record);
    json_free(document);
}

static void report_pending(void) {
    struct text text = {0};
    job.pending_at = -1;
    text_printf(&text, "job %lld is still pending: qexplain %lld says why\n", job.job, job.job);
    print_line(2, &text);
}

/* Can be read once there is a signal that deletes the job; it stays pending, for the command in Python. */
static int signal_descriptor(void) {
    sigset_t deleting;
    sigemptyset(&deleting);
    sigaddset(&deleting, SIGINT);
    sigaddset(&deleting, SIGTERM);
    return signalfd(-1, &deleting, SFD_CLOEXEC);
}

void wait_for(long long number, const char *tasks, bool terse) {
    struct connection connection;
    struct text body = {0}, line = {0};
    job.job = number;
    job.tasks = tasks;
    job.terse = terse;
    job.pending_at = now_ms() + PENDING_MS;
    note_waiting(state_file);
    int signalled = signal_descriptor();
    if (signalled < 0)
        hand_over();
    text_printf(&body, "{\"job_id\":%lld}", number);
    ask_stream(&connection, "wait", &body, signalled);
    for (;;) {
        enum exchange outcome = connection_line(&connection, &line, job.pending_at);
        if (outcome == EXCHANGE_DONE) {
            if (line.length && line.data[strspn(line.data, " \t\r")])
                take_line(&line);
            line.length = 0;
        } else if (outcome == EXCHANGE_TIMEOUT) {
            report_pending();
        } else if (outcome != EXCHANGE_INTERRUPTED) {
            hand_over();
        }
    }
}
