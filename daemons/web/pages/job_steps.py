"""The time line of a job in plain words: submitted, placed, started, suspended, moved, ended; from its event log.

Owns the sentences and the choice of the events: commands to hosts, usage and slave tasks are in the event log alone. Pure.
`daemons.qmaster.notifications.job_history` writes the causes. Called by the page of a job. Source: adr/0107.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from daemons.web.pages.failures import result_text
from gridengine.state.conditions import CONDITIONS, OF_SUSPENSIONS
from gridengine.values.units import counted

Line = Sequence[object]
"""A line of the event log: time in epoch s, task (0 for the whole job), event, cause."""
_BY = re.compile(r"(?:^|, )(by \S+)$")
_END = re.compile(r"exit status (\d+)(?:, failed (\d+))?(?:, (.*))?", re.DOTALL)
_PLACED = re.compile(r"attempt (\d+), ([^,]*)")
_SUSPENSION = re.compile(r"(suspended|resumed) \(([^)]*)\)")


class JobStep(NamedTuple):
    """`time`: epoch s; `text`: a sentence; `tone`: of style.css; `after_s`: since the step before, None for the first."""

    time: float
    text: str
    tone: str
    after_s: float | None


def steps_of(log: Iterable[Line], task: int) -> list[JobStep]:
    """The steps of a task and of its job, in order. `task`: 0 for the steps of the job alone."""
    found: list[JobStep] = []
    last_place = ""
    for time, number, event, cause in log:
        sentence = _SENTENCES.get(str(event))
        if sentence is None or number not in (0, task):
            continue
        text, tone = sentence(str(cause or ""))
        if event == "TaskDispatched":
            place = text
            verb = "Placed on" if not last_place else "Placed again on" if place == last_place else "Moved to"
            text, last_place = f"{verb} {place}", place
        at = float(str(time))
        found.append(JobStep(at, text, tone, at - found[-1].time if found else None))
    return found


def _with_cause(text: str, tone: str = "off") -> Callable[[str], tuple[str, str]]:
    """The text, with the user who caused the event."""

    def sentence(cause: str) -> tuple[str, str]:
        by = _BY.search(cause)
        rest = cause[: by.start()] if by else cause
        return f"{text}{f' {by[1]}' if by else ''}{f': {rest}' if rest else ''}", tone

    return sentence


def _placed(cause: str) -> tuple[str, str]:
    """The places of an attempt; the caller makes the sentence."""
    match = _PLACED.match(cause)
    grants = [grant.rpartition("=") for grant in match[2].split()] if match else []
    slots = sum(int(count) for _, _, count in grants if count.isdigit())
    places = ", ".join(instance for instance, _, _ in grants[:3]) + (f" and {len(grants) - 3} more" if len(grants) > 3 else "")
    return f"{places or 'a host'} ({counted(slots, 'slot')})", "wait"


def _suspension(cause: str) -> tuple[str, str]:
    match = _SUSPENSION.match(cause)
    if match is None:
        return _with_cause("Suspended or resumed", "warn")(cause)
    by, condition = _BY.search(cause), CONDITIONS.get(OF_SUSPENSIONS.get(match[2], ""))
    noun = condition.noun if condition else "suspended"
    resumed = "Resumed" if noun == "suspended" else f"Resumed, was {noun}"
    text = noun.capitalize() if match[1] == "suspended" else resumed
    return f"{text}{f' {by[1]}' if by else ''}", "warn" if match[1] == "suspended" else "busy"


def _ended(cause: str) -> tuple[str, str]:
    match = _END.match(cause)
    if match is None:
        return f"Ended: {cause}", "off"
    status, failed, reason = int(match[1]), int(match[2] or 0), match[3] or ""
    return f"Ended: {result_text(failed, status)}{f' ({reason})' if reason else ''}", "bad" if status or failed else "ok"


def _error(cause: str) -> tuple[str, str]:
    return _with_cause("Error cleared")(cause.removeprefix("cleared").removeprefix(", ")) if cause.startswith("cleared") else (
        f"Set in error: {cause}", "bad"
    )


def _requeued(cause: str) -> tuple[str, str]:
    text, _ = _with_cause("Back in the queue")(cause)
    return text, "bad" if "in error" in cause else "warn"


_SENTENCES: dict[str, Callable[[str], tuple[str, str]]] = {
    "JobSubmitted": _with_cause("Submitted", "wait"),
    "JobChanged": _with_cause("Changed"),
    "HoldsChanged": _with_cause("Hold changed"),
    "JobErrorChanged": _error,
    "PendingTasksDeleted": _with_cause("Deleted while waiting", "bad"),
    "TaskDispatched": _placed,
    "TaskStarted": _with_cause("Started", "busy"),
    "TaskSuspensionChanged": _suspension,
    "TaskCheckpointed": _with_cause("Checkpointed"),
    "TaskReschedulingRequested": _with_cause("Reschedule requested", "warn"),
    "TaskDeletionRequested": _with_cause("Deletion requested", "warn"),
    "TaskRequeued": _requeued,
    "TaskErrorCleared": _with_cause("Error cleared"),
    "TaskEnded": _ended,
}
