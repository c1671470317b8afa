#include "stat.h"

#include <signal.h>
#include <stdio.h>

#include "diagnosis.h"
#include "text.h"

/* The outcome, and below it the exit status or the signal. */
enum { NUMBER = 0xffff, OUTCOME_SHIFT = 16 };

static const char *const names[] = {
    [SIGHUP] = "HUP",       [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",   [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",
    [SIGBUS] = "BUS",       [SIGFPE] = "FPE",   [SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
    [SIGPIPE] = "PIPE",     [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGCHLD] = "CHLD", [SIGCONT] = "CONT", [SIGSTOP] = "STOP",
    [SIGTSTP] = "TSTP",     [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU", [SIGURG] = "URG",   [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
    [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGPOLL] = "POLL", [SIGSYS] = "SYS",
};

int stat_of(const struct end *end) { return (int)end->outcome << OUTCOME_SHIFT | (end->status & NUMBER); }

static bool is(int stat, enum outcome outcome) { return stat >> OUTCOME_SHIFT == (int)outcome; }

static int tell(int *to, int value, struct diagnosis diagnosis) {
    if (!to)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no place for the answer");
    *to = value;
    return succeed(diagnosis);
}

EXPORTED int drmaa_wifexited(int *exited, int stat, char *error_diagnosis, size_t error_diag_len) {
    return tell(exited, is(stat, OUTCOME_EXITED), (struct diagnosis){error_diagnosis, error_diag_len});
}

EXPORTED int drmaa_wexitstatus(int *exit_status, int stat, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    return tell(exit_status, is(stat, OUTCOME_EXITED) ? stat & NUMBER : 0, diagnosis);
}

EXPORTED int drmaa_wifsignaled(int *signaled, int stat, char *error_diagnosis, size_t error_diag_len) {
    return tell(signaled, is(stat, OUTCOME_SIGNALED), (struct diagnosis){error_diagnosis, error_diag_len});
}

EXPORTED int drmaa_wtermsig(char *signal, size_t signal_len, int stat, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    if (!signal || !signal_len)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no room for the signal");
    if (!is(stat, OUTCOME_SIGNALED))
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "the job did not die of a signal");
    int number = stat & NUMBER;
    char text[32];
    if (number < (int)(sizeof names / sizeof *names) && names[number])
        snprintf(text, sizeof text, "SIG%s", names[number]);
    else
        snprintf(text, sizeof text, "signal %d", number);
    copy_out(signal, signal_len, text);
    return succeed(diagnosis);
}

/* Whether a core was written is not known of a job that ran on another host. */
EXPORTED int drmaa_wcoredump(int *core_dumped, int stat, char *error_diagnosis, size_t error_diag_len) {
    (void)stat;
    return tell(core_dumped, 0, (struct diagnosis){error_diagnosis, error_diag_len});
}

EXPORTED int drmaa_wifaborted(int *aborted, int stat, char *error_diagnosis, size_t error_diag_len) {
    return tell(aborted, is(stat, OUTCOME_ABORTED), (struct diagnosis){error_diagnosis, error_diag_len});
}
