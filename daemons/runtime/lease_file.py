"""Until when this host is the master, as a number that all processes of the host can read at any moment.

Owns the file `run_dir/lease`: that number and the epoch, written by the seat as often as its lease is renewed, mapped by the
qmaster's actor, which asks before each answer that it gives. A file, not a message: who was stopped for a while (SIGSTOP,
swapping, a debugger) must know at once when he goes on. Times are of CLOCK_BOOTTIME, which counts sleep, too. Source: adr/0146.
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
    """Seconds since this machine was booted, those in which it slept among them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LeaseFile:
    """The file of this host; made where there is none. Raises OSError."""

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
        """Say until when this host is the master, and in which epoch; -inf and 0 that it is not."""
        self._map[:] = _UNTIL.pack(until, epoch)

    def epoch(self) -> int:
        """The epoch in which this host is the master, 0 if it is not."""
        return int(_UNTIL.unpack(self._map[:])[1])

    def is_leader(self) -> bool:
        """Whether this host is the master at this moment."""
        return boottime() < float(_UNTIL.unpack(self._map[:])[0])
