"""Accounting records: the 45 fields of sge_accounting(5), and the line that a record is in `common/accounting`.

Owns the making of a record from a job's end. The index that `qacct -j` reads is in the spool, in the same transaction as the
end of the job; the text file follows it (`followed_file`). Source: statements AC-1 … AC-6.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import msgspec

from gridengine.protocols.delivery import Ended
from gridengine.state.jobs import Job, Task
from gridengine.state.reported import Reported
from gridengine.state.slaves import SlaveTask
from gridengine.state.state import State
from gridengine.usage.accounting import FIELDS, REASON, UNITS, WIDTH, AccountingRecord
from gridengine.usage.failed import ENFORCED, plain_reason
from gridengine.usage.unit_usage import UNIT_USAGE, UnitUsage
from gridengine.values.field_names import LABELLED
from gridengine.values.instance_name import queue_and_host
from gridengine.values.task_key import TaskKey

_in_order = itemgetter(*FIELDS)
RUSAGE = [name for name in FIELDS if name.startswith("ru_")]
_FLOATS = frozenset("ru_utime ru_stime ru_maxrss ru_inblock".split())
"""Fields with decimals in 8.1.9 (O)."""

_DIVIDED = ("cpu", "mem", "io", "iow")
"""Usage that is divided among several records of one task."""

#: exit status of a task that still runs
RUNS_ON = -1
#: exit status of a task that was killed without an answer of its host: as a shell reports SIGKILL
KILLED = 128 + 9


def record(state: State, job: Job, task: Task, ended: Ended, failed: int) -> AccountingRecord:
    """The accounting record of a task that ended as reported, with its notes if there are any."""
    usage = ended.usage
    master = task.granted[0] if task.granted else None
    fields = {
        "qname": master.queue if master else "UNKNOWN",
        "hostname": master.host if master else "UNKNOWN",
        "group": job.group,
        "owner": job.owner,
        "job_name": job.name,
        "job_number": str(job.id),
        "account": job.account,
        "priority": _nice(state, task),
        "submission_time": str(int(job.submit_time)),
        "start_time": str(int(ended.start_time)),
        "end_time": str(int(ended.end_time)),
        "failed": str(failed),
        "exit_status": str(ended.exit_status),
        "project": job.project or "NONE",
        "department": job.department,
        "granted_pe": task.pe or "NONE",
        "slots": str(task.slots or 1),
        "task_number": str(task.id if job.is_array else 0),
        "category": category(job),
        "pe_taskid": "NONE",
        "arid": str(job.ar),
        "ar_sub_time": str(int(job.ar_time)),
    }
    fields |= {name: f"{usage.get(name, 0.0):f}" for name in ("cpu", "mem", "io", "iow", "maxvmem")}
    fields |= {name: _number(name, usage.get(name, 0.0)) for name in RUSAGE}
    return AccountingRecord([*_in_order(fields), *_notes(job, task, ended, reason_of(task, ended, failed))])


def reason_of(task: Task, ended: Ended, failed: int) -> str:
    """The reason and the host of a failed or killed task, as a text for its owner; "" for a regular end.

    Deviation: 8.1.9 has the code `failed` alone. The event and the record of an end contain this text.
    """
    text = plain_reason(ended.reason)
    if failed == ENFORCED and ended.start_time:
        after = f" on {task.host} after {ended.usage.get('ru_wallclock', 0.0):.0f} s"
        return f"killed{after}: {text}" if text else f"killed{after}"
    if task.deleted_by and ended.exit_status:
        return f"deleted by {task.deleted_by}"
    return f"on {task.host}: {text}" if failed and text and task.host else text if failed else ""


def _notes(job: Job, task: Task, ended: Ended, reason: str) -> list[str]:
    """Labels of the job, the named units of the task, their usage and the reason of its failure, as JSON; [] without any. A line
    of the file has no field for them."""
    extra: dict[str, Any] = {field.name: getattr(job, field.name) for field in LABELLED if getattr(job, field.name)}
    if task.units:
        extra[UNITS] = ", ".join(f"{grant.resource}={grant.host}=({' '.join(grant.units)})" for grant in task.units)
    extra |= {UNIT_USAGE: ended.units} if ended.units else {}
    extra |= {REASON: reason} if reason else {}
    return [msgspec.json.encode(extra).decode()] if extra else []


def slave_record(state: State, job: Job, task: Task, slave: SlaveTask, ended: Ended) -> AccountingRecord:
    """The record of a slave task. Its `pe_taskid` distinguishes it from the record of the job: NUMBER.HOST (PE-13)."""
    queue, host = queue_and_host(slave.instance)
    whole = record(state, job, task, ended, ended.failed)
    return whole.replace(qname=queue, hostname=host, pe_taskid=f"{slave.number}.{slave.host}")


def sums_up(state: State, task: Task) -> bool:
    """Whether the record of a parallel job includes the usage of its slave tasks, which then have no records (PE-13
    accounting_summary)."""
    pe = state.pes.get(task.pe)
    return pe is not None and pe.accounting_summary


def intermediate_record(state: State, job: Job, task: Task, slave: SlaveTask | None, reported: Reported) -> AccountingRecord:
    """The record in the reporting file of a running task or slave task: its usage since the previous record.

    Source: RP-3; O: exit_status is -1, and all fields that are known only at the end are 0.
    """
    before = (slave or task).reported or Reported((slave or task).start_time)
    usage = {name: getattr(reported, name) for name in (*_DIVIDED, "maxvmem")}
    usage |= {name: usage[name] - getattr(before, name) for name in _DIVIDED}
    so_far = Ended(TaskKey(job.id, task.id, task.attempt), 0, RUNS_ON, 0, "", before.time, reported.time, usage)
    return slave_record(state, job, task, slave, so_far) if slave is not None else record(state, job, task, so_far, 0)


def unreported_part(whole: AccountingRecord, reported: Reported | None) -> AccountingRecord:
    """The part of a final record that the reporting file lacks. Source: RP-3; O: it begins where the last record ended."""
    if reported is None:
        return whole
    left = {name: f"{max(0.0, float(getattr(whole, name)) - getattr(reported, name)):f}" for name in _DIVIDED}
    return whole.replace(start_time=str(int(reported.time)), **left)


def killed_end(job: Job, task: Task, now: float, failed: int, why: str) -> Ended:
    """The end of a task whose host gave no report (forced deletion, lost host). `why`: the reason as a text."""
    seconds = max(0.0, now - task.start_time) if task.start_time else 0.0
    usage, units = {"ru_wallclock": seconds}, list[UnitUsage]()
    if task.usage is not None:
        units = task.usage.units
        usage |= {"cpu": task.usage.cpu, "mem": task.usage.mem, "io": task.usage.io, "maxvmem": task.usage.maxvmem}
    return Ended(TaskKey(job.id, task.id, task.attempt), failed, KILLED, 9, why, task.start_time, now, usage, units)


def _nice(state: State, task: Task) -> str:
    """`priority` of the queue that the task ran in, 0 if the queue is gone. Source: sge_accounting(5) priority (AC-1)."""
    config = state.configs.get(task.granted[0].instance) if task.granted else None
    return str(config.execution.priority) if config is not None else "0"


def _number(name: str, value: float) -> str:
    return f"{value:f}" if name in _FLOATS else str(int(value))


def category(job: Job) -> str:
    """The category string of a job: its requests, in the order of the options. Source: AC-3, CX-61."""
    parts = []
    if job.hard_queues:
        parts.append(f"-q {','.join(job.hard_queues)}")
    if job.master_queues:
        parts.append(f"-masterq {','.join(job.master_queues)}")
    if job.hard:
        parts.append("-l " + ",".join(f"{name}={value}" for name, value in sorted(job.hard.items())))
    if job.soft:
        parts.append("-soft -l " + ",".join(f"{name}={value}" for name, value in sorted(job.soft.items())))
    if job.pe:
        parts.append(f"-pe {job.pe} {job.pe_range}")
    if job.allocation_rule:
        parts.append(f"-alloc {job.allocation_rule} {job.pe_range}")
    if job.checkpoint:
        parts.append(f"-ckpt {job.checkpoint}")
    if job.now:
        parts.append("-I y")
    if job.project:
        parts.append(f"-P {job.project}")
    if job.ar:
        parts.append(f"-ar {job.ar}")
    return " ".join(parts) or "NONE"


def line(fields: AccountingRecord) -> str:
    """A record as a line without its end; a colon or line break inside a field becomes a blank (AC-6)."""
    whole = ":".join(fields[:WIDTH])
    if whole.count(":") == WIDTH - 1 and "\n" not in whole and "\r" not in whole:  # as of nearly all
        return whole
    return ":".join(field.replace(":", " ").replace("\n", " ").replace("\r", " ") for field in fields[:WIDTH])
