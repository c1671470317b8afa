#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 4000, PATIENCE_TAKE_OVER_MS = 30000, BOOTSTRAP_MOST = 65536 };

/* Whether the group of a file is its owner's alone by its name and number, as systems with the umask 002 have one for each user. */
static bool is_private_group(const struct stat *found) {
    char owners_names[4096], groups_names[4096];
    struct passwd owner, *known_owner = NULL;
    struct group group, *known_group = NULL;
    if (getpwuid_r(found->st_uid, &owner, owners_names, sizeof owners_names, &known_owner) || !known_owner)
        return false;
    if (getgrgid_r(found->st_gid, &group, groups_names, sizeof groups_names, &known_group) || !known_group)
        return false;
    if (owner.pw_gid != group.gr_gid || strcmp(owner.pw_name, group.gr_name))
        return false;
    for (char **member = group.gr_mem; *member; member++)
        if (strcmp(*member, owner.pw_name))
            return false;
    return true;
}

static bool may_be_anybodys(const struct stat *found) {
    if (found->st_uid != geteuid() && found->st_uid != 0)
        return true;
    if (S_ISLNK(found->st_mode))
        return false;
    return found->st_mode & S_IWOTH || (found->st_mode & S_IWGRP && !is_private_group(found));
}

enum file_read read_file(const char *path, size_t most, bool own, struct text *text) {
    struct stat found;
    if (own && (lstat(path, &found) || may_be_anybodys(&found)))
        return FILE_ABSENT;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return errno == ENOENT || errno == ENOTDIR ? FILE_ABSENT : FILE_FAULTY;
    enum file_read outcome = FILE_READ;
    if (fstat(descriptor, &found)) {
        outcome = FILE_FAULTY;
    } else if (own && (may_be_anybodys(&found) || !S_ISREG(found.st_mode))) {
        outcome = FILE_ABSENT;
    }
    char buffer[16384];
    text_add(text, "", 0); /* an empty file is an empty text */
    while (outcome == FILE_READ) {
        ssize_t count = read(descriptor, buffer, sizeof buffer);
        if (count == 0)
            break;
        if (count > 0)
            text_add(text, buffer, (size_t)count);
        else if (errno != EINTR)
            outcome = FILE_FAULTY;
        if (text->length > most || text->failed) {
            errno = text->failed ? ENOMEM : EFBIG;
            outcome = FILE_FAULTY;
        }
    }
    int reason = errno;
    close(descriptor);
    errno = reason;
    return outcome;
}

/* The value of a line `key value`; NULL without one. */
static char *setting(char *text, const char *key) {
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *within = NULL, *word = strtok_r(line, " \t\r", &within);
        if (!word || strcmp(word, key))
            continue;
        char *value = within + strspn(within, " \t");
        size_t length = strlen(value);
        while (length && strchr(" \t\r", value[length - 1]))
            value[--length] = '\0';
        return length ? value : NULL;
    }
    return NULL;
}

int cell_open(struct cell *cell, struct diagnosis diagnosis) {
    const char *root = getenv("SGE_ROOT"), *name = getenv("SGE_CELL");
    *cell = (struct cell){0};
    if (!root || !*root)
        return fail(diagnosis, DRMAA_ERRNO_DRMS_INIT_FAILED, "SGE_ROOT is not set: load the settings.sh of a cell first");
    struct text path = {0}, bootstrap = {0};
    text_printf(&path, "%s/%s/common", root, name && *name ? name : "default");
    cell->common = path.failed ? NULL : strdup(path.data);
    text_puts(&path, "/bootstrap");
    int code = DRMAA_ERRNO_SUCCESS;
    if (!cell->common || path.failed) {
        code = fail(diagnosis, DRMAA_ERRNO_NO_MEMORY, NULL);
    } else if (read_file(path.data, BOOTSTRAP_MOST, false, &bootstrap) != FILE_READ) {
        code = fail(diagnosis, DRMAA_ERRNO_DRMS_INIT_FAILED, "no cell there: cannot read %s: %s", path.data, strerror(errno));
    } else {
        char *run_dir = setting(bootstrap.data, "run_dir");
        cell->run_dir = run_dir ? strdup(run_dir) : NULL;
        if (!cell->run_dir)
            code = fail(diagnosis, DRMAA_ERRNO_DRMS_INIT_FAILED, "%s does not say run_dir", path.data);
    }
    text_free(&path);
    text_free(&bootstrap);
    if (code)
        cell_close(cell);
    return code;
}

void cell_close(struct cell *cell) {
    free(cell->common);
    free(cell->run_dir);
    *cell = (struct cell){0};
}

int cell_patience_ms(const struct cell *cell) {
    struct text path = {0};
    struct stat found;
    text_printf(&path, "%s/shadow_masters", cell->common);
    bool taken_over = !path.failed && !stat(path.data, &found);
    text_free(&path);
    return taken_over ? PATIENCE_TAKE_OVER_MS : PATIENCE_MS;
}

int cell_unreachable(const struct cell *cell, struct diagnosis diagnosis) {
    struct text path = {0}, host = {0};
    text_printf(&path, "%s/act_qmaster", cell->common);
    if (path.failed || read_file(path.data, BOOTSTRAP_MOST, false, &host) != FILE_READ || !host.length)
        text_puts(&host, "unknown");
    if (host.data)
        host.data[strcspn(host.data, " \r\n")] = '\0';
    int code = fail(diagnosis, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE,
                    "unable to contact the qmaster on host \"%s\": neither it nor a gateway answers on this host",
                    host.data ? host.data : "unknown");
    text_free(&path);
    text_free(&host);
    return code;
}

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
