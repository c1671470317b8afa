"""The lock of an installed release: shared by programs that run from it, exclusive for a program that removes it.

Users may read the file and cannot write it. A record lock of the open file can be shared by readers, and exclusive for writers
only, so that no user keeps a daemon or a shepherd from starting; flock(2) does not require the right to write.
Called by `shepherd.release`, `daemons.runtime.release` and `clients.admin.releases`. Source: fcntl(2), docs/adr/0149.
"""

from __future__ import annotations

import fcntl
import os
import struct


def lock_release_shared(descriptor: int) -> bool:
    """Take the shared lock until the last copy of this open file is closed, without waiting. False: the release is being removed.
    """
    return _set_lock(descriptor, fcntl.F_RDLCK)


def lock_release_exclusively(descriptor: int) -> bool:
    """Take the exclusive lock of a file that is open for writing. False: a program runs from the release."""
    return _set_lock(descriptor, fcntl.F_WRLCK)


def _set_lock(descriptor: int, kind: int) -> bool:
    """Set the lock; False if it is taken. Raises OSError: the file system has no locks, or the open file's mode does not fit."""
    whole_file = struct.pack("hhqqi", kind, os.SEEK_SET, 0, 0, 0)  # struct flock
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole_file)
    except (BlockingIOError, PermissionError):
        return False
    return True
