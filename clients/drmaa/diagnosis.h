/* How a call tells its program what is wrong: a code of the standard, and a sentence in the program's buffer. */
#ifndef DRMAA_DIAGNOSIS_H
#define DRMAA_DIAGNOSIS_H

#include <stddef.h>

#include "drmaa.h"

/* Only what has this mark can be seen from outside of the library. */
#define EXPORTED __attribute__((visibility("default")))

struct diagnosis {
    char *text; /* of the program; may be NULL */
    size_t room;
};

/* Leave a sentence, by NULL the usual one for the code, and return the code. */
int fail(struct diagnosis diagnosis, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Nothing is wrong: the buffer gets an empty text. */
int succeed(struct diagnosis diagnosis);

#endif
