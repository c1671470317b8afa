"""Reaction of a program to errors of its standard output: a full disk, a reader that has gone.

Owns the exit status and the message of that, for all programs that print. Must import next to nothing. Called by the commands,
by `clients.utilbin` and by all programs that typer runs.
"""

import errno
import os
import sys

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_BROKEN_PIPE = 141
#: errors of a write to a full or broken disk
_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def is_write_error(error: BaseException) -> bool:
    """Whether this is a write error of standard output; an error with a file name belongs to another file."""
    return isinstance(error, OSError) and not error.filename and (
        isinstance(error, BrokenPipeError) or error.errno in _WRITE_ERRORS
    )


def flush_output(status: int) -> int:
    """Write the buffers of a program that has printed everything, and return its exit status."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # the caller closed it
                stream.flush()
    except OSError as error:
        return handle_write_error(error)
    return status


def handle_write_error(error: OSError) -> int:
    """The exit status after a write error: 141 without a message if the reader has gone, otherwise 1 and the reason.

    The rest of the buffer must not be written again. Deviation: 8.1.9 is silent and exits with 0.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return EXIT_BROKEN_PIPE
    try:
        os.write(2, f"write error: {error.strerror}\n".encode())
    except OSError:
        pass  # stderr leads to the same file
    return 1


def with_output_check(main: "Callable[[], int]") -> "Callable[[], int]":
    """The program with an exit status that reports whether its whole output was written."""

    def run() -> int:
        try:
            return flush_output(main())
        except SystemExit as end:
            # typer ends a program by SystemExit, also when the reader of its output has gone
            if isinstance(end.__context__, BrokenPipeError):
                return handle_write_error(end.__context__)
            if isinstance(end.code, str):
                raise
            return flush_output(end.code or 0)
        except OSError as error:
            if not is_write_error(error):
                raise
            return handle_write_error(error)

    return run
