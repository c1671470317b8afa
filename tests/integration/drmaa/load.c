/* load THREADS JOBS NATIVE: each thread submits so many jobs of /bin/true in one session, then all wait for any until none is left.
 * Prints `submitted N in S s, waited for N in S s`; exit status 1 with a sentence where anything is not as it should be. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drmaa.h"

static int jobs;
static const char *native;
static int waited_for; /* of all threads, under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void must(int code, const char *what, const char *why) {
    if (code == DRMAA_ERRNO_SUCCESS)
        return;
    fprintf(stderr, "%s: %d: %s\n", what, code, why);
    exit(1);
}

static void *submit(void *unused) {
    char why[DRMAA_ERROR_STRING_BUFFER] = "", id[DRMAA_JOBNAME_BUFFER];
    drmaa_job_template_t *template = NULL;
    must(drmaa_allocate_job_template(&template, why, sizeof why), "allocate", why);
    must(drmaa_set_attribute(template, DRMAA_REMOTE_COMMAND, "/bin/true", why, sizeof why), "command", why);
    must(drmaa_set_attribute(template, DRMAA_OUTPUT_PATH, ":/dev/null", why, sizeof why), "output", why);
    must(drmaa_set_attribute(template, DRMAA_JOIN_FILES, "y", why, sizeof why), "join", why);
    must(drmaa_set_attribute(template, DRMAA_NATIVE_SPECIFICATION, native, why, sizeof why), "native", why);
    for (int count = 0; count < jobs; count++)
        must(drmaa_run_job(id, sizeof id, template, why, sizeof why), "run", why);
    must(drmaa_delete_job_template(template, why, sizeof why), "delete", why);
    return unused;
}

static void *wait_for_any(void *unused) {
    char why[DRMAA_ERROR_STRING_BUFFER] = "", id[DRMAA_JOBNAME_BUFFER];
    int stat, exited, code;
    drmaa_attr_values_t *usage;
    while ((code = drmaa_wait(DRMAA_JOB_IDS_SESSION_ANY, id, sizeof id, &stat, DRMAA_TIMEOUT_WAIT_FOREVER, &usage, why,
                              sizeof why)) != DRMAA_ERRNO_INVALID_JOB) {
        must(code, "wait", why);
        must(drmaa_wifexited(&exited, stat, why, sizeof why), "exited", why);
        must(!exited, "a job has not exited", id);
        drmaa_release_attr_values(usage);
        pthread_mutex_lock(&lock);
        waited_for++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static double all(int threads, void *(*work)(void *)) {
    pthread_t *running = calloc((size_t)threads, sizeof *running);
    double began = now();
    for (int which = 0; which < threads; which++)
        must(pthread_create(&running[which], NULL, work, NULL), "thread", "");
    for (int which = 0; which < threads; which++)
        pthread_join(running[which], NULL);
    free(running);
    return now() - began;
}

int main(int count, char **arguments) {
    char why[DRMAA_ERROR_STRING_BUFFER] = "";
    if (count != 4)
        return 2;
    int threads = atoi(arguments[1]);
    jobs = atoi(arguments[2]);
    native = arguments[3];
    must(drmaa_init(NULL, why, sizeof why), "init", why);
    double submitting = all(threads, submit);
    printf("submitted %d in %.2f s, ", threads * jobs, submitting);
    fflush(stdout);
    if (!strstr(native, "-h")) {
        double waiting = all(threads, wait_for_any);
        printf("waited for %d in %.2f s", waited_for, waiting);
        must(waited_for != threads * jobs, "not all jobs were waited for", "");
    } else {
        must(drmaa_control(DRMAA_JOB_IDS_SESSION_ALL, DRMAA_CONTROL_TERMINATE, why, sizeof why), "terminate", why);
    }
    printf("\n");
    must(drmaa_exit(why, sizeof why), "exit", why);
    return 0;
}
