"""Recycled directories of tasks that have ended, kept with their files for later tasks.

Reason: ext4 does not reuse an inode for five minutes after a deletion, and scans all such inodes before each new file. On a
host whose tasks are short that scan is most of the cost of a task (adr/0155). A recycled file has the name under which the
next shepherd, or the execd, overwrites it from its first byte; no process reads the file before that. Only files that every
task has are kept. Blocking file work. Called by `active_jobs`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gridengine.protocols.task_file import DRAFT

#: the most directories that are kept: 40 kB each
MAX_DIRECTORIES = 128
_WRITTEN_IN_PLACE = frozenset(("config", "execd"))
_BY_RENAME = frozenset(("trace", "exit", "job_pid", "addgrpid", "cgroup", "scratch"))
_EXIT = "exit"  # the end of the last task, and its output paths
_LINKS = frozenset(("pid",))  # a hard link to a file of the shepherd
_ORDINARY = _WRITTEN_IN_PLACE | _BY_RENAME | _LINKS | {f"{name}{DRAFT}" for name in _BY_RENAME}


def take(recycled: Path, directory: Path) -> bool:
    """Move a recycled directory to `directory`, which must not exist. Returns False when there is no recycled directory."""
    try:
        with os.scandir(recycled) as entries:
            entry = next(entries, None)
        if entry is None:
            return False
        os.rename(entry.path, directory)
    except OSError:
        return False
    return True


def recycle(recycled: Path, directory: Path) -> None:
    """Recycle the directory of a task that has ended, or remove it if it has unusual files in it, or enough are there."""
    try:
        with os.scandir(directory) as entries:
            names = {entry.name for entry in entries}
        if not names <= _ORDINARY or len(os.listdir(recycled)) >= MAX_DIRECTORIES:
            raise OSError
        for name in names & _BY_RENAME:
            os.rename(f"{directory}/{name}", f"{directory}/{name}{DRAFT}")
        if _EXIT in names:
            os.chmod(f"{directory}/{_EXIT}{DRAFT}", 0o600)  # a shepherd of an earlier release has left it open to all
        for name in names & _LINKS:
            os.unlink(f"{directory}/{name}")
        os.rename(directory, recycled / directory.name)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)


def overwrite(path: Path, data: bytes) -> None:
    """Write a file for root alone, over the file of a recycled directory. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
