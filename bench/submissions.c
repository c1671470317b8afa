/* submissions JOBS NATIVE: submits so many jobs of /bin/true, five times, one after the other in one session, then deletes them.
 * Prints how many a second, the median. Built and run by bench.api. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "drmaa.h"

enum { ROUNDS = 5 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static char why[DRMAA_ERROR_STRING_BUFFER];

static void must(int code) {
    if (code == DRMAA_ERRNO_SUCCESS)
        return;
    fprintf(stderr, "submissions: %s\n", why);
    exit(1);
}

static int by_size(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **words) {
    char id[DRMAA_JOBNAME_BUFFER];
    double rates[ROUNDS];
    drmaa_job_template_t *template = NULL;
    int jobs = count == 3 ? atoi(words[1]) : 0;
    must(drmaa_init("", why, sizeof why));
    must(drmaa_allocate_job_template(&template, why, sizeof why));
    must(drmaa_set_attribute(template, DRMAA_REMOTE_COMMAND, "/bin/true", why, sizeof why));
    must(drmaa_set_attribute(template, DRMAA_NATIVE_SPECIFICATION, jobs ? words[2] : "", why, sizeof why));
    for (int round = 0; round < ROUNDS; round++) {
        double began = now();
        for (int job = 0; job < jobs; job++)
            must(drmaa_run_job(id, sizeof id, template, why, sizeof why));
        rates[round] = jobs / (now() - began);
    }
    must(drmaa_control(DRMAA_JOB_IDS_SESSION_ALL, DRMAA_CONTROL_TERMINATE, why, sizeof why));
    must(drmaa_exit(why, sizeof why));
    qsort(rates, ROUNDS, sizeof *rates, by_size);
    printf("%.0f\n", rates[ROUNDS / 2]);
    return 0;
}
