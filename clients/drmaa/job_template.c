#include "job_template.h"

#include <stdlib.h>
#include <string.h>

#include "diagnosis.h"
#include "session.h"
#include "start_time.h"
#include "text.h"

static const char *const names[ATTRIBUTES] = {
    [REMOTE_COMMAND] = DRMAA_REMOTE_COMMAND,
    [JS_STATE] = DRMAA_JS_STATE,
    [WD] = DRMAA_WD,
    [JOB_NAME] = DRMAA_JOB_NAME,
    [INPUT_PATH] = DRMAA_INPUT_PATH,
    [OUTPUT_PATH] = DRMAA_OUTPUT_PATH,
    [ERROR_PATH] = DRMAA_ERROR_PATH,
    [JOIN_FILES] = DRMAA_JOIN_FILES,
    [TRANSFER_FILES] = DRMAA_TRANSFER_FILES,
    [JOB_CATEGORY] = DRMAA_JOB_CATEGORY,
    [NATIVE_SPECIFICATION] = DRMAA_NATIVE_SPECIFICATION,
    [BLOCK_EMAIL] = DRMAA_BLOCK_EMAIL,
    [START_TIME] = DRMAA_START_TIME,
    [SUBMIT_AS_EUID] = DRMAA_SUBMIT_AS_EUID,
};

static const char *const vector_names[VECTOR_ATTRIBUTES] = {
    [V_ARGV] = DRMAA_V_ARGV, [V_ENV] = DRMAA_V_ENV, [V_EMAIL] = DRMAA_V_EMAIL};

static int find(const char *name, const char *const *known, int count) {
    for (int which = 0; which < count; which++)
        if (!strcmp(known[which], name))
            return which;
    return -1;
}

static int is_one_of(const char *name, const char *value, const char *one, const char *other, struct diagnosis diagnosis) {
    if (!strcmp(value, one) || !strcmp(value, other))
        return DRMAA_ERRNO_SUCCESS;
    return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, "the value of %s is \"%s\" or \"%s\", not \"%.200s\"", name, one,
                other, value);
}

/* Whether an attribute may have a value. */
static int check(enum attribute attribute, const char *value, struct diagnosis diagnosis) {
    const char *name = names[attribute];
    time_t meant;
    if (!is_utf8(value, strlen(value)))
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, "the value of %s is not text in UTF-8", name);
    switch (attribute) {
    case JS_STATE:
        return is_one_of(name, value, DRMAA_SUBMISSION_STATE_ACTIVE, DRMAA_SUBMISSION_STATE_HOLD, diagnosis);
    case JOIN_FILES:
    case SUBMIT_AS_EUID:
        return is_one_of(name, value, "y", "n", diagnosis);
    case BLOCK_EMAIL:
        return is_one_of(name, value, "0", "1", diagnosis);
    case TRANSFER_FILES:
        if (value[strspn(value, "ioe")])
            return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, "the value of %s is letters of i, o and e, not \"%.200s\"",
                        name, value);
        break;
    case INPUT_PATH:
    case OUTPUT_PATH:
    case ERROR_PATH:
        if (*value && !strchr(value, ':'))
            return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT, "the value of %s is [host]:path, not \"%.200s\"", name, value);
        break;
    case START_TIME:
        if (!read_start_time(value, time(NULL), &meant))
            return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT,
                        "the value of %s is [[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu], not \"%.200s\"", name, value);
        break;
    default:
        break;
    }
    return DRMAA_ERRNO_SUCCESS;
}

static int no_attribute(const char *name, struct diagnosis diagnosis) {
    return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "\"%.200s\" is no attribute, or none of this kind", name);
}

/* The number of an attribute that this session has. */
static int attribute_of(const struct session *session, const char *name) {
    int found = find(name, names, ATTRIBUTES);
    return found == TRANSFER_FILES && !session->staging ? -1 : found;
}

EXPORTED int drmaa_allocate_job_template(drmaa_job_template_t **jt, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    session_leave(session);
    if (!jt)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no place for the job template");
    *jt = calloc(1, sizeof **jt);
    return *jt ? succeed(diagnosis) : fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
}

EXPORTED int drmaa_delete_job_template(drmaa_job_template_t *jt, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    session_leave(session);
    if (!jt)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no job template");
    for (int which = 0; which < ATTRIBUTES; which++)
        free(jt->values[which]);
    for (int which = 0; which < VECTOR_ATTRIBUTES; which++)
        strings_free(&jt->vectors[which]);
    free(jt);
    return succeed(diagnosis);
}

