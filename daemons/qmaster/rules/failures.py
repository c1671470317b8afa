"""The meaning of each failure of a task: its cause, and whether the task runs again.

Owns the only table of these meanings, by the codes of sge_status(5). A code names the step that failed. If the cause lies in
the job's own data, or in a host without space, the host reports that cause separately (`Ended.fault`), and the report overrides
the table: no job puts a queue into error by its own data. A job that has ended never runs again because of a later failure.

Called by `reports`. Source: sge_status(5), sge_shepherd(8); EX-2 to EX-5, QI-10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from gridengine.protocols.delivery import Ended
from gridengine.usage import failed


class Fault(Enum):
    """`JOB`: the job goes to the error state. `QUEUE`: the instance goes to E. `HOST`: no state changes."""

    NONE = ""
    JOB = "job"
    QUEUE = "queue"
    HOST = "host"


class Then(Enum):
    """`AGAIN`: the job has not run, or asks to run again. `IF_IT_MAY`: the job may have run; a rerunnable job runs again."""

    OVER = 0
    AGAIN = 1
    IF_IT_MAY = 2


@dataclass(frozen=True, slots=True)
class FailureRule:
    """The meaning of a failure: the object at `fault`, and `then` what happens to the task."""

    fault: Fault
    then: Then


_JOBS = FailureRule(Fault.JOB, Then.AGAIN)
_QUEUES = FailureRule(Fault.QUEUE, Then.AGAIN)
_AFTER_JOB = FailureRule(Fault.QUEUE, Then.OVER)
_LOST = FailureRule(Fault.HOST, Then.IF_IT_MAY)
_NO_FAULT = FailureRule(Fault.NONE, Then.OVER)

_JOBS_CODES = (
    failed.EARLY, failed.ERROR_FILE, failed.OPENING_FILES, failed.NO_SHELL, failed.CHANGING_DIRECTORY,
    failed.APPLICATION_ERROR, 29, 31, 32, 33, 34, 35,
)
_QUEUES_CODES = (
    failed.BEFORE_CONFIG,
    failed.BEFORE_PID,
    failed.PROCESSOR_SET,
    failed.BEFORE_PROLOG,
    failed.IN_PROLOG,
    failed.BEFORE_PE_START,
    failed.IN_PE_START,
    failed.BEFORE_JOB,
    failed.ADDING_GROUP,
    36,
)
FAILURES: dict[int, FailureRule] = {
    **dict.fromkeys(_JOBS_CODES, _JOBS),
    **dict.fromkeys(_QUEUES_CODES, _QUEUES),
    **dict.fromkeys((failed.IN_PE_STOP, failed.IN_EPILOG), _AFTER_JOB),
    **dict.fromkeys((failed.SHEPHERD_ERROR, failed.HOST_CRASHED, failed.LOST), _LOST),
}
_METHODS_AFTER_JOB = ("pe_stop", "epilog")
# exit statuses 99 and 100: a method after the job may return them as well, to rerun it or set its error state (sge_shepherd(8))
_ASKED_FOR = (failed.RESCHEDULED, failed.APPLICATION_ERROR)


def judge(report: Ended, by_queues_shell: bool) -> FailureRule:
    """The meaning of the failure in a report. `by_queues_shell`: the queue's shell or starter was to run the job."""
    failure = FAILURES.get(report.failed, _NO_FAULT)
    if report.fault and failure.fault is not Fault.NONE:
        failure = replace(failure, fault=Fault(report.fault))
    elif report.failed == failed.NO_SHELL and (report.method or by_queues_shell):
        failure = _QUEUES
    if report.method in _METHODS_AFTER_JOB and report.failed not in _ASKED_FOR:
        failure = replace(failure, then=Then.OVER)
    return failure
