"""Locks on files: one process of a machine at a time; the kernel releases the lock of a process that dies.

Called by the pid files of `daemon`, by `ports` and by the gateway of sge_execd. Source: flock(2).
"""

from __future__ import annotations

import fcntl


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process alone; False when another process has the lock. Closing the file releases it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
