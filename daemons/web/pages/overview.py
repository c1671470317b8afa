"""The overview: urgent alarms, present and past use of the cell, the next day, and the jobs of the visitor.

Source: GU-4; qstat -g c; adr/0280, adr/0290.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from daemons.web.alarms.book import TONES, AlarmEntry
from daemons.web.alarms.rules import SEVERITIES
from daemons.web.job_rows import JobFilter, JobRow
from daemons.web.mirror import MirroredChange
from daemons.web.pages.coming_day import coming_events
from daemons.web.pages.page import Data, Page, Visit
from daemons.web.pages.states import silent_hosts
from daemons.web.pages.trends import trend_panel
from gridengine.state.hosts import HostDrain
from gridengine.state.state import State

OWN_JOBS, MAX_ALARMS, MAX_EVENTS = 10, 6, 10
"""Rows of the panels at most."""
_LONG_S = 86_400.0


class CellUse(NamedTuple):
    """Slots of all queue instances: `used`, `reserved` and not used, `free`, and `down`: the rest of `total`."""

    used: int
    reserved: int
    free: int
    down: int
    total: int


async def overview(visit: Visit) -> Data:
    """Alarms, counts, use, cluster queues, coming events, and the visitor's jobs."""
    shared = visit.shared
    state, now = shared.mirror.state, shared.mirror.now
    status: Any = (await shared.read("status", {"cluster_queues": {}}, visit.caller)).data
    rows, counts = shared.jobs.select_rows(JobFilter())
    late, later = _late_and_later(shared.jobs.select_rows(JobFilter(state="waiting")).rows, state, now)
    failed = [job for job in state.finished if job.unsuccessful and now - job.end_time < _LONG_S]
    own = [row for row in rows if row.owner == visit.caller.user]
    alarms, events, drained = _by_urgency(shared.alarms.active), coming_events(state, now, shared.zone), _drained(visit)
    return trend_panel(visit) | {
        "alarms": alarms[:MAX_ALARMS], "alarm_count": len(alarms), "tones": TONES,
        "counts": counts,
        "late": late, "later": later,
        "queues": status["cluster_queues"],
        "use": _use(status["cluster_queues"]),
        "events": events[:MAX_EVENTS], "event_count": len(events),
        "drained": drained[:MAX_EVENTS], "drained_count": len(drained),
        "failed": failed[: -OWN_JOBS - 1 : -1], "failed_count": len(failed),
        "own": own[:OWN_JOBS], "own_count": len(own),
        "silent": silent_hosts(state),
        "trend_title": "How full the cell was",
    }


def _late_and_later(rows: Sequence[JobRow], state: State, now: float) -> tuple[int, int]:
    """The numbers of rows that have been waiting for long, and that start later (-a)."""
    late = later = 0
    for row in rows:
        if row.state == "qw":
            start = state.jobs[row.id].start_after
            late += now - max(row.time, start) > _LONG_S
            later += start > now
    return late, later


def _by_urgency(entries: Sequence[AlarmEntry]) -> list[AlarmEntry]:
    """The alarms without an acknowledgement first, by severity, the longest first."""
    return sorted(entries, key=lambda each: (each.acknowledged is not None, SEVERITIES.index(each.alarm.severity), each.since))


def _use(queues: Sequence[dict[str, Any]]) -> CellUse:
    used, reserved, free, total = (sum(row[name] for row in queues) for name in ("used", "resv", "available", "total"))
    reserved = min(reserved, max(0, total - used))
    free = max(0, min(free - reserved, total - used - reserved))
    return CellUse(used, reserved, free, max(0, total - used - reserved - free), total)


def _drained(visit: Visit) -> list[tuple[str, HostDrain]]:
    """The drained hosts, the last first."""
    hosts = visit.shared.mirror.state.hosts.values()
    drained = [(host.name, host.drained) for host in hosts if host.drained is not None]
    return sorted(drained, key=lambda each: -each[1].time)


def _concerns(change: MirroredChange) -> bool:
    """Whether a change concerns the overview. Changes of loads are left to plots and alarms."""
    affected = change.affected
    return change.whole or affected.durable or bool(affected.lost or affected.returned or affected.jobs)


PAGES = [Page("/", "overview.html", overview, _concerns, has_alarms=True)]
