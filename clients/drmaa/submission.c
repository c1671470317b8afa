#include "submission.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "job_template.h"
#include "script.h"
#include "session.h"
#include "start_time.h"

/* A submission while it is made. `folded`: what the options come to. */
struct making {
    const struct drmaa_job_template_s *template;
    const struct json *folded;
    bool array;
    struct text *body;
};

static const char *value_of(const struct making *making, enum attribute attribute) { return making->template->values[attribute]; }

/* Fields that attributes write anew; the others are as the options have them. */
static bool is_written(const struct making *making, const char *field) {
    static const char *const always[] = {"environment", "environment_names", "script_file", "args"};
    static const struct {
        const char *field;
        enum attribute attribute;
    } said[] = {{"name", JOB_NAME},     {"cwd", WD},           {"stdin", INPUT_PATH},    {"stdout", OUTPUT_PATH},
                {"stderr", ERROR_PATH}, {"merge", JOIN_FILES}, {"start_after", START_TIME}, {"holds", JS_STATE}};
    for (size_t which = 0; which < sizeof always / sizeof *always; which++)
        if (!strcmp(field, always[which]))
            return true;
    for (size_t which = 0; which < sizeof said / sizeof *said; which++)
        if (!strcmp(field, said[which].field))
            return value_of(making, said[which].attribute) != NULL;
    if (!strcmp(field, "mail_list"))
        return making->template->given[V_EMAIL];
    return !strcmp(field, "mail_options") && value_of(making, BLOCK_EMAIL) && *value_of(making, BLOCK_EMAIL) == '1';
}

static void add_string(const struct making *making, const char *field, const char *value) {
    text_field(making->body, field);
    text_json_string(making->body, value);
}

static void add_list(const struct making *making, const char *field, const struct strings *items) {
    text_field(making->body, field);
    text_puts(making->body, "[");
    for (size_t at = 0; at < items->count; at++) {
        if (at)
            text_puts(making->body, ",");
        text_json_string(making->body, items->items[at]);
    }
    text_puts(making->body, "]");
}

/* A path with what its placeholders stand for, in the variables of -o. */
static void expand(const struct making *making, const char *path, struct text *expanded) {
    static const char home[] = DRMAA_PLACEHOLDER_HD, work[] = DRMAA_PLACEHOLDER_WD, task[] = DRMAA_PLACEHOLDER_INCR;
    const char *wd = value_of(making, WD);
    if (!strncmp(path, home, sizeof home - 1)) {
        text_puts(expanded, "$HOME");
        path += sizeof home - 1;
    } else if (!strncmp(path, work, sizeof work - 1)) {
        if (wd && (*wd == '/' || !strncmp(wd, home, sizeof home - 1)))
            expand(making, wd, expanded);
        else
            text_puts(expanded, "."); /* its host takes it from the working directory on */
        path += sizeof work - 1;
    }
    for (const char *found; making->array && (found = strstr(path, task)); path = found + sizeof task - 1) {
        text_add(expanded, path, (size_t)(found - path));
        text_puts(expanded, "$TASK_ID");
    }
    text_puts(expanded, path);
}

/* `[host]:path` as the one path of a stream. */
static void add_path(const struct making *making, enum attribute attribute, const char *field) {
    const char *value = value_of(making, attribute), *colon = value ? strchr(value, ':') : NULL;
    struct text path = {0};
    if (!value)
        return;
    text_field(making->body, field);
    if (!colon || !colon[1]) {
        text_puts(making->body, "[]");
        return;
    }
    expand(making, colon + 1, &path);
    text_puts(making->body, "[[");
    text_json(making->body, value, (size_t)(colon - value));
    text_puts(making->body, ",");
    text_json(making->body, path.data ? path.data : "", path.length);
    text_puts(making->body, "]]");
    making->body->failed |= path.failed;
    text_free(&path);
}

