#include "job_table.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { ROOM_AT_FIRST = 64 };

static uint64_t key_of(struct task task) { return (uint64_t)task.job << 32 | task.number; }

static struct task task_of(uint64_t key) { return (struct task){(uint32_t)(key >> 32), (uint32_t)key}; }

static size_t place_of(uint64_t key, size_t room) { return (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (room - 1); }

/* The slot of a key, or the free one where it belongs. */
static struct slot *slot_of(const struct job_table *table, uint64_t key) {
    size_t place = place_of(key, table->room);
    while (table->slots[place].key && table->slots[place].key != key)
        place = (place + 1) & (table->room - 1);
    return &table->slots[place];
}

static bool grow(struct job_table *table) {
    struct job_table larger = *table;
    larger.room = table->room ? 2 * table->room : ROOM_AT_FIRST;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t place = 0; place < table->room; place++)
        if (table->slots[place].key)
            *slot_of(&larger, table->slots[place].key) = table->slots[place];
    free(table->slots);
    *table = larger;
    return true;
}

/* The slot of a task, made where there is none; NULL without memory. */
static struct slot *slot_for(struct job_table *table, struct task task) {
    if (2 * (table->used + 1) > table->room && !grow(table))
        return NULL;
    struct slot *slot = slot_of(table, key_of(task));
    if (!slot->key) {
        slot->key = key_of(task);
        table->used++;
    }
    return slot;
}

static struct slot *find(const struct job_table *table, struct task task) {
    struct slot *slot = table->room ? slot_of(table, key_of(task)) : NULL;
    return slot && slot->key && slot->standing != STANDING_NONE ? slot : NULL;
}

void job_table_free(struct job_table *table) {
    for (size_t place = 0; place < table->room; place++)
        free(table->slots[place].end);
    free(table->slots);
    *table = (struct job_table){0};
}

enum standing job_table_look(const struct job_table *table, struct task task, struct end **end) {
    struct slot *slot = find(table, task);
    if (end)
        *end = slot ? slot->end : NULL;
    /* an end that came before its task is known is nobody's */
    if (slot && slot->end && !slot->end->known)
        return STANDING_NONE;
    return slot ? slot->standing : STANDING_NONE;
}

static void link_end(struct job_table *table, struct end *end) {
    end->known = end->listed = true;
    end->previous = table->last;
    end->next = NULL;
    *(table->last ? &table->last->next : &table->first) = end;
    table->last = end;
}

static void unlink_end(struct job_table *table, struct end *end) {
    *(end->previous ? &end->previous->next : &table->first) = end->next;
    *(end->next ? &end->next->previous : &table->last) = end->previous;
}

static bool note(struct job_table *table, struct task task, enum standing standing) {
    struct slot *slot = slot_for(table, task);
    if (!slot)
        return false;
    if (slot->end && !slot->end->known) {
        if (standing == STANDING_LIVE)
            link_end(table, slot->end);
        slot->end->known = true;
    } else if (slot->standing != STANDING_LIVE && slot->standing != STANDING_ENDED) {
        table->live += standing == STANDING_LIVE;
        slot->standing = standing; /* a number that was reaped may come again, after ten million jobs */
    }
    return true;
}

bool job_table_live(struct job_table *table, struct task task) { return note(table, task, STANDING_LIVE); }

bool job_table_asked(struct job_table *table, struct task task) { return note(table, task, STANDING_ASKED); }

void job_table_unknown(struct job_table *table, struct task task) {
    struct slot *slot = find(table, task);
    if (slot && slot->standing == STANDING_ASKED)
        slot->standing = STANDING_NONE;
}

static struct end *make_end(struct task task, const struct json *usage) {
    size_t room = 0, count = 0;
    for (const struct json *item = usage ? usage->first : NULL; item; item = item->next)
        if (item->kind == JSON_STRING)
            room += strlen(item->string) + 1;
    struct end *end = malloc(sizeof *end + room);
    if (!end)
        return NULL;
    *end = (struct end){.task = task};
    char *to = end->usage;
    for (const struct json *item = usage ? usage->first : NULL; item; item = item->next) {
        if (item->kind != JSON_STRING)
            continue;
        to = stpcpy(to, item->string) + 1;
        count++;
    }
    end->usage_count = count;
    return end;
}

bool job_table_end(struct job_table *table, struct task task, enum outcome outcome, int status, bool done,
                   const struct json *usage) {
    struct slot *slot = slot_for(table, task);
    if (!slot)
        return false;
    if (slot->standing == STANDING_ENDED || slot->standing == STANDING_REAPED)
        return true;
    struct end *end = make_end(task, usage);
    if (!end)
        return false;
    end->outcome = outcome;
    end->status = status;
    end->done = done;
    end->known = slot->standing != STANDING_NONE;
    if (slot->standing == STANDING_LIVE)
        link_end(table, end);
    table->live -= slot->standing == STANDING_LIVE;
    slot->standing = STANDING_ENDED;
    slot->end = end;
    return true;
}

struct end *job_table_reap(struct job_table *table, struct task task) {
    struct slot *slot = find(table, task);
    if (!slot || !slot->end || !slot->end->known)
        return NULL;
    struct end *end = slot->end;
    if (end->listed)
        unlink_end(table, end);
    slot->end = NULL;
    slot->standing = STANDING_REAPED;
    return end;
}

void job_table_each(struct job_table *table, enum standing standing, uint32_t job, bool (*each)(struct task, void *), void *of) {
    for (size_t place = 0; place < table->room; place++) {
        struct slot *slot = &table->slots[place];
        struct task task = task_of(slot->key);
        if (!slot->key || slot->standing != standing || (job && task.job != job) || (slot->end && !slot->end->known))
            continue;
        if (!each(task, of))
            break;
    }
}

static int by_number(const void *first, const void *second) {
    uint32_t one = *(const uint32_t *)first, other = *(const uint32_t *)second;
    return (one > other) - (one < other);
}

void job_table_jobs(const struct job_table *table, struct text *list) {
    uint32_t *jobs = malloc((table->used + 1) * sizeof *jobs);
    size_t count = 0;
    for (size_t place = 0; jobs && place < table->room; place++) {
        const struct slot *slot = &table->slots[place];
        if (slot->key && (slot->standing == STANDING_LIVE || slot->standing == STANDING_ASKED))
            jobs[count++] = task_of(slot->key).job;
    }
    list->failed |= !jobs;
    if (jobs)
        qsort(jobs, count, sizeof *jobs, by_number);
    text_add(list, "[", 1);
    for (size_t at = 0; at < count; at++)
        if (!at || jobs[at] != jobs[at - 1])
            text_printf(list, "%s%u", at ? "," : "", jobs[at]);
    text_add(list, "]", 1);
    free(jobs);
}
