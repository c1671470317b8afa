"""The log outside of the cell: requests with their users and answers, and the faults meanwhile.

Defines the form of an entry and the clock of the whole run, seconds since boot, which all hosts of the test bed share and no
process sets. Written by `load` and `faults` from many threads, read by `verdict`.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


def now() -> float:
    """Seconds since boot, as /proc/uptime tells jobs."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(slots=True)
class Request:
    """A command of a user: its kind `what`, its `job` (0: none), the times of the request and of the answer.

    `sure`: the cell has acknowledged it; otherwise it may have been carried out all the same. `more`: details of the request.
    """

    what: str
    user: str
    asked: float
    answered: float
    sure: bool
    job: int = 0
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Broken:
    """A fault with its start and end."""

    begin: float
    end: float
    text: str
    host: str


class Journal:
    """All requests and faults, in memory and in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.requests: list[Request] = []
        self.broken: list[Broken] = []
        self._file = path.open("w")
        self._lock = threading.Lock()

    def add(self, entry: Request) -> None:
        with self._lock:
            self.requests.append(entry)
            self._write(entry)

    def add_fault(self, entry: Broken) -> None:
        with self._lock:
            self.broken.append(entry)
            self._write(entry)

    def submitted(self, kind: str = "") -> list[Request]:
        """Acknowledged submissions so far."""
        with self._lock:
            return [each for each in self.requests if each.what == "submit" and each.sure and kind in ("", each.more["kind"])]

    def _write(self, entry: Request | Broken) -> None:
        self._file.write(json.dumps({"type": type(entry).__name__, **asdict(entry)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
