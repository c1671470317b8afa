#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "job_template.h"
#include "session.h"

enum { FILE_MOST = 65536, ROUNDS_MOST = 40 };

extern char **environ;

/* Files that options come from, for one job. */
struct sources {
    const struct cell *cell;
    const char *home;
    char *cwd; /* NULL where it cannot be told */
    struct diagnosis diagnosis;
    int code;
};

static void cannot_read(struct sources *sources, const char *path) {
    sources->code = fail(sources->diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "cannot read %s: %s", path, strerror(errno));
}

/* The text of a file as JSON. What is no UTF-8 could be no option. */
static void add_text(struct text *body, struct sources *sources, const char *path, const struct text *text) {
    if (text->failed || is_utf8(text->data, text->length)) {
        text_json(body, text->data ? text->data : "", text->length);
        return;
    }
    sources->code = fail(sources->diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "%s is not text in UTF-8", path);
}

/* Add `,[path, text]` of a file that there is. */
static void add_file(struct text *body, struct sources *sources, bool own, const char *directory, const char *name) {
    struct text path = {0}, text = {0};
    text_printf(&path, "%s/%s", directory, name);
    enum file_read outcome = path.failed ? FILE_ABSENT : read_file(path.data, FILE_MOST, own, &text);
    if (outcome == FILE_FAULTY) {
        cannot_read(sources, path.data);
    } else if (outcome == FILE_READ && is_utf8(path.data, path.length)) {
        text_puts(body, text_last(body) == '[' ? "[" : ",[");
        text_json_string(body, path.data);
        text_puts(body, ",");
        add_text(body, sources, path.data, &text);
        text_puts(body, "]");
    }
    body->failed |= path.failed || text.failed;
    text_free(&path);
    text_free(&text);
}

/* Add the cell's and the user's file of a kind, and for requests that of the working directory. */
static void add_files(struct text *body, struct sources *sources, const char *field, const char *name, bool here) {
    struct text hidden = {0};
    text_printf(&hidden, ".%s", name);
    text_field(body, field);
    text_puts(body, "[");
    if (!hidden.failed) {
        add_file(body, sources, false, sources->cell->common, name);
        add_file(body, sources, true, sources->home, hidden.data);
        if (here && sources->cwd && strcmp(sources->cwd, sources->home))
            add_file(body, sources, true, sources->cwd, hidden.data);
    }
    text_puts(body, "]");
    body->failed |= hidden.failed;
    text_free(&hidden);
}

void add_environment(struct text *body, const char *name) {
    text_field(body, name);
    text_puts(body, "{");
    for (char **variable = environ; variable && *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        if (!equals || equals == *variable || !is_utf8(*variable, strlen(*variable)))
            continue;
        text_puts(body, text_last(body) == '{' ? "" : ",");
        text_json(body, *variable, equals - *variable);
        text_puts(body, ":");
        text_json_string(body, equals + 1);
    }
    text_puts(body, "}");
}

/* The lines of a script that hold options; the others are there as empty ones, so that places in it stay right. */
static void add_script(struct text *body, struct sources *sources, const char *path, const char *prefix) {
    struct text script = {0}, lines = {0};
    size_t length = strlen(prefix), until = 0;
    if (read_file(path, FILE_MOST * 256, false, &script) != FILE_READ) {
        sources->code = fail(sources->diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "the script %.300s cannot be read: %s", path,
                             strerror(errno));
    } else {
        for (char *line = script.data, *end; line; line = end ? end + 1 : NULL) {
            end = memchr(line, '\n', script.length - (size_t)(line - script.data));
            if (!strncmp(line, prefix, length)) {
                text_add(&lines, line, end ? (size_t)(end - line) : strlen(line));
                until = lines.length;
            }
            text_add(&lines, "\n", 1);
        }
        text_field(body, "script");
        text_puts(body, "[");
        text_json_string(body, path);
        text_puts(body, ",");
        lines.length = until;
        add_text(body, sources, path, &lines);
        text_puts(body, "]");
    }
    body->failed |= script.failed || lines.failed;
    text_free(&script);
    text_free(&lines);
}

/* Everything that can be said at once. `files`: the fields of option files that were asked for. */
static void describe(struct text *body, struct sources *sources, const struct drmaa_job_template_s *template) {
    const char *native = template->values[NATIVE_SPECIFICATION], *category = template->values[JOB_CATEGORY];
    text_puts(body, "{");
    add_files(body, sources, "request_files", "sge_request", true);
    if (category) {
        text_field(body, "category");
        text_json_string(body, category);
        add_files(body, sources, "category_files", "qtask", false);
    }
    text_field(body, "native");
    text_json_string(body, native ? native : "");
    if (sources->cwd && is_utf8(sources->cwd, strlen(sources->cwd))) {
        text_field(body, "cwd");
        text_json_string(body, sources->cwd);
    }
    size_t before = body->length;
    add_files(body, sources, "alias_files", "sge_aliases", false);
    if (!body->failed && !strcmp(body->data + before, ",\"alias_files\":[]")) {
        body->length = before; /* then paths do not matter, and jobs of different ones are alike */
        body->data[before] = '\0';
        return;
    }
    struct utsname system;
    const char *command = template->values[REMOTE_COMMAND];
    text_puts(body, ",\"paths\":[");
    text_json_string(body, template->values[WD] ? template->values[WD] : "");
    text_puts(body, ",");
    text_json_string(body, command ? command : "");
    text_puts(body, "],\"host\":");
    text_json_string(body, uname(&system) ? "" : system.nodename);
}

