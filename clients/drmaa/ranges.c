#include "ranges.h"

#include <stdlib.h>

struct range {
    uint64_t low, high, step;
};

/* The part at `*at`, which moves behind it; false at the end, or where there is no part. */
static bool next_part(const char **at, struct range *part) {
    char *end;
    part->low = part->high = strtoull(*at, &end, 10);
    part->step = 1;
    if (end == *at)
        return false;
    if (*end == '-')
        part->high = strtoull(end + 1, &end, 10);
    if (*end == ':')
        part->step = strtoull(end + 1, &end, 10);
    *at = *end == ',' ? end + 1 : end;
    return part->step && part->high <= UINT32_MAX;
}

bool ranges_have(const char *ranges, uint32_t number) {
    struct range part;
    while (next_part(&ranges, &part))
        if (number >= part.low && number <= part.high && (number - part.low) % part.step == 0)
            return true;
    return false;
}

bool ranges_each(const char *ranges, bool (*each)(uint32_t number, void *of), void *of) {
    struct range part;
    while (next_part(&ranges, &part))
        for (uint64_t number = part.low; number <= part.high; number += part.step)
            if (!each((uint32_t)number, of))
                return false;
    return true;
}
