"""The ends of jobs that are gone: the reading request `job_ends`, for the hint below "does not exist".

Owns the sentences. Their facts come from the accounting records and from the job history. Called by `reading`. Source: AC-1,
sge_status(5) failed.
"""

from __future__ import annotations

import signal
from datetime import tzinfo
from typing import Any

from daemons.qmaster.master import Master
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.usage.accounting import AccountingRecord
from gridengine.usage.failed import AFTER_JOB, ENFORCED, TEXTS
from gridengine.values.units import format_moment

MOST_RECORDS = 10_000
"""Limit of records that are read for one job."""
_OF_SIGNALS = 128


def job_ends(master: Master, body: dict[str, Any], caller: Caller) -> Answer:
    """Body: `jobs` (numbers). Data: {"ends": [sentence]}, in order, for the jobs that are gone and have a record or a history."""
    zone = master.world().zone
    asked = [number for number in dict.fromkeys(body["jobs"]) if number not in master.state.jobs]
    return Answer(data={"ends": [text for number in asked if (text := _describe_end(master, number, zone))]})


def _describe_end(master: Master, number: int, zone: tzinfo) -> str:
    last: dict[str, AccountingRecord] = {}
    for _, record in master.spool.accounted.records([number], most=MOST_RECORDS):
        if record.pe_taskid in ("", "NONE"):
            last[record.task_number] = record
    if last:
        return f"{_describe_finished(number, list(last.values()), zone)} (qacct -j {number})"
    lines = master.job_history(number, 1)
    return _describe_unstarted(number, *lines[-1][3:], format_moment(lines[-1].time, zone)) if lines else ""


def _describe_finished(number: int, last: list[AccountingRecord], zone: tzinfo) -> str:
    """The end of a job whose tasks ran. `last`: the last record of each task."""
    latest = max(last, key=lambda record: float(record.end_time))
    when = f"at {format_moment(float(latest.end_time), zone)}"
    bad = sum(not (record.failed == record.exit_status == "0") for record in last)
    if latest.task_number in ("0", "") or len(last) == 1:
        return f"job {number} ended {when} on {latest.hostname}: {outcome(latest)}"
    of_them = f"{bad} of them did not succeed" if bad else "all succeeded"
    return f"job {number} ended {when}: {len(last)} tasks ran, {of_them}"


def outcome(record: AccountingRecord) -> str:
    """The end of one attempt: `exit status 1`, `killed by signal KILL`, or the step that failed."""
    failed, status = int(record.failed or 0), int(record.exit_status or 0)
    killed = exit_text(status)
    if failed in (0, AFTER_JOB):
        return killed
    if failed == ENFORCED:
        return record.reason or f"ended by the qmaster or a limit, {killed}"
    return f"failed {TEXTS.get(failed, 'for an unknown reason')} ({failed})"


def exit_text(status: int) -> str:
    """The end of a program by its exit status: `exit status 1`, or `killed by signal KILL`."""
    return f"killed by signal {_signal_name(status - _OF_SIGNALS)}" if status > _OF_SIGNALS else f"exit status {status}"


def _describe_unstarted(number: int, event: str, cause: str, when: str) -> str:
    """The end of a job without a task that ran. `event`, `cause`: of the last line of its history."""
    if event == "PendingTasksDeleted":
        return f"job {number} was deleted before it began, at {when}: {cause} (qexplain -story {number})"
    return f"job {number} is gone since {when} (qexplain -story {number})"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)
