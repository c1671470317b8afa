/* The cell that a session is of: its files that a program reads, and where its sockets are. Source: architecture.md 3, 4. */
#ifndef DRMAA_CELL_H
#define DRMAA_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "diagnosis.h"
#include "text.h"

struct cell {
    char *common; /* $SGE_ROOT/$SGE_CELL/common */
    char *run_dir;
};

/* The cell of SGE_ROOT and SGE_CELL. */
int cell_open(struct cell *cell, struct diagnosis diagnosis);
void cell_close(struct cell *cell);

/* How long a master that is away is waited for, ms: longer where another host would take over. */
int cell_patience_ms(const struct cell *cell);

/* Why nobody answers, for the program. */
int cell_unreachable(const struct cell *cell, struct diagnosis diagnosis);

enum file_read { FILE_READ, FILE_ABSENT, FILE_FAULTY };

/* Read a file of at most `most` bytes; where that fails errno says why, EFBIG where it is longer. `own`: passed over
 * (FILE_ABSENT) if anybody but this user and root can have written it. */
enum file_read read_file(const char *path, size_t most, bool own, struct text *text);

/* Milliseconds of a clock that is never set. */
int64_t now_ms(void);

#endif
