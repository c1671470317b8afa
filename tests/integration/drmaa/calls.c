/* Every call with what it cannot take, in every order; a fork; a signal. A check that fails is a line on stderr. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drmaa.h"

static int faults;
static char why[DRMAA_ERROR_STRING_BUFFER];

#define WHY why, sizeof why
#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(faults++, fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, why)))

static void without_session(void) {
    drmaa_job_template_t *template;
    drmaa_attr_names_t *names;
    drmaa_job_ids_t *ids;
    char text[64];
    int number;
    const char *all[] = {DRMAA_JOB_IDS_SESSION_ALL, NULL};
    unsigned major, minor;
    CHECK(drmaa_exit(WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION && *why);
    CHECK(drmaa_exit(NULL, 0) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_allocate_job_template(&template, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_get_attribute_names(&names, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_run_job(text, sizeof text, NULL, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_run_bulk_jobs(&ids, NULL, 1, 1, 1, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_wait("1", NULL, 0, NULL, 0, NULL, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_synchronize(all, 0, 0, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_control("1", DRMAA_CONTROL_HOLD, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(drmaa_job_ps("1", &number, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
    CHECK(!drmaa_get_contact(text, sizeof text, WHY) && !*text);
    CHECK(!drmaa_version(&major, &minor, WHY) && major == 1 && minor == 0);
    CHECK(!drmaa_get_DRM_system(text, sizeof text, WHY) && !strncmp(text, "SGE ", 4));
    CHECK(!drmaa_get_DRMAA_implementation(text, 4, WHY) && !strcmp(text, "SGE"));
    for (number = 0; number < DRMAA_NO_ERRNO; number++)
        CHECK(drmaa_strerror(number) && *drmaa_strerror(number));
    CHECK(!drmaa_strerror(-1) && !drmaa_strerror(DRMAA_NO_ERRNO));
    CHECK(drmaa_init("garbage", WHY) == DRMAA_ERRNO_INVALID_CONTACT_STRING);
    CHECK(drmaa_init("session=", WHY) == DRMAA_ERRNO_INVALID_CONTACT_STRING);
    CHECK(drmaa_init("session=a/b", WHY) == DRMAA_ERRNO_INVALID_CONTACT_STRING);
}

static void lists_and_templates(drmaa_job_template_t *template) {
    drmaa_attr_names_t *names = NULL;
    drmaa_attr_values_t *values = NULL;
    char text[DRMAA_ATTR_BUFFER];
    int count, seen = 0;
    const char *items[] = {"A=1", "B=2", NULL}, *none[] = {NULL}, *bad[] = {"A", NULL}, *broken[] = {"A=\xff", NULL};
    CHECK(!drmaa_get_attribute_names(&names, WHY) && !drmaa_get_num_attr_names(names, &count) && count == 13);
    while (!drmaa_get_next_attr_name(names, text, sizeof text))
        CHECK(++seen && !strncmp(text, "drmaa_", 6) && !drmaa_get_attribute(template, text, text, sizeof text, WHY));
    CHECK(seen == count && drmaa_get_next_attr_name(names, text, sizeof text) == DRMAA_ERRNO_NO_MORE_ELEMENTS);
    drmaa_release_attr_names(names);
    drmaa_release_attr_names(NULL);
    drmaa_release_attr_values(NULL);
    drmaa_release_job_ids(NULL);
    CHECK(drmaa_get_next_attr_name(NULL, text, 1) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_get_num_job_ids(NULL, &count) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(!drmaa_set_vector_attribute(template, DRMAA_V_ENV, items, WHY));
    CHECK(drmaa_set_vector_attribute(template, DRMAA_V_ENV, bad, WHY) == DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT);
    CHECK(drmaa_set_vector_attribute(template, DRMAA_V_ENV, broken, WHY) == DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    CHECK(!drmaa_get_vector_attribute(template, DRMAA_V_ENV, &values, WHY));
    CHECK(!drmaa_get_num_attr_values(values, &count) && count == 2);
    CHECK(!drmaa_get_next_attr_value(values, text, 3) && !strcmp(text, "A="));
    drmaa_release_attr_values(values);
    CHECK(!drmaa_set_vector_attribute(template, DRMAA_V_ENV, none, WHY));
    CHECK(drmaa_set_attribute(NULL, DRMAA_WD, "/", WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_set_attribute(template, NULL, "/", WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_set_attribute(template, DRMAA_WD, NULL, NULL, 0) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_set_attribute(template, DRMAA_V_ARGV, "/", WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_set_attribute(template, DRMAA_WCT_HLIMIT, "1", WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_set_attribute(template, DRMAA_JOB_NAME, "\xff", WHY) == DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    CHECK(!drmaa_get_attribute(template, DRMAA_JOB_NAME, text, sizeof text, WHY) && !*text);
    CHECK(drmaa_delete_job_template(NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
}

static void jobs(drmaa_job_template_t *template) {
    drmaa_job_ids_t *ids;
    char text[DRMAA_JOBNAME_BUFFER], tiny[2];
    int state, stat, count;
    const char *wrong[] = {"x", NULL}, *unknown[] = {"9999998", NULL};
    CHECK(drmaa_run_job(text, sizeof text, NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_run_job(NULL, 0, template, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_run_job(text, sizeof text, template, WHY) == DRMAA_ERRNO_DENIED_BY_DRM && strstr(why, DRMAA_REMOTE_COMMAND));
    CHECK(!drmaa_set_attribute(template, DRMAA_REMOTE_COMMAND, "/bin/sleep", WHY));
    CHECK(drmaa_run_bulk_jobs(&ids, template, 0, 1, 1, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_run_bulk_jobs(&ids, template, 2, 1, 1, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_run_bulk_jobs(&ids, template, 1, 2, 0, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_run_bulk_jobs(&ids, template, 1, 2, INT_MIN, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(!drmaa_set_attribute(template, DRMAA_JS_STATE, DRMAA_SUBMISSION_STATE_HOLD, WHY));
    CHECK(!drmaa_run_bulk_jobs(&ids, template, 9, 4, -2, WHY)); /* 5, 7 and 9 */
    CHECK(!drmaa_get_num_job_ids(ids, &count) && count == 3);
    CHECK(!drmaa_get_next_job_id(ids, text, sizeof text) && strstr(text, ".5"));
    drmaa_release_job_ids(ids);
    CHECK(!drmaa_job_ps(text, &state, WHY) && state == DRMAA_PS_USER_ON_HOLD);
    CHECK(drmaa_job_ps(text, NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_wait(text, NULL, 0, NULL, DRMAA_TIMEOUT_NO_WAIT, NULL, WHY) == DRMAA_ERRNO_EXIT_TIMEOUT);
    CHECK(drmaa_control(text, 5, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT && drmaa_control(NULL, 0, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(!drmaa_control(DRMAA_JOB_IDS_SESSION_ALL, DRMAA_CONTROL_TERMINATE, WHY));
    CHECK(!drmaa_wait(DRMAA_JOB_IDS_SESSION_ANY, tiny, sizeof tiny, &stat, 60, NULL, WHY) && strlen(tiny) == 1);
    CHECK(!drmaa_wifaborted(&state, stat, WHY) && state && !drmaa_wifexited(&state, stat, WHY) && !state);
    CHECK(drmaa_wtermsig(text, sizeof text, stat, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(!drmaa_wcoredump(&state, stat, WHY) && !state && drmaa_wifexited(NULL, stat, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_synchronize(NULL, 0, 0, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_synchronize(wrong, 0, 0, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_synchronize(unknown, 60, 0, WHY) == DRMAA_ERRNO_INVALID_JOB);
    CHECK(drmaa_wait(NULL, NULL, 0, NULL, 0, NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_wait("0", NULL, 0, NULL, 0, NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_wait("1.", NULL, 0, NULL, 0, NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_wait("-1", NULL, 0, NULL, 0, NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(drmaa_wait("9999998", NULL, 0, NULL, 60, NULL, WHY) == DRMAA_ERRNO_INVALID_JOB);
}

/* A child has no session, can have one of its own, and leaves its parent's alone. */
static void forks(void) {
    char contact[DRMAA_CONTACT_BUFFER], child[DRMAA_CONTACT_BUFFER];
    int status;
    CHECK(!drmaa_get_contact(contact, sizeof contact, WHY));
    pid_t pid = fork();
    if (!pid) {
        int state;
        CHECK(drmaa_job_ps("1", &state, WHY) == DRMAA_ERRNO_NO_ACTIVE_SESSION);
        CHECK(!drmaa_init(NULL, WHY) && !drmaa_get_contact(child, sizeof child, WHY) && strcmp(contact, child));
        CHECK(drmaa_job_ps("9999998", &state, WHY) == DRMAA_ERRNO_INVALID_JOB);
        CHECK(!drmaa_exit(WHY));
        _exit(faults != 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK(!drmaa_get_contact(child, sizeof child, WHY) && !strcmp(contact, child));
}

static void on_alarm(int number) {
    (void)number;
    alarm(1); /* again, should it come before the wait */
}

/* A signal that the program handles ends a wait. */
static void signals(drmaa_job_template_t *template) {
    char id[DRMAA_JOBNAME_BUFFER];
    const char *all[] = {DRMAA_JOB_IDS_SESSION_ALL, NULL};
    CHECK(!drmaa_run_job(id, sizeof id, template, WHY)); /* it is held */
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    CHECK(drmaa_wait(id, NULL, 0, NULL, DRMAA_TIMEOUT_WAIT_FOREVER, NULL, WHY) == DRMAA_ERRNO_EXIT_TIMEOUT);
    action.sa_handler = SIG_IGN;
    sigaction(SIGALRM, &action, NULL);
    CHECK(!drmaa_control(id, DRMAA_CONTROL_TERMINATE, WHY));
    CHECK(!drmaa_synchronize(all, 60, 1, WHY));
    CHECK(drmaa_wait(id, NULL, 0, NULL, 0, NULL, WHY) == DRMAA_ERRNO_INVALID_JOB);
}

int main(void) {
    drmaa_job_template_t *template;
    without_session();
    CHECK(!drmaa_init("", WHY));
    CHECK(drmaa_init(NULL, WHY) == DRMAA_ERRNO_ALREADY_ACTIVE_SESSION);
    CHECK(drmaa_allocate_job_template(NULL, WHY) == DRMAA_ERRNO_INVALID_ARGUMENT);
    CHECK(!drmaa_allocate_job_template(&template, WHY));
    lists_and_templates(template);
    jobs(template);
    forks();
    signals(template);
    CHECK(!drmaa_delete_job_template(template, WHY) && !drmaa_exit(WHY));
    without_session();
    unsetenv("SGE_ROOT");
    CHECK(drmaa_init(NULL, WHY) == DRMAA_ERRNO_DRMS_INIT_FAILED);
    setenv("SGE_ROOT", "/nonexistent", 1);
    CHECK(drmaa_init(NULL, WHY) == DRMAA_ERRNO_DRMS_INIT_FAILED && strstr(why, "/nonexistent"));
    return faults != 0;
}
