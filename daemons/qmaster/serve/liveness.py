"""Liveness of the parts of the qmaster, for qping and the statistics of MONITOR_TIME.

Owns the time of the last activity of each part, and the counts of activities. The parts have the names of the threads of 8.1.9
that do their work. Called by the loops of `service`, by the GDI server and by the request `ping`. Source: qping(1), sge_conf(5)
MONITOR_TIME; QP-1, QP-2.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from daemons.qmaster.decision import World
from gridengine.state.state import State

MAIN, TIMER, WORKER, EVENTS, LISTENER, SCHEDULER = "MAIN timer000 worker000 event_master000 listener000 scheduler000".split()
_PERIODIC = frozenset((MAIN, TIMER, EVENTS))
"""Parts that are active even without requests: only their inactivity is an error."""
WARNING_S, ERROR_S = 10.0, 60.0
_LEVEL_NAMES = ("OK", "WARNING", "ERROR")


class Liveness:
    """Of one qmaster. `clock`: monotonic, in s. `reading`, `writing`: requests that are being answered, and answers that
    wait for the disk; `connections`: the number of open connections."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.start = time.time()
        self.port = 0
        self.reading = 0
        self.writing: Callable[[], int] = lambda: 0
        self.connections: Callable[[], int] = lambda: 0
        began = clock()
        self._last_activity = dict.fromkeys((MAIN, TIMER, WORKER, EVENTS, LISTENER, SCHEDULER), began)
        self._counts: Counter[str] = Counter()
        self._counted_since = began
        self._statistics = ""
        self._daemons: dict[str, tuple[str, float]] = {}

    def known_since(self, host: str, process: str, now: float) -> float:
        """Since when the current daemon process of a host is known."""
        known, since = self._daemons.get(host, ("", 0.0))
        if known != process:
            known, since = self._daemons[host] = (process, now)
        return since

    def note_activity(self, part: str) -> None:
        """A part has done its work, or has checked that there is none."""
        self._last_activity[part] = self._clock()
        self._counts[part] += 1

    @contextmanager
    def request(self) -> Iterator[None]:
        """A request is being answered inside of this block."""
        self.note_activity(LISTENER)
        self.reading += 1
        try:
            yield
        finally:
            self.reading -= 1

    def info(self) -> tuple[int, str]:
        """(0: all parts are active, 1: a part is late, 2: much too late; the line of all parts with seconds since activity)."""
        now = self._clock()
        worst, texts = 0, []
        for part, then in self._last_activity.items():
            late = now - then
            level = (late > WARNING_S) + (late > ERROR_S) if part in _PERIODIC else 0
            worst = max(worst, level)
            texts.append(f"{part}: {'RWE'[level]} ({late:.2f})")
        return worst, " | ".join((*texts, _LEVEL_NAMES[worst]))

    def statistics(self, interval_s: float) -> str:
        """The line to log: activities of each part in the last interval; "" before its end, and if it is 0."""
        now = self._clock()
        passed = now - self._counted_since
        if not interval_s:
            self._counts.clear()
            self._counted_since, self._statistics = now, ""
            return ""
        if passed < interval_s:
            return ""
        self._statistics = " | ".join(f"{part}: runs: {self._counts[part] / passed:.2f}r/s" for part in self._last_activity)
        self._counts.clear()
        self._counted_since = now
        return self._statistics

    def answer(self) -> dict[str, object]:
        """The status for qping. `start`: epoch s; `run`: s."""
        status, info = self.info()
        return {
            "name": "qmaster",
            "start": self.start,
            "run": max(0.0, time.time() - self.start),
            "reading": max(0, self.reading - 1),  # without the ping itself
            "writing": self.writing(),
            "clients": self.connections(),
            "status": status,
            "info": info,
            "monitor": self._statistics,
        }


def ping_answer(state: State, liveness: Liveness, body: Mapping[str, Any], host: str | None, world: World) -> dict[str, object]:
    """The status of a daemon that qping names, `host` by its unique name; {} if there is none of this cell."""
    if host is None:
        return {}
    if body["name"] == "execd" and state.has("exec_host", host):
        return _exec_host(state, liveness, host, world.now)
    if host == world.master_host and body["port"] in (liveness.port, 0):
        return liveness.answer()
    return {}


def _exec_host(state: State, liveness: Liveness, host: str, now: float) -> dict[str, object]:
    """The status of an exec host by its reports: since when its daemon is known, and the age of the last report."""
    known = state.hosts.get(host)
    if known is None or not known.up:
        return {}
    silent = max(0.0, now - known.last_heard)
    level = int(silent > state.configuration(host).max_unheard_s / 2)
    start = liveness.known_since(host, known.execd, now - silent)
    return {
        "name": "execd",
        "start": start,
        "run": now - start,
        "reading": 0,
        "writing": len(known.abandoned),
        "clients": len(state.tasks_on.get(host, ())),
        "status": level,
        "info": f"sge_execd_process_messages: {'RW'[level]} ({silent:.2f}) | {_LEVEL_NAMES[level]}",
        "monitor": "",
    }
