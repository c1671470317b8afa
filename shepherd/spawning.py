"""Starting a process of the task without a copy of the shepherd: posix_spawn(3), which shares the shepherd's pages until exec.

The shepherd itself takes the steps that posix_spawn cannot take in the new process: before the call it sets the owner's
directory, umask and limits; for the call alone, the cgroup of the job, and the owner's groups and real ids, which
POSIX_SPAWN_RESETIDS makes the only ids of the new process. Effective and saved user id of the shepherd stay root's. Called by
`process`, which decides when this is possible. Source: adr/0122.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from shepherd import limits
from shepherd.containment import Containment
from shepherd.identity import Identity, as_user, real_ids
from shepherd.plan import Run
from shepherd.process_tree import end_on_failure, kill_after
from shepherd.standard_files import OpenError, close_files, open_files

#: far more than the start of a program of the system takes; a shepherd that is blocked there for longer ends
_LONGEST_START_S = 60.0


def spawn(
    run: Run,
    environment: dict[str, str],
    owner: Identity,
    contained: Containment,
    location: tuple[str, int],
    ignored: Sequence[int],
) -> int | None:
    """Start the process of a step as the job's owner; None: the start failed, and the start as a copy will find the reason.
    `location`: working directory and umask; `ignored`: signals that get their default action.
    """
    directory, umask = location
    files: tuple[int, ...] = ()
    try:
        with _preserve_directory_and_umask(), limits.borrowed(run.limits, run.last):
            os.umask(umask)
            script = run.command.script_on_stdin
            stdin = None if script is None else os.open(script, os.O_RDONLY)
            with as_user(owner):
                os.chdir(directory)
                files = open_files(run.output, environment, stdin, run.name == "job", may_block=False)
            visited = contained.visited() if run.name == "job" else nullcontext()
            with kill_after(_LONGEST_START_S), visited, real_ids(owner, contained.gid):
                return os.posix_spawn(
                    run.command.executable,
                    run.command.argv,
                    environment,
                    file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(files)],
                    resetids=True,
                    setsid=True,
                    setsigmask=(),
                    setsigdef=ignored,
                )
    except (OSError, OpenError, ValueError, OverflowError, MemoryError):
        return None
    finally:
        close_files(files)


@contextmanager
def _preserve_directory_and_umask() -> Iterator[None]:
    """Restore directory and umask of this process after the block."""
    location, umask = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC), os.umask(0o077)
    try:
        yield
    finally:
        with end_on_failure():
            os.umask(umask)
            os.fchdir(location)
            os.close(location)