EXPORTED int drmaa_set_attribute(drmaa_job_template_t *jt, const char *name, const char *value, char *error_diagnosis,
                                 size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    int attribute = name ? attribute_of(session, name) : -1;
    session_leave(session);
    if (!jt || !name || !value)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job template, a name and a value are expected");
    if (attribute < 0)
        return no_attribute(name, diagnosis);
    int code = check((enum attribute)attribute, value, diagnosis);
    if (code)
        return code;
    char *copy = strdup(value);
    if (!copy)
        return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    free(jt->values[attribute]);
    jt->values[attribute] = copy;
    return succeed(diagnosis);
}

EXPORTED int drmaa_get_attribute(drmaa_job_template_t *jt, const char *name, char *value, size_t value_len,
                                 char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    int attribute = name ? attribute_of(session, name) : -1;
    session_leave(session);
    if (!jt || !name || !value || !value_len)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job template, a name and room for a value are expected");
    if (attribute < 0)
        return no_attribute(name, diagnosis);
    copy_out(value, value_len, jt->values[attribute] ? jt->values[attribute] : "");
    return succeed(diagnosis);
}

/* Whether a list may have an item. */
static int check_item(int attribute, const char *item, struct diagnosis diagnosis) {
    if (!is_utf8(item, strlen(item)))
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, "an item of %s is not text in UTF-8", vector_names[attribute]);
    const char *equals = strchr(item, '=');
    if (attribute == V_ENV && (!equals || equals == item || memchr(item, ' ', (size_t)(equals - item))))
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT, "an item of %s is NAME=VALUE, not \"%.200s\"",
                    vector_names[attribute], item);
    return DRMAA_ERRNO_SUCCESS;
}

EXPORTED int drmaa_set_vector_attribute(drmaa_job_template_t *jt, const char *name, const char *value[],
                                        char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    session_leave(session);
    if (!jt || !name || !value)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job template, a name and values are expected");
    int attribute = find(name, vector_names, VECTOR_ATTRIBUTES), code = DRMAA_ERRNO_SUCCESS;
    if (attribute < 0)
        return no_attribute(name, diagnosis);
    struct strings copies = {0};
    for (; *value && !code; value++) {
        code = check_item(attribute, *value, diagnosis);
        if (!code && !strings_add(&copies, *value))
            code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    }
    if (code) {
        strings_free(&copies);
        return code;
    }
    strings_free(&jt->vectors[attribute]);
    jt->vectors[attribute] = copies;
    jt->given[attribute] = true;
    return succeed(diagnosis);
}

EXPORTED int drmaa_get_vector_attribute(drmaa_job_template_t *jt, const char *name, drmaa_attr_values_t **values,
                                        char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    session_leave(session);
    if (!jt || !name || !values)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "a job template, a name and a place for values are expected");
    int attribute = find(name, vector_names, VECTOR_ATTRIBUTES);
    if (attribute < 0)
        return no_attribute(name, diagnosis);
    drmaa_attr_values_t *found = calloc(1, sizeof *found);
    bool whole = found != NULL;
    for (size_t at = 0; whole && at < jt->vectors[attribute].count; at++)
        whole = strings_add(&found->strings, jt->vectors[attribute].items[at]);
    if (!whole) {
        drmaa_release_attr_values(found);
        return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    }
    *values = found;
    return succeed(diagnosis);
}

/* The names of a table, without the one that is left out (-1 for none). */
static int list_names(drmaa_attr_names_t **values, const char *const *known, int count, int without, struct diagnosis diagnosis) {
    if (!values)
        return fail(diagnosis, DRMAA_ERRNO_INVALID_ARGUMENT, "there is no place for the names");
    drmaa_attr_names_t *found = calloc(1, sizeof *found);
    bool whole = found != NULL;
    for (int which = 0; whole && which < count; which++)
        if (which != without)
            whole = strings_add(&found->strings, known[which]);
    if (!whole) {
        drmaa_release_attr_names(found);
        return fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    }
    *values = found;
    return succeed(diagnosis);
}

EXPORTED int drmaa_get_attribute_names(drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    int without = session->staging ? -1 : TRANSFER_FILES;
    session_leave(session);
    return list_names(values, names, ATTRIBUTES, without, diagnosis);
}

EXPORTED int drmaa_get_vector_attribute_names(drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len) {
    struct diagnosis diagnosis = {error_diagnosis, error_diag_len};
    struct session *session = session_enter(diagnosis);
    if (!session)
        return DRMAA_ERRNO_NO_ACTIVE_SESSION;
    session_leave(session);
    return list_names(values, vector_names, VECTOR_ATTRIBUTES, -1, diagnosis);
}
