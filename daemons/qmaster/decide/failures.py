"""What each failure of a task means: whose fault it is, and whether the task runs again.

The one table for it, by the codes of sge_status(5). A code says at which step it went wrong; where the reason lies in the
job's own data or in a host without room, the host says so beside (`Ended.fault`), and that counts: no job puts a queue
into error by what it brings along. Called by `reports`. Source: sge_status(5), sge_shepherd(8); EX-2 to EX-5, QI-10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from gridengine.delivery import Ended

NO_SHELL = 27
"""The interpreter, or a method, cannot be executed: a fault of the job that named it, else of the queue that did (O)."""


class Fault(Enum):
    """`JOB`: it goes to the error state. `QUEUE`: the instance goes to E. `HOST`: nothing is marked."""

    NOBODY = ""
    JOB = "job"
    QUEUE = "queue"
    HOST = "host"


class Then(Enum):
    """`AGAIN`: the job has not run, or asks for it. `IF_IT_MAY`: it may have run: again if it is rerunnable."""

    OVER = 0
    AGAIN = 1
    IF_IT_MAY = 2


@dataclass(frozen=True, slots=True)
class Failure:
    fault: Fault
    then: Then


_JOBS = Failure(Fault.JOB, Then.AGAIN)
_QUEUES = Failure(Fault.QUEUE, Then.AGAIN)
_AFTER_JOB = Failure(Fault.QUEUE, Then.OVER)
_LOST = Failure(Fault.HOST, Then.IF_IT_MAY)
_NOBODYS = Failure(Fault.NOBODY, Then.OVER)

FAILURES: dict[int, Failure] = {
    **dict.fromkeys((1, 20, 26, NO_SHELL, 28, 29, 30, 31, 32, 33, 34, 35), _JOBS),
    **dict.fromkeys((3, 4, 6, 7, 8, 9, 10, 11, 15, 36, 38), _QUEUES),
    **dict.fromkeys((12, 13), _AFTER_JOB),
    **dict.fromkeys((18, 19, 21), _LOST),
}
_METHODS_AFTER_JOB = ("pe_stop", "epilog")


def judge(report: Ended, by_queues_shell: bool) -> Failure:
    """What the failure in a report means. `by_queues_shell`: the queue's shell or starter was to run the job."""
    failure = FAILURES.get(report.failed, _NOBODYS)
    if report.fault and failure.fault is not Fault.NOBODY:
        over = failure.then is Then.OVER or report.method in _METHODS_AFTER_JOB
        return Failure(Fault(report.fault), Then.OVER if over else failure.then)
    if report.failed == NO_SHELL and (report.method or by_queues_shell):
        return replace(_QUEUES, then=Then.OVER if report.method == "pe_stop" else Then.AGAIN)
    return failure
