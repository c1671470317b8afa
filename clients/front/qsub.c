/* qsub: the sources of options, the script, the origin of the job, and the text about the submitted job. As `clients.submission` and
 * `clients.qsub`. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cell.h"
#include "submission.h"

enum { SCRIPT_MOST = 1 << 20, FILE_MOST = 1 << 16, SOURCES_MOST = 5, ORIGINS = 9 };

/* The lines with options of a file or script. */
struct source {
    struct settings *lines;
    size_t count;
};

struct sources {
    struct source items[SOURCES_MOST];
    size_t count;
};

static void add_line(struct source *source, struct settings line) {
    source->lines = grow(source->lines, source->count + 1, sizeof *source->lines);
    source->lines[source->count++] = line;
}

/* A file of default options, if there is one. `own`: only the caller or root may have written it. */
static void add_file(struct sources *sources, const char *directory, const char *name, bool own) {
    struct text path = {0}, text = {0};
    text_printf(&path, "%s/%s", directory, name);
    if (path.failed)
        hand_over();
    if (!exists(path.data))
        return;
    if (read_file(path.data, FILE_MOST, own, &text) != FILE_READ || memchr(text.data, '\r', text.length))
        hand_over();
    struct source *source = &sources->items[sources->count++];
    for (const char *line = text.data, *end; line; line = *end ? end + 1 : NULL) {
        end = line + strcspn(line, "\n");
        if (!*end && end != text.data + text.length)
            hand_over();
        add_line(source, read_line(qsub_table, line, (size_t)(end - line)));
    }
}

static void add_files(struct sources *sources, const char *cwd) {
    const char *home = variable("HOME");
    add_file(sources, common_directory(), "sge_request", false);
    add_file(sources, *home ? home : "/", ".sge_request", true);
    if (strcmp(cwd, *home ? home : "/"))
        add_file(sources, cwd, ".sge_request", true);
}

/* The last -b of a line, which decides. */
static void look_for_binary(const struct settings *line, bool *binary) {
    for (size_t at = 0; at < line->count; at++)
        if (!strcmp(line->items[at].option->name, "-b"))
            *binary = read_switch(line->items[at].values[0]);
}

/* Read the script; a pipe or the standard input is left to the command in Python. */
static struct text read_script(const char *path) {
    struct text script = {0};
    struct stat found;
    if (stat(path, &found) || !S_ISREG(found.st_mode) || found.st_size > SCRIPT_MOST)
        hand_over();
    if (read_file(path, SCRIPT_MOST, false, &script) != FILE_READ || !is_utf8(script.data, script.length))
        hand_over();
    return script;
}

static bool begins(const char *line, size_t length, const char *mark) {
    return length >= strlen(mark) && !memcmp(line, mark, strlen(mark));
}

/* The options of the script's lines with the prefix, without those that have no effect there. */
static void add_script(struct sources *sources, const struct text *script) {
    struct source *source = &sources->items[sources->count++];
    const char *end, *last = script->data + script->length;
    bool has_prefix = memmem(script->data, script->length, SCRIPT_PREFIX, strlen(SCRIPT_PREFIX)) != NULL;
    for (const char *line = script->data; line < last; line = end + 1) {
        end = memchr(line, '\n', (size_t)(last - line));
        if (!end)
            end = last;
        size_t length = (size_t)(end - line);
        if (!has_prefix && (begins(line, length, "#SBATCH") || begins(line, length, "#PBS")))
            hand_over(); /* a hint is given */
        if (!begins(line, length, SCRIPT_PREFIX))
            continue;
        struct settings settings = read_line(qsub_table, line + strlen(SCRIPT_PREFIX), length - strlen(SCRIPT_PREFIX)), kept = {0};
        kept.items = grow(NULL, settings.count + 1, sizeof *kept.items);
        for (size_t at = 0; at < settings.count; at++)
            if (strcmp(settings.items[at].option->name, "-b"))
                kept.items[kept.count++] = settings.items[at];
        add_line(source, kept);
    }
}

