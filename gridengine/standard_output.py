"""What a program does when its standard output takes no more: a full disk, a reader that has gone.

Owns that answer, for all programs that print. Must import next to nothing. Called by the commands, by `clients.utilbin` and
by all programs that typer runs.
"""

import errno
import os
import sys

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_BROKEN_PIPE = 141
#: what a full or broken disk answers a writer
_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def is_write_error(error: BaseException) -> bool:
    """Whether this is what a writer gets whose file takes no more; a file that a name is given for is not standard output."""
    return isinstance(error, OSError) and not error.filename and (
        isinstance(error, BrokenPipeError) or error.errno in _WRITE_ERRORS
    )


def flushed(status: int) -> int:
    """The exit status of a program that has printed everything, when what is left in its buffers is written as well."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # the caller closed it
                stream.flush()
    except OSError as error:
        return write_failed(error)
    return status


def write_failed(error: OSError) -> int:
    """The exit status when stdout takes no more: 141 without a word if its reader has gone, otherwise 1 and the reason.

    What is left in the buffer must not be tried again. Deviation: 8.1.9 is silent and exits with 0.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return EXIT_BROKEN_PIPE
    try:
        os.write(2, f"write error: {error.strerror}\n".encode())
    except OSError:
        pass  # stderr leads to the same place
    return 1


def checked(main: "Callable[[], int]") -> "Callable[[], int]":
    """A program with an exit status that says whether all that it printed was written."""

    def run() -> int:
        try:
            return flushed(main())
        except SystemExit as end:
            # typer ends a program so, also when the reader of its output has gone
            if isinstance(end.__context__, BrokenPipeError):
                return write_failed(end.__context__)
            if isinstance(end.code, str):
                raise
            return flushed(end.code or 0)
        except OSError as error:
            if not is_write_error(error):
                raise
            return write_failed(error)

    return run
