"""The scratch directory of a task (queue_conf(5) tmpdir, QC-19): made empty, removed with all in it.

The path is in a directory that everybody can write to, so nothing here follows a link that a user could have put there.
`make` and `remove` run with the effective ids of the job's owner; `remove` also as root, for what root's methods left.
"""

from __future__ import annotations

import os
import stat

_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make(path: str) -> None:
    """Make `path`, mode 0755, empty. What an earlier attempt of the same task left there is removed. Raises OSError."""
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise
        remove(path)
        os.mkdir(path, 0o755)
    os.chmod(path, 0o755)  # the umask of the launcher does not count


def make_for(path: str, uid: int, gid: int) -> None:
    """As `make`, by root for a user who may not write to the directory above, which is made where it is missing, too."""
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
            raise
        remove(path)
        os.mkdir(path, 0o700)
    descriptor = os.open(path, _OPEN_DIRECTORY)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():  # still the one that was just made
            os.fchmod(descriptor, 0o755)
            os.fchown(descriptor, uid, gid)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove `path` and all below it, leaving out what cannot be removed. Raises OSError only for `path` itself."""
    try:
        descriptor = os.open(path, _OPEN_DIRECTORY)
    except PermissionError:  # the job took its own rights away
        os.chmod(path, 0o700, follow_symlinks=False) if os.chmod in os.supports_follow_symlinks else os.chmod(
            path, 0o700
        )
        descriptor = os.open(path, _OPEN_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        _empty(descriptor)
    finally:
        os.close(descriptor)
    os.rmdir(path)


def _empty(directory: int) -> None:
    """Remove all entries of an open directory."""
    try:
        os.fchmod(directory, 0o700)
    except OSError:
        pass  # not ours: then the entries' removal tells whether it matters
    with os.scandir(directory) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in found:
        try:
            if is_directory:
                _remove_below(directory, name)
            else:
                os.unlink(name, dir_fd=directory)
        except OSError:
            continue


def _remove_below(parent: int, name: str) -> None:
    try:
        descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=parent)
    try:
        _empty(descriptor)
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=parent)
