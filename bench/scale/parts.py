"""The parts of a process's work, by samples: where its main thread is at each millisecond of processor time.

Owns the table of parts. A sample counts for the innermost frame whose file is in the table, so that what a part calls in
libraries counts with it. The handler of a signal runs between two bytecodes: a long call of C counts for its caller.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from types import FrameType

_INTERVAL_S = 0.001
PARTS = {
    "account": (
        "daemons/qmaster/spooling/followed_file", "daemons/qmaster/spooling/accounting",
        "daemons/qmaster/notifications/accounting",
    ),
    "commit": ("daemons/qmaster/spooling/",),
    "record": ("daemons/qmaster/notifications/", "daemons/qmaster/master.py"),
    "decide": ("daemons/qmaster/decide/", "daemons/qmaster/admit", "daemons/qmaster/effects", "daemons/qmaster/rules/"),
    "apply": ("gridengine/state/",),
    "decode": ("gridengine/protocols/",),
    "announce": ("daemons/qmaster/serve/streams/",),
    "schedule": ("daemons/qmaster/serve/scheduling", "daemons/qmaster/serve/cycle_pacing"),
    "deliver": ("daemons/qmaster/serve/hosts/",),
    "report": ("daemons/qmaster/serve/",),
    "calls": ("bench/scale/", "daemons/runtime/calls",),
}
"""Part -> beginnings of paths below the project; the first that fits counts."""
_ROOT = os.getcwd() + os.sep


class Sampler:
    """Samples of this process since `begin`. Uses ITIMER_PROF and SIGPROF."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._part_of: dict[str, str] = {}

    def begin(self) -> None:
        self._found.clear()
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)

    def end(self) -> dict[str, float]:
        """Share of the samples of each part, since `begin`."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        total = self._found.total() or 1
        return {part: round(count / total, 3) for part, count in self._found.most_common()}

    def _sample(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            if part := self._part(frame.f_code.co_filename):
                self._found[part] += 1
                return
            frame = frame.f_back
        self._found["event loop"] += 1

    def _part(self, path: str) -> str:
        """The part of a file; "" if it is none of the project's, or of no part."""
        if path not in self._part_of:
            inside = path.removeprefix(_ROOT)
            fits = (part for part, beginnings in PARTS.items() if inside.startswith(beginnings))
            self._part_of[path] = next(fits, "")
        return self._part_of[path]