static void add_files(const struct making *making) {
    const char *wd = value_of(making, WD), *join = value_of(making, JOIN_FILES), *transfer = value_of(making, TRANSFER_FILES);
    struct text path = {0};
    if (wd) {
        expand(making, wd, &path);
        add_string(making, "cwd", path.data ? path.data : "");
        making->body->failed |= path.failed;
        text_free(&path);
    }
    add_path(making, INPUT_PATH, "stdin");
    add_path(making, OUTPUT_PATH, "stdout");
    add_path(making, ERROR_PATH, "stderr");
    if (join) {
        text_field(making->body, "merge");
        text_puts(making->body, *join == 'y' ? "true" : "false");
    }
    if (transfer)
        add_string(making, "transfer_files", transfer);
}

/* Names of variables that v_env says. */
static bool is_said(const struct strings *variables, const char *name) {
    size_t length = strlen(name);
    for (size_t at = 0; at < variables->count; at++)
        if (!strncmp(variables->items[at], name, length) && variables->items[at][length] == '=')
            return true;
    return false;
}

static void add_variable(struct text *environment, const char *name, size_t length, const char *value) {
    if (text_last(environment) != '{')
        text_puts(environment, ",");
    text_json(environment, name, length);
    text_puts(environment, ":");
    text_json_string(environment, value);
}

/* The last item of v_env for each name counts, as with any environment. */
static bool is_last(const struct strings *variables, size_t at) {
    const char *item = variables->items[at];
    while (++at < variables->count)
        if (!strncmp(variables->items[at], item, strcspn(item, "=") + 1))
            return false;
    return true;
}

/* Where the job comes from: SGE_O_ variables and the fields that go with them (EN-3). */
static void add_origin(const struct making *making, struct text *environment) {
    static const char *const names[] = {"HOME", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ", "TERM", "HOST"};
    static const char *const fields[] = {"home", NULL, NULL, "submit_path", "login_shell", NULL, NULL, NULL};
    struct utsname system;
    struct passwd entry, *user = NULL;
    char buffer[4096], *cwd = getcwd(NULL, 0);
    if (!getenv("HOME") || !getenv("LOGNAME") || !getenv("SHELL"))
        getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &user);
    for (size_t which = 0; which < sizeof names / sizeof *names; which++) {
        const char *value = getenv(names[which]);
        if ((!value || !*value) && user)
            value = which == 0 ? user->pw_dir : which == 1 ? user->pw_name : which == 4 ? user->pw_shell : NULL;
        if ((!value || !*value) && !strcmp(names[which], "HOST"))
            value = uname(&system) ? NULL : system.nodename;
        if (!value || !*value || !is_utf8(value, strlen(value)))
            continue;
        char name[16] = "SGE_O_";
        strcat(name, names[which]);
        add_variable(environment, name, strlen(name), value);
        if (fields[which])
            add_string(making, fields[which], value);
    }
    if (cwd && is_utf8(cwd, strlen(cwd))) {
        add_variable(environment, "SGE_O_WORKDIR", strlen("SGE_O_WORKDIR"), cwd);
        add_string(making, "submit_cwd", cwd);
    }
    free(cwd);
}

/* The variables of the options, of v_env, and of where the job comes from. */
static void add_variables(const struct making *making) {
    const struct strings *said = &making->template->vectors[V_ENV];
    const struct json *environment = json_get(making->folded, "environment"), *names = json_get(making->folded, "environment_names");
    struct text table = {0}, list = {0};
    text_puts(&table, "{");
    text_puts(&list, "[");
    for (const struct json *name = names ? names->first : NULL; name; name = name->next) {
        if (name->kind != JSON_STRING || is_said(said, name->string))
            continue;
        text_puts(&list, text_last(&list) == '[' ? "" : ",");
        text_json_string(&list, name->string);
        add_variable(&table, name->string, strlen(name->string), json_string(environment, name->string, ""));
    }
    for (size_t at = 0; at < said->count; at++) {
        size_t length = strcspn(said->items[at], "=");
        if (!is_last(said, at))
            continue;
        text_puts(&list, text_last(&list) == '[' ? "" : ",");
        text_json(&list, said->items[at], length);
        add_variable(&table, said->items[at], length, said->items[at] + length + 1);
    }
    add_origin(making, &table);
    text_field(making->body, "environment");
    text_add(making->body, table.data ? table.data : "", table.length);
    text_puts(making->body, "}");
    text_field(making->body, "environment_names");
    text_add(making->body, list.data ? list.data : "", list.length);
    text_puts(making->body, "]");
    making->body->failed |= table.failed || list.failed;
    text_free(&table);
    text_free(&list);
}

