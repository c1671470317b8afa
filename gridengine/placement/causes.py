"""Causes: why a pending job does not start, by kind, the longest lasting first.

Owns the kinds, their order and their sentences, and the advice for the user of the request. Called by
`gridengine.placement.explanation`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import Literal

from msgspec import Struct, field

from gridengine.placement.pending import job_waits, paused_tasks, ready_tasks, task_limit_reached, user_limit
from gridengine.placement.reasons import Reason
from gridengine.placement.reserved import reservation_waits
from gridengine.placement.unit_occupants import reason_text, units_lacking_in_reservation
from gridengine.state.dependencies import blocked_tasks
from gridengine.state.jobs import Hold, Job
from gridengine.state.state import State
from gridengine.usage.failed import readable_reason
from gridengine.values.instance_name import host_of
from gridengine.values.units import format_moment

KINDS = (
    "error", "hold", "dependency", "start_time", "reservation", "limit", "never",
    "away", "load", "quota", "calendar", "kept", "queue", "busy",
)
"""Kinds of causes, the longest lasting first. `never`: no queue instance would accept the job even in an empty cluster;
`away`: hosts are unreachable; `load`: no host reports such values now."""
Asker = Literal["operator", "owner", "other"]
"""The user of the request: only actions that they may take are advised."""
_QUEUE_STATES = frozenset(
    ("disabled", "drained", "suspended", "preempted", "in_error_state", "ambiguous", "orphaned", "overloaded", "suspend_alarm")
)
EXAMPLES = 5
"""Reasons that are listed for each kind; further reasons are counted."""
#: message of the shepherd -> option of the request that caused it
_REQUESTS = {
    "can't open output file": "-o PATH",
    "can't open error file": "-e PATH",
    "can't open input file": "-i PATH",
    "can't chdir to": "-wd DIRECTORY",
    "unable to find shell": "-S SHELL",
}
_TEXTS = {
    "away": "suitable hosts are unreachable",
    "load": "no host reports the requested resources now",
    "quota": "blocked by resource quota",
    "calendar": "suitable queues are closed by their calendars",
    "kept": "requested resources are reserved",
    "queue": "suitable queues are unavailable",
    "busy": "requested resources are in use",
}


class Cause(Struct, omit_defaults=True):
    """A kind of cause: a sentence, some of its `reasons`, and their number `count`; `holders`: some of the tasks that hold the
    missing resource, and their number `holder_count`."""

    kind: str
    text: str
    reasons: list[str] = field(default_factory=list)
    count: int = 0
    holders: list[str] = field(default_factory=list)
    holder_count: int = 0


def sort_causes(causes: list[Cause]) -> list[Cause]:
    """Sort causes by kind."""
    return sorted(causes, key=lambda cause: KINDS.index(cause.kind))


def causes_of_job(state: State, job: Job, now: float, asker: Asker = "operator") -> list[Cause]:
    """Causes that do not depend on queue instances."""
    causes = []
    errors = sorted({error for error in (job.error, *(task.error for task in job.tasks.values())) if error})
    if errors:
        what = "it cannot be scheduled" if job.error else f"{'tasks' if job.is_array else 'it'} could not be started"
        advice = f" ({_remedy(job, errors)})" if asker != "other" else ""
        shown = [readable_reason(error) for error in errors[:EXAMPLES]]
        causes.append(Cause("error", f"{what}{advice}", shown, len(errors)))
    causes += [_hold(job, Hold(kind), f" (tasks {tasks})" if job.is_array else "", asker) for kind, tasks in job.holds.items()]
    if waits := state.waits_for(job):
        ends = {"ok": "must succeed", "fail": "must fail"}
        texts = [f"job {other} {ends.get(job.conditions.get(other, ''), 'must end')}" for other in waits]
        causes.append(Cause("dependency", "it waits for other jobs", texts[:EXAMPLES], len(texts)))
    if tasks := blocked_tasks(state, job):
        others = ",".join(str(other) for other in job.array_predecessors if other in state.jobs)
        causes.append(Cause("dependency", f"tasks {tasks & job.pending} wait for tasks of job {others}"))
    if job.start_after > now:
        causes.append(Cause("start_time", "its start time (-a) is not reached"))
    if paused := paused_tasks(job, now):
        text = f"it pauses for some seconds: its last {paused[0].short_tries} attempts ended within a minute each"
        causes.append(Cause("start_time", text, sorted({task.mishap for task in paused if task.mishap})[:EXAMPLES]))
    if job.ar and (waiting := reservation_waits(state, job)):
        causes.append(Cause("reservation", waiting.clause))
    elif job.waits and (lacking := units_lacking_in_reservation(state, job)):
        text = f"all units of {lacking} that its reservation still has are in use"
        causes.append(Cause("reservation", text))
    limits = (task_limit_reached(state, job), user_limit(state, job))
    if next(ready_tasks(state, job, now), None) is not None and job_waits(state, job, now) is None:
        causes += [Cause("limit", limit.clause) for limit in limits if limit is not None]
    return causes


def _remedy(job: Job, errors: list[str]) -> str:
    """Return the commands that clear the error state of a job; first the command that changes the request at fault, if any."""
    option = next((option for message, option in _REQUESTS.items() if any(message in error for error in errors)), "")
    return f"qalter {option} {job.id}, then qmod -cj {job.id}" if option else f"once that is corrected: qmod -cj {job.id}"


def _hold(job: Job, kind: Hold, which: str, asker: Asker) -> Cause:
    """A hold, and the users who may release it. Source: qhold(1) -h."""
    name = str(kind.name).lower()
    text = f"it has {'an' if kind == Hold.OPERATOR else 'a'} {name} hold{which}"
    if asker == "operator" or (asker == "owner" and kind == Hold.USER):
        return Cause("hold", f"{text} (qrls -h {name[0]} {job.id} takes it off)")
    by = "its owner" if kind == Hold.USER else "an operator" if kind == Hold.OPERATOR else "a manager"
    return Cause("hold", f"{text}, which {by} can take off")


def causes_of_instances(state: State, reasons: Iterable[Reason], reported: set[str], zone: tzinfo) -> list[Cause]:
    """Current reasons of queue instances that could run the job. zone: of the times."""
    kinds: dict[str, list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault(_kind(reason, reported), []).append(reason)
    away = kinds.pop("away", [])
    hosts = list(dict.fromkeys(host_of(reason.place) for reason in away))
    last_reports = [_last_report(state, host, zone) for host in hosts[:EXAMPLES]]
    silent = [Cause("away", _TEXTS["away"], last_reports, len(hosts))] if away else []
    return silent + [group_reasons(state, kind, _TEXTS[kind], found) for kind, found in kinds.items()]


def _last_report(state: State, name: str, zone: tzinfo) -> str:
    host = state.hosts.get(name)
    if host is None or not host.last_heard:
        return f'host "{name}" has never reported: gridengine start there'
    return f'host "{name}": nothing heard since {format_moment(host.last_heard, zone)}'


def _kind(reason: Reason, reported: set[str]) -> str:
    code = reason.code
    if code == "unavailable":
        return "away"
    if code.endswith("_offers") and reason.resource in reported:
        return "load"
    if code in ("quota", "kept"):
        return code
    if code in ("calendar", "off_time"):
        return "calendar"
    return "queue" if code in _QUEUE_STATES else "busy"


def group_reasons(state: State, kind: str, text: str, reasons: list[Reason]) -> Cause:
    """Make one cause of many reasons: a reason of each code first, so a thousand hosts with one code do not hide another code."""
    first: dict[str, Reason] = {}
    for reason in reasons:
        first.setdefault(reason.code, reason)
    shown = [*first.values(), *(reason for reason in reasons if reason not in first.values())]
    return Cause(kind, text, [reason_text(state, reason) for reason in shown[:EXAMPLES]], len(reasons))
