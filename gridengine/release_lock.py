"""The lock of an installed release: programs that run from it share the lock, one that removes it holds the lock alone.

Users may read the file and cannot write it. A lock of this kind (by record, of the open file) is shared by readers and had alone
by writers only, so that no user keeps a daemon or a shepherd from starting; flock(2) asks nobody for the right to write.
Called by `shepherd.release`, `daemons.runtime.release` and `clients.admin.releases`. Source: fcntl(2), docs/adr/0149.
"""

from __future__ import annotations

import fcntl
import os
import struct


def share_release(descriptor: int) -> bool:
    """Hold the lock with others until the last copy of this open file is closed; never waits. False: it is being removed."""
    return _set(descriptor, fcntl.F_RDLCK)


def have_release_alone(descriptor: int) -> bool:
    """Hold the lock of a file that was opened for writing; False when something runs from the release."""
    return _set(descriptor, fcntl.F_WRLCK)


def _set(descriptor: int, kind: int) -> bool:
    """Raises OSError: the file system knows no locks, or the file was not opened for this."""
    whole_file = struct.pack("hhqqi", kind, os.SEEK_SET, 0, 0, 0)  # struct flock
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole_file)
    except (BlockingIOError, PermissionError):
        return False
    return True