/* Attributes that say when, to whom, and as what. */
static int add_rest(const struct making *making, const struct session *session, struct diagnosis diagnosis) {
    const char *start = value_of(making, START_TIME), *state = value_of(making, JS_STATE), *name = value_of(making, JOB_NAME);
    const char *block = value_of(making, BLOCK_EMAIL);
    time_t meant;
    if (name)
        add_string(making, "name", name);
    if (state)
        add_string(making, "holds", strcmp(state, DRMAA_SUBMISSION_STATE_HOLD) ? "" : "u");
    if (making->template->given[V_EMAIL])
        add_list(making, "mail_list", &making->template->vectors[V_EMAIL]);
    if (block && *block == '1')
        add_string(making, "mail_options", "");
    if (start) {
        if (!read_start_time(start, time(NULL), &meant))
            return fail(diagnosis, DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT, "\"%.200s\" is no time any more", start);
        text_field(making->body, "start_after");
        text_printf(making->body, "%lld", (long long)meant);
    }
    add_string(making, "session", session->name);
    if (!getenv("SGE_DRMAA_ALLOW_JOB_ERROR_STATE"))
        text_puts(making->body, ",\"error_ends\":true");
    return DRMAA_ERRNO_SUCCESS;
}

/* The program, or the script that is sent along. */
static int add_program(const struct making *making, struct diagnosis diagnosis) {
    const char *command = value_of(making, REMOTE_COMMAND), *wd = value_of(making, WD), *home = getenv("HOME");
    int code = DRMAA_ERRNO_SUCCESS;
    add_string(making, "script_file", command);
    add_list(making, "args", &making->template->vectors[V_ARGV]);
    if (json_number(making->folded, "binary", 1))
        return code;
    struct text path = {0};
    if (*command != '/')
        text_printf(&path, "%s/", wd && *wd == '/' ? wd : home && *home ? home : "");
    text_puts(&path, command);
    code = path.failed ? fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL) : script_add(making->body, path.data, diagnosis);
    text_free(&path);
    return code;
}

int submission(struct session *session, const struct drmaa_job_template_s *template, struct tasks tasks, struct text *body,
               struct diagnosis diagnosis) {
    struct text fields = {0};
    struct json_document *document = NULL;
    if (!template->values[REMOTE_COMMAND] || !*template->values[REMOTE_COMMAND])
        return fail(diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "the job template says no " DRMAA_REMOTE_COMMAND);
    int code = options_fold(session, template, &fields, diagnosis);
    if (!code && !(document = json_read(fields.data ? fields.data : "", fields.length)))
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    if (!code) {
        struct making making = {template, json_root(document), tasks.last != 0, body};
        text_puts(body, "{");
        for (const struct json *field = making.folded->first; field; field = field->next) {
            if (is_written(&making, field->name))
                continue;
            text_field(body, field->name);
            text_add(body, field->raw, field->raw_length);
        }
        code = add_program(&making, diagnosis);
        add_files(&making);
        add_variables(&making);
        if (!code)
            code = add_rest(&making, session, diagnosis);
        if (tasks.last) {
            text_field(body, "tasks");
            text_printf(body, "\"%u-%u:%u\"", tasks.first, tasks.last, tasks.step);
        }
        text_puts(body, "}");
    }
    json_free(document);
    text_free(&fields);
    if (!code && body->failed)
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    return code;
}