/* Whether a text may speak of variables of this process (-v, -V). */
static bool speaks_of_variables(const char *text) { return strstr(text, "-v") || strstr(text, "-V"); }

static bool recall(struct session *session, const struct text *asked, struct text *fields) {
    bool found = false;
    pthread_mutex_lock(&session->lock);
    for (int which = 0; !found && which < OPTIONS_KEPT; which++) {
        const struct text *known = &session->options.kept[which].asked;
        found = known->data && known->length == asked->length && !memcmp(known->data, asked->data, asked->length);
        if (found)
            text_add(fields, session->options.kept[which].answered.data, session->options.kept[which].answered.length);
    }
    pthread_mutex_unlock(&session->lock);
    return found;
}

static void remember(struct session *session, const struct text *asked, const struct text *fields) {
    struct text question = {0}, answer = {0};
    text_add(&question, asked->data, asked->length);
    text_add(&answer, fields->data, fields->length);
    if (question.failed || answer.failed) {
        text_free(&question);
        text_free(&answer);
        return;
    }
    pthread_mutex_lock(&session->lock);
    unsigned which = session->options.next++ % OPTIONS_KEPT;
    text_free(&session->options.kept[which].asked);
    text_free(&session->options.kept[which].answered);
    session->options.kept[which].asked = question;
    session->options.kept[which].answered = answer;
    pthread_mutex_unlock(&session->lock);
}

void options_free(struct option_cache *cache) {
    for (int which = 0; which < OPTIONS_KEPT; which++) {
        text_free(&cache->kept[which].asked);
        text_free(&cache->kept[which].answered);
    }
}

/* Where the program of a job is looked for: from the working directory on, else from the home directory. */
static void script_path(struct text *path, const struct sources *sources, const struct drmaa_job_template_s *template) {
    const char *command = template->values[REMOTE_COMMAND], *wd = template->values[WD];
    if (*command != '/')
        text_printf(path, "%s/", wd && *wd == '/' ? wd : sources->home);
    text_puts(path, command);
}

/* What the answer still wants is added to the question: an option file (among `files`), or the script. False: nothing is. */
static bool add_wanted(struct text *body, struct text *files, struct sources *sources, const struct answer *answer,
                       const struct drmaa_job_template_s *template) {
    const char *file = json_string(answer->data, "option_file", ""), *prefix = json_string(answer->data, "script_prefix", "");
    struct text text = {0}, path = {0};
    if (*file) {
        if (read_file(file, FILE_MOST, false, &text) != FILE_READ)
            cannot_read(sources, file);
        text_field(files, file);
        if (!sources->code)
            add_text(files, sources, file, &text);
    } else if (*prefix) {
        script_path(&path, sources, template);
        if (!path.failed)
            add_script(body, sources, path.data, prefix);
    }
    body->failed |= path.failed || text.failed;
    text_free(&text);
    text_free(&path);
    return *file || *prefix;
}

/* Ask until nothing is missing any more. */
static int ask(struct session *session, struct sources *sources, struct text *body, const struct drmaa_job_template_s *template,
               struct text *fields) {
    struct text files = {0};
    int code = DRMAA_ERRNO_SUCCESS;
    bool wants = true, variables = false;
    for (int round = 0; wants && !code; round++) {
        struct text question = {0};
        struct answer answer;
        if (!variables && (speaks_of_variables(body->data) || (files.data && speaks_of_variables(files.data)))) {
            variables = true;
            add_environment(body, "environment");
        }
        text_add(&question, body->data, body->length);
        if (files.length)
            text_printf(&question, ",\"option_files\":{%s}", files.data);
        text_puts(&question, "}");
        question.failed |= body->failed || files.failed;
        if (recall(session, &question, fields)) {
            text_free(&question);
            break;
        }
        code = gdi_ask(&session->gdi, GDI_READS, "fold_options", &question, &answer, sources->diagnosis);
        if (!code && (answer.status || !answer.data || round > ROUNDS_MOST))
            code = fail(sources->diagnosis, DRMAA_ERRNO_DENIED_BY_DRM, "%s", answer.texts[0] ? answer.texts : "the options name too many files");
        if (!code) {
            const struct json *verifiers = json_get(answer.data, "verifiers"), *request = json_get(answer.data, "request");
            wants = add_wanted(body, &files, sources, &answer, template);
            code = sources->code;
            if (!code && !wants && verifiers && verifiers->first) {
                code = fail(sources->diagnosis, DRMAA_ERRNO_DENIED_BY_DRM,
                            "a library starts no verifier (-jsv %.200s): jsv_url of the configuration has the qmaster run it",
                            verifiers->first->kind == JSON_STRING ? verifiers->first->string : "");
            } else if (!code && !wants && request) {
                text_add(fields, request->raw, request->raw_length);
                remember(session, &question, fields);
            }
        }
        answer_free(&answer);
        text_free(&question);
    }
    text_free(&files);
    return code;
}

int options_fold(struct session *session, const struct drmaa_job_template_s *template, struct text *fields,
                 struct diagnosis diagnosis) {
    const char *home = getenv("HOME");
    struct sources sources = {&session->gdi.cell, home && *home ? home : "/", getcwd(NULL, 0), diagnosis, 0};
    struct text body = {0};
    describe(&body, &sources, template);
    int code = sources.code;
    if (!code && body.failed)
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    if (!code)
        code = ask(session, &sources, &body, template, fields);
    if (!code && fields->failed)
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    text_free(&body);
    free(sources.cwd);
    return code;
}
