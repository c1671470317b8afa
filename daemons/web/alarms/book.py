"""The book of alarms: which alarms are active, since when, acknowledged by which user, and which ended.

Owns the delays at begin and end, the numbers, the acknowledgements, the history, the notices that wait for the webhook, and the
file that keeps all of them over a restart. Without the file nothing is acknowledged. Source: adr/0280.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from daemons.web.alarms.rules import SEVERITIES, Alarm, Severity
from gridengine.errors import plain_fault
from gridengine.files.durable import durable_write

_log = logging.getLogger(__name__)

KEPT = 500
"""Ended alarms in the history."""
HOLD_S = 30.0
"""Seconds for which a condition must hold before its alarm begins, and be gone before its alarm ends, by default."""
MAX_UNSENT = 200
"""Notices that wait for the webhook; a new notice replaces the oldest."""


class AlarmAcknowledgement(Struct):
    """The acknowledgement of an alarm by a user. `note`: their remark, `word` in JSON."""

    user: str
    time: float
    note: str = msgspec.field(name="word")


class AlarmEntry(Struct):
    """One occurrence of an `alarm`. `number`: its id. Times are epoch s: `seen`: the condition was first found; `begin`, `end`:
    of the alarm, 0 before; `gone`: the condition has been absent since then, 0 while it holds.

    `since`: start of the condition; `acknowledged`: None before; `notified`: a notice of its begin was made.
    """

    number: int
    alarm: Alarm
    seen: float
    since: float
    begin: float = 0.0
    end: float = 0.0
    gone: float = 0.0
    acknowledged: AlarmAcknowledgement | None = None
    notified: bool = False

    def public(self) -> dict[str, Any]:
        """The alarm in JSON, for programs."""
        alarm, known = self.alarm, self.acknowledged
        fields = {name: getattr(alarm, name) for name in ("rule", "severity", "subject", "cause", "step", "command")}
        times = {"since": self.since, "begin": self.begin, "end": self.end or None}
        by = None if known is None else {"user": known.user, "time": known.time, "word": known.note}
        return {"id": self.number, **fields, **times, "acknowledged": by}


class BookUpdate(NamedTuple):
    """The alarms that began (`begun`) and ended (`ended`) in an update of the book."""

    begun: list[AlarmEntry]
    ended: list[AlarmEntry]


class _File(Struct):
    """The content of the file: `active` and ended alarms (`history`). `last`: the highest number so far; `unsent`: notices for
    the webhook, oldest first."""

    last: int = 0
    active: list[AlarmEntry] = []
    history: list[AlarmEntry] = []
    unsent: list[dict[str, Any]] = []


class AlarmBook:
    """All alarms of one web server. `path`: of the file, None to keep nothing; `hold_s`: the delay at begin and end.

    `version`: changes with each change of an active alarm. `unsent`: notices for the webhook, oldest first.
    """

    def __init__(self, path: Path | None = None, hold_s: float = HOLD_S) -> None:
        self._path, self._hold_s = path, hold_s
        self._lock = asyncio.Lock()
        kept = _read(path) if path is not None else _File()
        self._last = kept.last
        self._entries = {(each.alarm.rule, each.alarm.subject): each for each in kept.active}
        self._history: deque[AlarmEntry] = deque(kept.history, maxlen=KEPT)
        self.unsent: deque[dict[str, Any]] = deque(kept.unsent, maxlen=MAX_UNSENT)
        self.version = 0

    @property
    def active(self) -> list[AlarmEntry]:
        """The active alarms: in the order of their rules, the longest first."""
        return [each for each in self._entries.values() if each.begin]

    @property
    def history(self) -> list[AlarmEntry]:
        """The ended alarms, the newest first."""
        return list(reversed(self._history))

    @property
    def badge(self) -> tuple[int, str]:
        """The number of alarms without an acknowledgement, and the tone of the most severe (`pages.states`)."""
        waiting = [each.alarm.severity for each in self.active if each.acknowledged is None]
        worst: Severity = min(waiting, key=SEVERITIES.index, default="info")
        return len(waiting), TONES[worst]

    def counts(self) -> Counter[tuple[str, str]]:
        """The number of active alarms by rule and severity."""
        return Counter((each.alarm.rule, each.alarm.severity) for each in self.active)

    def update(self, alarms: Sequence[Alarm], now: float, complete: bool = True) -> BookUpdate:
        """Take over the present `alarms` at the time `now` (epoch s): begin and end the alarms that are due.

        `complete`: False if not all rules were evaluated: then no alarm ends.
        """
        present = {(alarm.rule, alarm.subject): alarm for alarm in alarms}
        changes = BookUpdate([], [])
        entries: dict[tuple[str, str], AlarmEntry] = {}
        for key, alarm in present.items():
            entry = entries[key] = self._entries.get(key) or AlarmEntry(0, alarm, now, alarm.since or now)
            self._hold(entry, alarm, now, changes)
        for key, entry in self._entries.items():
            if key not in present and (not complete or self._remains(entry, now)):
                entries[key] = entry
            elif key not in present and entry.begin:
                entry.end = now
                self._history.append(entry)
                changes.ended.append(entry)
                self.version += 1
        self._entries = entries
        return changes

    def _hold(self, entry: AlarmEntry, alarm: Alarm, now: float, changes: BookUpdate) -> None:
        """Note that a condition holds; begin its alarm if it has held long enough."""
        entry.gone, entry.seen = 0.0, min(entry.seen, now)  # the clock may have been set back
        if entry.alarm != alarm:
            entry.alarm = alarm
            self.version += bool(entry.begin)
        if not entry.begin and now - entry.seen >= self._hold_s:
            self._last += 1
            entry.number, entry.begin = self._last, now
            changes.begun.append(entry)
            self.version += 1

    def _remains(self, entry: AlarmEntry, now: float) -> bool:
        """Note that a condition is gone. Whether its alarm stays active for now."""
        entry.gone = min(entry.gone or now, now)
        return bool(entry.begin) and now - entry.gone < self._hold_s

    def find(self, number: int) -> AlarmEntry | None:
        """The active alarm of this number."""
        return next((each for each in self.active if each.number == number), None)

    async def acknowledge(self, entries: Sequence[AlarmEntry], user: str, note: str, now: float) -> None:
        """Note that a user knows these alarms, in the file too. Raises OSError; nothing is acknowledged then."""
        before = [each.acknowledged for each in entries]
        for each in entries:
            each.acknowledged = AlarmAcknowledgement(user, now, note)
        try:
            await self.save()
        except OSError:
            for each, known in zip(entries, before, strict=True):
                each.acknowledged = known
            raise
        self.version += 1

    async def save(self) -> None:
        """Write the file, in a thread. Raises OSError."""
        if self._path is None:
            return
        async with self._lock:  # the later content must be written last
            kept = _File(self._last, self.active, list(self._history), list(self.unsent))
            await asyncio.to_thread(durable_write, self._path, msgspec.json.encode(kept))


TONES: dict[Severity, str] = {"critical": "bad", "warning": "warn", "info": "off"}
"""Tones of the severities in the style sheet."""


def _read(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        return _File()
    except (OSError, msgspec.DecodeError) as error:
        _log.warning("cannot read %s: no alarm is acknowledged: %s", path, plain_fault(error))
        return _File()
