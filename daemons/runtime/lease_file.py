"""The time until which this host is the master, as a number that all processes of the host can read at any moment.

Owns the file `run_dir/lease`: that time and the epoch, written by the participant at each renewal of the lease, and mapped by the
actor of the qmaster, which checks it before each answer. The time is in a file and not in a message: a process that was
stopped for a while (SIGSTOP, swapping, a debugger) must know at once when it continues. Times are of CLOCK_BOOTTIME, which
counts sleep too. Source: adr/0146.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import time
from pathlib import Path

_UNTIL = struct.Struct("=dq")


def boottime() -> float:
    """Seconds since this machine was booted, time asleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LeaseFile:
    """The file of this host; created if it does not exist. Raises OSError."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size != _UNTIL.size:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, _UNTIL.pack(-math.inf, 0), 0)
            self._map = mmap.mmap(descriptor, _UNTIL.size)
        finally:
            os.close(descriptor)

    def extend(self, until: float, epoch: int) -> None:
        """Set the time until which this host is the master, and the epoch; -inf and 0 if it is not."""
        self._map[:] = _UNTIL.pack(until, epoch)

    def epoch(self) -> int:
        """The epoch in which this host is the master, 0 if it is not."""
        return int(_UNTIL.unpack(self._map[:])[1])

    def is_leader(self) -> bool:
        """Whether this host is the master at this moment."""
        return boottime() < float(_UNTIL.unpack(self._map[:])[0])