/* Where the job comes from: the variables of the caller, or what the system knows of them. */
static void find_origin(const char *cwd, struct pair origin[ORIGINS]) {
    static const char *const names[ORIGINS] = {"HOME", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ", "TERM", "HOST", "WORKDIR"};
    const struct passwd *user = NULL;
    static struct utsname system;
    for (int at = 0; at < ORIGINS; at++)
        origin[at] = (struct pair){names[at], variable(names[at])};
    if (!*origin[0].value || !*origin[1].value || !*origin[4].value)
        user = getpwuid(getuid());
    if (user) {
        origin[0].value = *origin[0].value ? origin[0].value : user->pw_dir;
        origin[1].value = *origin[1].value ? origin[1].value : user->pw_name;
        origin[4].value = *origin[4].value ? origin[4].value : user->pw_shell;
    }
    if (!*origin[7].value && !uname(&system))
        origin[7].value = system.nodename;
    origin[8].value = cwd;
    for (int at = 0; at < ORIGINS; at++)
        if (!is_ascii(origin[at].value, strlen(origin[at].value)))
            hand_over();
}

static bool is_origin(const char *name, const struct pair origin[ORIGINS]) {
    static const char prefix[] = "SGE_O_";
    for (int at = 0; at < ORIGINS; at++)
        if (!strncmp(name, prefix, sizeof prefix - 1) && !strcmp(name + sizeof prefix - 1, origin[at].name))
            return *origin[at].value;
    return false;
}

static void add_environment(struct text *body, const struct submission *submission) {
    struct pair origin[ORIGINS];
    find_origin(submission->cwd, origin);
    text_field(body, "environment");
    text_puts(body, "{");
    for (size_t at = 0; at < submission->variable_count; at++)
        if (!is_origin(submission->variables[at].name, origin)) {
            text_field(body, submission->variables[at].name);
            text_json_string(body, submission->variables[at].value);
        }
    for (int at = 0; at < ORIGINS; at++)
        if (*origin[at].value) {
            char name[32] = "SGE_O_";
            text_field(body, strncat(name, origin[at].name, 16));
            text_json_string(body, origin[at].value);
        }
    text_puts(body, "}");
    static const struct pair fields[] = {{"HOME", "home"}, {"PATH", "submit_path"}, {"SHELL", "login_shell"}, {"WORKDIR", "submit_cwd"}};
    for (size_t which = 0; which < sizeof fields / sizeof *fields; which++)
        for (int at = 0; at < ORIGINS; at++)
            if (!strcmp(fields[which].name, origin[at].name)) {
                text_field(body, fields[which].value);
                text_json_string(body, origin[at].value);
            }
}

static struct text body_of(const struct submission *submission, struct strings operands, const struct text *script) {
    struct text body = {0};
    struct strings names = {0}, arguments = {operands.items + 1, operands.count - 1};
    text_puts(&body, "{");
    for (size_t at = 0; at < submission->field_count; at++) {
        text_field(&body, submission->fields[at].name);
        text_add(&body, submission->fields[at].value.data, submission->fields[at].value.length);
        body.failed |= submission->fields[at].value.failed;
    }
    for (size_t at = 0; at < submission->list_count; at++)
        add_strings(&body, submission->lists[at].name, &submission->lists[at].items);
    for (size_t at = 0; at < submission->variable_count; at++)
        strings_add(&names, (char *)submission->variables[at].name);
    if (names.count)
        add_strings(&body, "environment_names", &names);
    add_environment(&body, submission);
    text_field(&body, "script_file");
    text_json_string(&body, operands.items[0]);
    add_strings(&body, "args", &arguments);
    if (!submission->binary) {
        text_field(&body, "script");
        text_json(&body, script->data, script->length);
    }
    text_puts(&body, "}");
    return body;
}

/* Path aliases may concern the job, where there are any. */
static void hand_over_aliases(void) {
    struct text cells = {0}, users = {0};
    text_printf(&cells, "%s/sge_aliases", common_directory());
    text_printf(&users, "%s/.sge_aliases", variable("HOME"));
    if (cells.failed || users.failed || exists(cells.data) || exists(users.data))
        hand_over();
}

/* The request that these arguments mean. */
static struct text read_submission(struct submission *submission, struct strings arguments) {
    struct settings given = {0};
    struct sources sources = {0};
    struct text script = {0};
    submission->cwd = getcwd(NULL, 0);
    if (!submission->cwd || !is_ascii(submission->cwd, strlen(submission->cwd)))
        hand_over();
    hand_over_aliases();
    size_t used = read_options(qsub_table, arguments, &given);
    struct strings operands = {arguments.items + used, arguments.count - used};
    if (!operands.count || !*operands.items[0])
        hand_over();
    add_files(&sources, submission->cwd);
    for (size_t at = 0; at < sources.count; at++)
        for (size_t line = 0; line < sources.items[at].count; line++)
            look_for_binary(&sources.items[at].lines[line], &submission->binary);
    look_for_binary(&given, &submission->binary);
    if (!submission->binary) {
        if (!strcmp(operands.items[0], "-"))
            hand_over();
        script = read_script(operands.items[0]);
        add_script(&sources, &script);
    }
    for (size_t at = 0; at < sources.count; at++, submission->level++)
        for (size_t line = 0; line < sources.items[at].count; line++)
            fold(submission, &sources.items[at].lines[line]);
    fold(submission, &given);
    if (submission->binary)
        set_bool(submission, "binary", true);
    return body_of(submission, operands, &script);
}

void qsub(struct strings arguments) {
    struct submission submission = {0};
    struct text output = {0};
    const struct json *answers;
    if (isatty(2)) /* people get hints, and the reason why a job cannot start */
        hand_over();
    struct text body = read_submission(&submission, arguments), answer = ask(submission.sync ? ASK_AND_WAIT : ASK_CHANGES, "submit", &body);
    const struct json *data = data_of(answer.data, answer.length, &answers);
    const char *name = json_string(data, "name", NULL), *tasks = json_string(data, "tasks", "");
    long long job = json_number(data, "job_id", 0);
    if (answers->first || job <= 0 || !name || !is_printable(name) || !is_printable(tasks))
        hand_over();
    if (!submission.terse)
        text_printf(&output, "Your job%s ", *tasks ? "-array" : "");
    text_printf(&output, *tasks ? "%lld.%s" : "%lld", job, tasks);
    if (submission.terse)
        text_puts(&output, "\n");
    else
        text_printf(&output, " (\"%s\") has been submitted\n", name);
    if (!submission.sync)
        finish(&output);
    print_text(1, &output);
    wait_for(job, tasks, submission.terse);
}
