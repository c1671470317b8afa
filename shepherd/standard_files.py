"""Standard input, output and error of a process of the task.

Called in the new process, with the effective ids of the job's owner, so that a user cannot reach files of other users.
Output is appended to existing files, as in 8.1.9: a rerun keeps the output of the first run. Deviation: output of a method
to a pipe of the user is lost; else the reader of the pipe could block the method, and keep the job's slots.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from contextlib import suppress

from gridengine.errors import GridEngineError
from shepherd.plan import Output


class OpenError(GridEngineError):
    """A file could not be opened; the text is the reason for the user (failed code 26)."""


def open_files(
    output: Output, environment: dict[str, str], stdin: int | None, of_job: bool = True, may_block: bool = True
) -> tuple[int, int, int]:
    """Open the three files and set the paths of output in `environment`. `stdin`: an open descriptor to use instead.
    `of_job`: False for a method, which no pipe of the user may block. `may_block`: False allows only plain files and
    /dev/null, since opening a pipe or a device may block.

    Source: sge_submit(1) -i -o -e -j (SO-12); SGE_STDOUT_PATH, SGE_STDERR_PATH (EN-1). Raises OpenError.
    """
    opened = [] if stdin is None else [stdin]
    try:
        if stdin is None:
            opened.append(_open(output.stdin, os.O_RDONLY, "input", may_block))
        stdout_path = file_in(output.stdout, output.default_stdout)
        _check_differs_from_input(opened[0], stdout_path, "output")
        opened.append(_open_output(stdout_path, "output", of_job, may_block))
        stderr_path = stdout_path if output.stderr is None else file_in(output.stderr, output.default_stderr)
        _check_differs_from_input(opened[0], stderr_path, "error")
        same = stderr_path == stdout_path
        opened.append(opened[1] if same else _open_output(stderr_path, "error", of_job, may_block))
    except OpenError:
        close_files(opened)
        raise
    environment |= {"SGE_STDOUT_PATH": stdout_path, "SGE_STDERR_PATH": stderr_path}
    return opened[0], opened[1], opened[2]


def _check_differs_from_input(stdin: int, path: str, what: str) -> None:
    """Refuse a file that is both read and written: such a file is lost, or fills the disk. Raises OpenError. Source: O."""
    held = os.fstat(stdin)
    with suppress(OSError):  # there is none yet
        if stat.S_ISREG(held.st_mode) and os.path.samestat(held, os.stat(path)):
            raise OpenError(f'input (-i) and {what} are the same file "{path}"')


def close_files(files: Collection[int]) -> None:
    """Close the files; errors of a file server concern their writers."""
    for descriptor in set(files):
        with suppress(OSError):
            os.close(descriptor)


def install(stdin: int, stdout: int, stderr: int) -> None:
    """Make the descriptors 0, 1 and 2 of this process."""
    for number, descriptor in enumerate([os.dup(stdin), os.dup(stdout), os.dup(stderr)]):
        os.dup2(descriptor, number, inheritable=True)


def file_in(path: str, default_name: str | None) -> str:
    """The file of a path: within a directory the one of the default name. As the job's owner."""
    return os.path.join(path, default_name) if default_name and os.path.isdir(path) else path


def _open_output(path: str, what: str, of_job: bool, may_block: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    if of_job or not may_block:
        return _open(path, flags, what, may_block)
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


def _open(path: str, flags: int, what: str, may_block: bool = True) -> int:
    try:
        if may_block or path == os.devnull:
            return os.open(path, flags | os.O_NOCTTY, 0o666)
        return _open_plain(path, flags | os.O_NOCTTY)
    except OSError as error:
        raise OpenError(f'can\'t open {what} file "{path}": {error.strerror}') from error


def _open_plain(path: str, flags: int) -> int:
    """Open a plain file. Raises OSError for any other, without opening it: the other end of a pipe would notice."""
    try:
        plain = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        plain = bool(flags & os.O_CREAT)
    if not plain:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(descriptor, True)
    return descriptor
