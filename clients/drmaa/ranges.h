/* Sets of tasks as texts: `1-4,7,9-20:2`. */
#ifndef DRMAA_RANGES_H
#define DRMAA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

bool ranges_have(const char *ranges, uint32_t number);

/* Call with each number until `each` returns false, which is then the result. */
bool ranges_each(const char *ranges, bool (*each)(uint32_t number, void *of), void *of);

#endif
