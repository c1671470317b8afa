"""The scratch directory of a task (queue_conf(5) tmpdir, QC-19): made empty, removed with all in it.

The path is in a directory that all users can write to, so nothing here follows a link that a user could have put there. A
path that belongs to another user is not used: the task gets another path. `make` and `remove` run with the effective ids of
the job's owner; `make_for` and `remove` also as root, where the owner lacks the rights and for files that root's methods
left.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, count

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 16
_PATIENCE_S = 600.0  # time that removing may take; the rest stays then


Note = Callable[..., None]
"""`note(path)` before a directory is made there, `note(path, inode)` when it is."""


def make(path: str, note: Note) -> str:
    """Make `path`, mode 0700, empty, or where it is taken `path.XXXXXXXX`; returns which. Raises OSError.

    The remains of an earlier attempt of the same task are removed. Deviation: 8.1.9 lets others read it (0755).
    """
    return _make_at_free_path(path, os.geteuid(), note)


def make_for(path: str, uid: int, gid: int, note: Note) -> str:
    """As `make`, by root for a user who may not write to the directory above, which is made where it is missing, too."""
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    made = _make_at_free_path(path, uid, note)
    descriptor = os.open(made, os.O_RDONLY | _DIRECTORY)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():  # still the directory that was just made
            os.fchown(descriptor, uid, gid)
    finally:
        os.close(descriptor)
    return made


def _make_at_free_path(path: str, owner: int, note: Note) -> str:
    for target in chain([path], (f"{path}.{os.urandom(4).hex()}" for _ in range(_ATTEMPTS))):
        with suppress(OSError):
            remove(target, owner)
        try:
            note(target)
            os.mkdir(target, 0o700)
            note(target, os.lstat(target).st_ino)
            return target
        except FileExistsError as error:
            taken = error
    raise taken


def remove(path: str, owner: int, inode: int | None = None) -> None:
    """`inode`: of the directory to be removed, which another host may have replaced by its own; 0 when the inode is not
    known: then only an empty directory is removed.

    `inode`: of the directory to be removed, which another host may have replaced by its own; 0 when it is not known: then
    only an empty directory is removed. Raises OSError for `path` itself: the path is another directory, does not belong to
    the owner (or root), or could not be removed.
    """
    try:
        target = os.open(path, os.O_PATH | _DIRECTORY)
    except FileNotFoundError:
        return
    try:
        status = os.fstat(target)
        if status.st_uid not in (owner, 0):
            raise PermissionError(errno.EPERM, "it belongs to another user")
        if inode and status.st_ino != inode:
            raise FileExistsError(errno.EEXIST, "it is another directory")
        if inode != 0:
            _empty(target)
    finally:
        os.close(target)
    os.rmdir(path)


def _empty(top: int) -> None:
    """Remove the contents of a directory.

    A subdirectory is removed after its own subdirectories have been moved to the top: neither the stack nor the number of open
    files grows with the depth, and no path is longer than a name.
    """
    until = time.monotonic() + _PATIENCE_S
    prefix, numbers = f".{os.urandom(8).hex()}", count()
    stuck: set[str] = set()
    while entries := [entry for entry in _entries(top) if entry[0] not in stuck]:
        for name, is_directory in entries:
            if time.monotonic() > until:
                return
            try:
                if is_directory:
                    _remove_lifting(name, top, lambda: f"{prefix}.{next(numbers)}")
                else:
                    os.unlink(name, dir_fd=top)
            except OSError:
                stuck.add(name)


def _remove_lifting(name: str, top: int, new_name: Callable[[], str]) -> None:
    """Remove a directory at the top; its subdirectories are moved to the top."""
    target = os.open(name, os.O_PATH | _DIRECTORY, dir_fd=top)
    try:
        for below, is_directory in _entries(target):
            with suppress(OSError):
                if is_directory:
                    _permit(below, target)
                    os.rename(below, new_name(), src_dir_fd=target, dst_dir_fd=top)
                else:
                    os.unlink(below, dir_fd=target)
    finally:
        os.close(target)
    os.rmdir(name, dir_fd=top)


def _permit(name: str, parent: int) -> None:
    """A directory that its owner may not write to cannot be moved."""
    target = os.open(name, os.O_PATH | _DIRECTORY, dir_fd=parent)
    try:
        os.chmod(_path_of(target), 0o700)
    finally:
        os.close(target)


def _entries(target: int) -> list[tuple[str, bool]]:
    """The entries of a directory, held by an O_PATH descriptor: names, and whether each is a directory. Its owner gets the
    rights to read and change it, which the job may have removed."""
    with suppress(OSError):
        os.chmod(_path_of(target), 0o700)  # of another owner: then scandir fails if that matters
    with os.scandir(_path_of(target)) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _path_of(target: int) -> str:
    """A path to the directory that the descriptor holds, even if it was renamed or replaced."""
    return f"/proc/self/fd/{target}"
