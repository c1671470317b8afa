"""Standard input, output and error of a process of the task.

Called in the new process, with the effective ids of the job's owner, so that a user cannot reach files of others.
Output is appended to what is there, as 8.1.9 does: a rerun keeps what the first run wrote. Deviation: what a method writes
into a pipe of the user's is lost; there its end, and the job's slots, would be in his hands.
"""

from __future__ import annotations

import errno
import os
import stat

from shepherd.plan import Output


class OpenError(Exception):
    """A file could not be opened; the text is the reason for the user (failed code 26)."""


def open_files(output: Output, environment: dict[str, str], stdin: int | None, of_job: bool = True) -> tuple[int, int, int]:
    """Open the three files and say in `environment` where output goes. `stdin`: an open descriptor to use instead.
    `of_job`: False for a method, which no pipe of the user's may hold up.

    Source: sge_submit(1) -i -o -e -j (SO-12); SGE_STDOUT_PATH, SGE_STDERR_PATH (EN-1). Raises OpenError.
    """
    if stdin is None:
        stdin = _open(output.stdin, os.O_RDONLY, "input")
    stdout_path = _file_in(output.stdout, output.default_stdout)
    stdout = _open_output(stdout_path, "output", of_job)
    environment["SGE_STDOUT_PATH"] = stdout_path
    if output.stderr is None:
        environment["SGE_STDERR_PATH"] = stdout_path
        return stdin, stdout, stdout
    stderr_path = _file_in(output.stderr, output.default_stderr)
    environment["SGE_STDERR_PATH"] = stderr_path
    stderr = stdout if stderr_path == stdout_path else _open_output(stderr_path, "error", of_job)
    return stdin, stdout, stderr


def install(stdin: int, stdout: int, stderr: int) -> None:
    """Make the descriptors 0, 1 and 2 of this process."""
    for number, descriptor in enumerate([os.dup(stdin), os.dup(stdout), os.dup(stderr)]):
        os.dup2(descriptor, number, inheritable=True)


def _file_in(path: str, default_name: str | None) -> str:
    return os.path.join(path, default_name) if default_name and os.path.isdir(path) else path


def _open_output(path: str, what: str, of_job: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    if of_job:
        return _open(path, flags, what)
    try:
        descriptor = _open(path, flags | os.O_NONBLOCK, what)
    except OpenError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ENXIO:
            return _open(os.devnull, flags, what)
        raise
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return _open(os.devnull, flags, what)
    os.set_blocking(descriptor, True)
    return descriptor


def _open(path: str, flags: int, what: str) -> int:
    try:
        return os.open(path, flags | os.O_NOCTTY, 0o666)
    except OSError as error:
        raise OpenError(f'can\'t open {what} file "{path}": {error.strerror}') from error
