"""Explanation: all that keeps a pending job from starting, ranked; what change would let it start; when it may start.

Owns the ranking, the search for the smallest change and the estimate. Every question goes to the rules that place jobs, so
an explanation cannot disagree with the scheduler. Called by the reading request `explain_job` (qexplain).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec
from msgspec import Struct, field

from gridengine.placement.pending import job_waits, paused_tasks, ready_tasks, running_tasks, task_limit, user_limit
from gridengine.placement.reasons import Reason
from gridengine.placement.reserved import reservation_waits
from gridengine.placement.verify import Verifier, verify
from gridengine.ranges import parse_slot_ranges
from gridengine.state.dependencies import blocked_tasks
from gridengine.state.jobs import Hold, Job, Task
from gridengine.state.state import State
from gridengine.syntax.calendar import ON, next_change
from gridengine.units import INFINITY, parse_time

KINDS = (
    *("error", "hold", "dependency", "start_time", "reservation", "limit", "never"),
    *("load", "quota", "calendar", "kept", "queue", "busy"),
)
"""Kinds of causes, the ones that will last longest first. `never`: no place would take the job even if nothing ran;
`load`: no host reports such values now."""
_QUEUE_STATES = frozenset(("disabled", "suspended", "unavailable", "in_error_state", "ambiguous", "orphaned", "overloaded"))
EXAMPLES = 5
"""Reasons that are kept of each kind; the others are counted."""


class Cause(Struct, omit_defaults=True):
    """One kind of cause: a sentence, some of the reasons behind it, and how many there are."""

    kind: str
    text: str
    reasons: list[str] = field(default_factory=list)
    count: int = 0


class Change(Struct, omit_defaults=True):
    """The smallest change that lets the job start: sentences, and the options of qalter that make it ("" if none can)."""

    texts: list[str]
    options: str = ""
    now: bool = False


class Explanation(Struct, omit_defaults=True):
    """`change.now`: the job could start at once. `expected_start`: epoch s, 0 where it cannot be known."""

    causes: list[Cause]
    change: Change | None = None
    expected_start: float = 0.0


def explanation(state: State, job: Job, now: float, zone: tzinfo = UTC) -> Explanation:
    """Why the waiting tasks of a job wait. now: epoch seconds. Without causes: the next cycle will start it."""
    causes = _of_the_job(state, job, now)
    if job.error:
        return Explanation(_ranked(causes))  # no place can be sought for what the scheduler cannot handle
    ever, why_never = verify(state, job, True, now, zone)
    reported = _reported(state, why_never)
    if not ever and reported:
        # what hosts report may come to be enough
        ever, why_never = verify(state, _without(job, [("hard", name) for name in reported]), True, now, zone)
    if not ever and not job.ar:
        causes.append(_grouped("never", "no place in the cluster can ever run it as it is requested", why_never))
        return Explanation(_ranked(causes), smallest_change(state, job, now, True, zone))
    current, why_not = verify(state, job, False, now, zone)
    if current:
        timed = all(cause.kind == "start_time" for cause in causes)
        return Explanation(_ranked(causes), None, _not_before(job, now) if timed else 0.0)
    causes += _by_kind(why_not, reported)
    change = smallest_change(state, job, now, False, zone)
    blocked = any(cause.kind in ("error", "hold", "dependency", "reservation", "limit") for cause in causes)
    if blocked:
        return Explanation(_ranked(causes), change)
    expected = _opening(state, why_not, now, zone) or expected_start(state, job, now, zone)
    return Explanation(_ranked(causes), change, max(expected, _not_before(job, now)))


def _not_before(job: Job, now: float) -> float:
    """The moment that the job itself sets, epoch seconds; 0.0 where it sets none."""
    return max(job.start_after, min((task.paused_until for task in paused_tasks(job, now)), default=0.0))


def _ranked(causes: list[Cause]) -> list[Cause]:
    return sorted(causes, key=lambda cause: KINDS.index(cause.kind))


def _of_the_job(state: State, job: Job, now: float) -> list[Cause]:
    """Causes that have nothing to do with places."""
    causes = []
    errors = sorted({error for error in (job.error, *(task.error for task in job.tasks.values())) if error})
    if errors:
        text = f"it is in error state (qmod -cj {job.id} clears it)"
        causes.append(Cause("error", text, errors[:EXAMPLES], len(errors)))
    for kind, tasks in job.holds.items():
        which = f" (tasks {tasks})" if job.is_array else ""
        name = str(Hold(kind).name).lower()
        text = f"it has {'an' if kind == Hold.OPERATOR else 'a'} {name} hold{which} (qrls -h {name[0]} {job.id} takes it off)"
        causes.append(Cause("hold", text))
    if waits := state.waits_for(job):
        ends = {"ok": "must succeed", "fail": "must fail"}
        texts = [f"job {other} {ends.get(job.conditions.get(other, ''), 'must end')}" for other in waits]
        causes.append(Cause("dependency", "it waits for other jobs", texts[:EXAMPLES], len(texts)))
    if job.array_predecessors and (tasks := blocked_tasks(state, job)):
        others = ",".join(str(other) for other in job.array_predecessors if other in state.jobs)
        causes.append(Cause("dependency", f"tasks {tasks & job.pending} wait for tasks of job {others}"))
    if job.start_after > now:
        causes.append(Cause("start_time", "its start time (-a) has not come"))
    if paused := paused_tasks(job, now):
        text = f"it pauses for some seconds: its last {paused[0].short_tries} tries ended within a minute each"
        causes.append(Cause("start_time", text, sorted({task.mishap for task in paused if task.mishap})[:EXAMPLES]))
    if job.ar and (waiting := reservation_waits(state, job)):
        causes.append(Cause("reservation", waiting.text.removeprefix(_DROPPED)))
    limits = (_task_limit(state, job), user_limit(state, job))
    if next(ready_tasks(state, job, now), None) is not None and job_waits(state, job, now) is None:
        causes += [Cause("limit", limit.text.removeprefix(_DROPPED)) for limit in limits if limit is not None]
    return causes


def _task_limit(state: State, job: Job) -> Reason | None:
    limit = task_limit(state, job)
    running = running_tasks(job) if limit else 0
    return Reason("task_limit", (str(running),)) if limit and running >= limit else None


#: how the scheduler's sentences on a whole job begin
_DROPPED = "job dropped because "
_TEXTS = {
    "load": "no host reports now what it requests",
    "quota": "resource quotas leave nothing for it",
    "calendar": "calendars close queues that could take it",
    "kept": "what it requests is kept for reservations",
    "queue": "queues that could take it are not open",
    "busy": "what it requests is in use",
}


def _reported(state: State, reasons: Iterable[Reason]) -> set[str]:
    """Resources that are unknown in an empty cluster because they are load values of hosts."""
    unknown = {reason.args[-1] for reason in reasons if reason.code == "unknown"}
    return {name for name in unknown if any(name in host.load for host in state.hosts.values())}


def _opening(state: State, reasons: list[Reason], now: float, zone: tzinfo) -> float:
    """When the first queue instance opens (epoch s), if nothing but calendars keeps the job; else 0."""
    local = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    moments = []
    for reason in reasons:
        if reason.code != "calendar":
            return 0.0
        changed = next_change(state.typed("calendar", state.configs[reason.args[0]].text["calendar"]), local)
        if changed is not None and changed[1] == ON:
            moments.append(changed[0].replace(tzinfo=zone).timestamp())
    return min(moments, default=0.0)


def _by_kind(reasons: Iterable[Reason], reported: set[str]) -> list[Cause]:
    """Reasons of the present moment; those that hold in an empty cluster, too, only say which places do not count."""
    kinds: dict[str, list[Reason]] = {}
    for reason in reasons:
        kinds.setdefault(_kind(reason, reported), []).append(reason)
    return [_grouped(kind, _TEXTS[kind], found) for kind, found in kinds.items()]


def _kind(reason: Reason, reported: set[str]) -> str:
    code = reason.code
    if code.endswith("_offers") and reason.args[-1].partition("=")[0].partition(":")[2] in reported:
        return "load"
    if code in ("quota", "kept"):
        return code
    if code in ("calendar", "off_time"):
        return "calendar"
    return "queue" if code in _QUEUE_STATES else "busy"


def _grouped(kind: str, text: str, reasons: list[Reason]) -> Cause:
    """One of each sort of reason first, so that a thousand hosts of one sort do not hide another."""
    first: dict[str, Reason] = {}
    for reason in reasons:
        first.setdefault(reason.code, reason)
    shown = [*first.values(), *(reason for reason in reasons if reason not in first.values())]
    return Cause(kind, text, [reason.text for reason in shown[:EXAMPLES]], len(reasons))


# --- the smallest change -------------------------------------------------------------------------------

_CHANGEABLE = ("hard_queues", "pe_range", "checkpoint", "project", "master_queues")


def smallest_change(state: State, job: Job, now: float, assume_empty: bool, zone: tzinfo) -> Change | None:
    """A single request to give up if that is enough, else as few as possible; None if no change of requests helps."""
    items = [*(("hard", name) for name in job.hard), *((name, "") for name in _CHANGEABLE if getattr(job, name))]

    asked = Verifier(state, assume_empty, now, zone).verify

    def fits(changed: Job) -> bool:
        return bool(asked(changed)[0])

    given_up = next(([item] for item in items if fits(_without(job, [item]))), None)
    if given_up is None:
        if not items or not fits(_without(job, items)):
            return None
        given_up = list(items)
        for item in items:
            fewer = [other for other in given_up if other != item]
            if fits(_without(job, fewer)):
                given_up = fewer
    changed, texts = _without(job, given_up), []
    for what, name in given_up:
        reasons = asked(_without(job, [item for item in given_up if item != (what, name)]))[1]
        changed, text = _gentlest(job, changed, what, name, reasons, fits)
        texts.append(text)
    return Change(texts, _options(job, changed, given_up), not assume_empty)


def _without(job: Job, items: list[tuple[str, str]]) -> Job:
    changes: dict[str, Any] = {}
    for what, name in items:
        if what == "hard":
            changes["hard"] = {key: value for key, value in changes.get("hard", job.hard).items() if key != name}
        elif what == "pe_range":
            changes["pe_range"] = "1"
        else:
            changes[what] = type(getattr(job, what))()
    return msgspec.structs.replace(job, **changes)


def _gentlest(
    job: Job, changed: Job, what: str, name: str, reasons: list[Reason], fits: Callable[[Job], bool]
) -> tuple[Job, str]:
    """Instead of giving a request up: the nearest value that fits, if the reasons name one."""
    if what == "pe_range":
        least, most = 1, parse_slot_ranges(job.pe_range)[0][0]
        while least < most:
            middle = (least + most + 1) // 2
            if fits(msgspec.structs.replace(changed, pe_range=str(middle))):
                least = middle
            else:
                most = middle - 1
        return msgspec.structs.replace(changed, pe_range=str(least)), f"{least} slots instead of {job.pe_range} (-pe)"
    if what != "hard":
        options = {"hard_queues": "-q", "master_queues": "-masterq", "checkpoint": "-ckpt", "project": "-P"}
        value = getattr(job, what)
        return changed, f"without {options[what]} {','.join(value) if isinstance(value, list) else value}"
    for value in _offered(reasons, name):
        trial = msgspec.structs.replace(changed, hard={**changed.hard, name: value})
        if fits(trial):
            return trial, f"{name}={value} instead of {name}={job.hard[name]} (-l)"
    return changed, f"without {name}={job.hard[name]} (-l)"


def _offered(reasons: list[Reason], name: str) -> list[str]:
    """What places offer of a resource, as the reasons say; the most first."""
    found = set()
    for reason in reasons:
        if reason.code.endswith("_offers"):
            offered, _, value = reason.args[-1].partition("=")
            if offered.partition(":")[2] == name:
                found.add(value.rstrip("0").rstrip(".") if value.replace(".", "", 1).isdecimal() and "." in value else value)
    return sorted(found, key=lambda value: (_size(value), value), reverse=True)[:EXAMPLES]


def _size(value: str) -> float:
    number = value.rstrip("KMGTkmgt")
    scale = 1024.0 ** (" KMGT".find(value[len(number) :].upper() or " "))
    return float(number) * scale if number.replace(".", "", 1).isdecimal() else 0.0


def _options(job: Job, changed: Job, given_up: list[tuple[str, str]]) -> str:
    parts = []
    kinds = {what for what, _ in given_up}
    if kinds & {"checkpoint", "project", "master_queues"}:
        return ""
    if "hard" in kinds:
        parts.append("-l " + (",".join(f"{name}={value}" for name, value in changed.hard.items()) or "''"))
    if "hard_queues" in kinds:
        parts.append("-q '*'")
    if "pe_range" in kinds:
        parts.append(f"-pe {job.pe} {changed.pe_range}" if job.pe else f"-alloc {job.allocation_rule} {changed.pe_range}")
    return " ".join(parts)


# --- the expected start --------------------------------------------------------------------------------


def expected_start(state: State, job: Job, now: float, zone: tzinfo) -> float:
    """When the job would fit, at the latest, if running jobs use up their run time limits and none overtakes it; 0 if
    that does not tell. What the scheduler has planned for it (-R y) is known better. now, result: epoch seconds.
    """
    planned = [one.start_time for one in state.job_reservations if one.job_id == job.id and one.start_time > now]
    if planned:
        return min(planned)
    ends = []
    for other in state.jobs.values():
        for task in other.tasks.values():
            if task.granted and (seconds := run_time_limit(state, other, task)) != INFINITY:
                ends.append((max(now, task.start_time + seconds), other.id, task.id, other, task))
    ends.sort(key=lambda end: end[:3])
    tasks = [(other, task) for *_, other, task in ends]

    verifier = Verifier(state, False, now, zone)

    def fits(count: int) -> bool:
        return bool(verifier.verify(job, tasks[:count])[0])

    if not ends or not fits(len(ends)):
        return 0.0
    least, most = 1, len(ends)
    while least < most:
        middle = (least + most) // 2
        if fits(middle):
            most = middle
        else:
            least = middle + 1
    return ends[least - 1][0]


def run_time_limit(state: State, job: Job, task: Task) -> float:
    """Seconds that a task may run: what it requested, or what its queue instances allow. INFINITY: no limit."""
    found = [state.configs[g.instance].limits["h_rt"] for g in task.granted if g.instance in state.configs]
    if "h_rt" in job.hard and job.hard["h_rt"].upper() != "INFINITY":
        found.append(float(parse_time(job.hard["h_rt"])))
    return min(found, default=INFINITY)
