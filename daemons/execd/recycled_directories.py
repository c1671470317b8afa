"""Directories of tasks that are over, kept for tasks to come with their files in them.

Why: ext4 gives no inode away again for five minutes after a deletion, and looks at all such before each new file. On a host
whose tasks are short that look is most of what a task costs (adr/0155). A kept file bears the name under which the next
shepherd, or the execd, writes it anew from its first byte; nothing reads it before that. Only what every task has is kept.
Blocking file work. Called by `active_jobs`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gridengine.task_file import DRAFT

#: directories that are kept at most: 40 kB each
MAX_DIRECTORIES = 128
_WRITTEN_IN_PLACE = frozenset(("config", "execd"))
_BY_RENAME = frozenset(("trace", "exit", "job_pid", "addgrpid", "cgroup", "scratch"))
_EXIT = "exit"  # how the last task ended, and where it wrote
_LINKS = frozenset(("pid",))  # a link to what is the shepherd's own
_ORDINARY = _WRITTEN_IN_PLACE | _BY_RENAME | _LINKS | {f"{name}{DRAFT}" for name in _BY_RENAME}


def take(recycled: Path, directory: Path) -> bool:
    """Make a spare directory the one at `directory`, where there is none; False: there is no spare one."""
    try:
        with os.scandir(recycled) as entries:
            entry = next(entries, None)
        if entry is None:
            return False
        os.rename(entry.path, directory)
    except OSError:
        return False
    return True


def keep(recycled: Path, directory: Path) -> None:
    """Put the directory of a task that is over aside, or remove it if it has more in it than others, or enough are there."""
    try:
        with os.scandir(directory) as entries:
            names = {entry.name for entry in entries}
        if not names <= _ORDINARY or len(os.listdir(recycled)) >= MAX_DIRECTORIES:
            raise OSError
        for name in names & _BY_RENAME:
            os.rename(directory / name, directory / f"{name}{DRAFT}")
        if _EXIT in names:
            os.chmod(directory / f"{_EXIT}{DRAFT}", 0o600)  # a shepherd of an earlier release has left it open to all
        for name in names & _LINKS:
            os.unlink(directory / name)
        os.rename(directory, recycled / directory.name)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)


def overwrite(path: Path, data: bytes) -> None:
    """Write a file of root's alone, in place of what a spare directory has there. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
