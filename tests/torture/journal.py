"""The log outside of the cell: what was asked, by whom, what was answered, and what was broken meanwhile.

Owns the shape of an entry and the clock of the whole play, seconds since boot, which all hosts of the test bed share and
nobody steps. Written by `load` and `faults` from many threads, read by `verdict`.
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
class Said:
    """A command of a user: `what` he wanted, of which `job` (0: none), when he asked and had the answer.

    `sure`: the cell has acknowledged it. Without that it may have been carried out all the same. `more`: what was asked for.
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
    """A fault, from when until when."""

    begin: float
    end: float
    text: str
    host: str


class Journal:
    """All that was said and broken, in memory and in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.said: list[Said] = []
        self.broken: list[Broken] = []
        self._file = path.open("w")
        self._lock = threading.Lock()

    def say(self, entry: Said) -> None:
        with self._lock:
            self.said.append(entry)
            self._write(entry)

    def broke(self, entry: Broken) -> None:
        with self._lock:
            self.broken.append(entry)
            self._write(entry)

    def submitted(self, kind: str = "") -> list[Said]:
        """Acknowledged submissions so far."""
        with self._lock:
            return [each for each in self.said if each.what == "submit" and each.sure and kind in ("", each.more["kind"])]

    def _write(self, entry: Said | Broken) -> None:
        self._file.write(json.dumps({"type": type(entry).__name__, **asdict(entry)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
