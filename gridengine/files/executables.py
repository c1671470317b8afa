"""Execution of a file like execvp(3): /bin/sh runs a file that the kernel cannot execute, as a script.

Used for all methods, verifiers, load sensors, mailers and editors: administrators and users test these files in a shell, which
does the same. A shell gets the path of the file and its arguments, never a text.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import NoReturn, TypeVar

    _Process = TypeVar("_Process")

_SHELL = "/bin/sh"


def execute(path: str, argv: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Become the program at `path`, which is looked up in PATH if it has no slash. Raises OSError, ValueError."""
    try:
        os.execvpe(path, list(argv), environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    os.execve(_SHELL, _for_shell(path, argv, environment), environment)


def start(begin: Callable[[list[str]], _Process], argv: Sequence[str]) -> _Process:
    """`begin(argv)`, which starts a process by execve(2), as with `subprocess.Popen`. Raises OSError."""
    try:
        return begin(list(argv))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    return begin(_for_shell(argv[0], argv, os.environ))


def spawn(argv: Sequence[str]) -> int:
    """Start a program with the environment and the open files of this process; its process id. Raises OSError."""
    return start(lambda command: os.posix_spawnp(command[0], command, os.environ), argv)


async def start_soon(begin: Callable[[list[str]], Awaitable[_Process]], argv: Sequence[str]) -> _Process:
    """The same for `asyncio.create_subprocess_exec`. Raises OSError."""
    try:
        return await begin(list(argv))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    return await begin(_for_shell(argv[0], argv, os.environ))


def _for_shell(path: str, argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    if "/" not in path:
        candidates = (os.path.join(directory, path) for directory in os.get_exec_path(environment))
        path = next((file for file in candidates if os.access(file, os.X_OK) and not os.path.isdir(file)), path)
    return [_SHELL, path, *argv[1:]]
