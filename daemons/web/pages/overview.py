"""The overview: the cell at a glance, alarms, and the visitor's own jobs. Source: GU-4; qstat -g c."""

from __future__ import annotations

from typing import Any

from daemons.web.job_rows import JobFilter, JobRow
from daemons.web.mirror import MirroredChange
from daemons.web.pages.forms import tasks_in
from daemons.web.pages.page import Data, Page, Visit
from daemons.web.pages.states import INSTANCE, RESERVATION, silent_hosts
from gridengine.values.instance_name import host_of

OWN_JOBS = 10
_LONG_S = 86_400.0
_MOST_NAMED = 4
#: states of instances that need attention, the most severe first, with the text of the alarm
_STATES = {"E": "in error", "c": "with an ambiguous configuration", "o": "orphaned", "a": "in load alarm"}


async def overview(visit: Visit) -> Data:
    """Counts, cluster queues, alarms, and the visitor's jobs."""
    shared = visit.shared
    answer = await shared.read("status", {"cluster_queues": {}, "queues": {}, "reservations": {"users": ["*"]}}, visit.caller)
    status: Any = answer.data
    rows, counts = shared.jobs.select_rows(JobFilter())
    now = shared.mirror.now
    failed = [job for job in shared.mirror.state.finished if job.unsuccessful and now - job.end_time < _LONG_S]
    jobs = shared.mirror.state.jobs

    def start_of(row: JobRow) -> float:
        """The earliest start of the job (-a), epoch s."""
        return jobs[row.id].start_after if row.id in jobs else 0.0

    own = [row for row in rows if row.owner == visit.caller.user]
    return {
        "counts": counts,
        "late": sum(row.state == "qw" and now - max(row.time, start_of(row)) > _LONG_S for row in rows),
        "later": sum(row.state == "qw" and start_of(row) > now for row in rows),
        "queues": status["cluster_queues"],
        "alarms": [*_hosts(visit), *_instances(status["queues"]), *_reservations(status["reservations"]["reservations"])],
        "failed": failed[: -OWN_JOBS - 1 : -1],
        "failed_count": len(failed),
        "own": own[:OWN_JOBS],
        "own_count": len(own),
        "silent": silent_hosts(shared.mirror.state),
    }


def _hosts(visit: Visit) -> list[tuple[str, str, str, str]]:
    """Alarms on unreachable hosts, with the tasks there: (tone, title, text, address) each."""
    silent = sorted(silent_hosts(visit.shared.mirror.state))
    if not silent:
        return []
    tasks = tasks_in(visit, lambda instance: host_of(instance) in silent)
    text = _named(silent) + (f"; {tasks} there" if tasks else "")
    return [("bad", f"{_number(silent, 'host')} unreachable", text, "/hosts?state=u")]


def _instances(instances: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    alarms = []
    for state_code, text in _STATES.items():
        names = [each["name"] for each in instances if state_code in each["states"]]
        if names:
            tone = INSTANCE[state_code][1]
            alarms.append((tone, f"{_number(names, 'queue instance')} {text}", _named(names), f"/instances?state={state_code}"))
    return alarms


def _reservations(reservations: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    ill = [each for each in reservations if each["state"] in ("W", "E")]
    return [
        (RESERVATION[each["state"]][1], f"Reservation {each['id']}", each["errors"][0], f"/reservations/{each['id']}")
        for each in ill[:_MOST_NAMED]
    ]


def _number(names: list[str], noun: str) -> str:
    return f"{len(names)} {noun}" if len(names) == 1 else f"{len(names)} {noun}s"


def _named(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _concerns(change: MirroredChange) -> bool:
    """Whether a change concerns the overview. Loads change all the time: a load alarm appears with the next other change."""
    affected = change.affected
    return change.whole or affected.durable or bool(affected.lost or affected.returned or affected.jobs)


PAGES = [Page("/", "overview.html", overview, _concerns)]
