"""Accounting records: the 45 fields of sge_accounting(5), and the line that a record is in `common/accounting`.

Owns the making of a record from a job's end. The index that `qacct -j` reads is in the spool, in the same transaction as the
end of the job; the text file follows it (`accounting_file`). Source: statements AC-1 … AC-6.
"""

from __future__ import annotations

import msgspec

from gridengine.accounting import WIDTH
from gridengine.delivery import Ended
from gridengine.field_names import LABELLED
from gridengine.state.jobs import Job, Task
from gridengine.state.slaves import SlaveTask
from gridengine.state.state import State

RUSAGE = (
    "ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock "
    "ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw"
).split()
_FLOATS = frozenset("ru_utime ru_stime ru_maxrss ru_ismrss".split())

#: exit status of a task that was killed without an answer of its host: that of a shell, for SIGKILL
KILLED = 128 + 9
_PE_TASKID = 41  # position of that field, from 0


def record(state: State, job: Job, task: Task, ended: Ended, failed: int) -> list[str]:
    """The accounting fields, in order, of a task that ended as reported, and its notes if there are any."""
    usage = ended.usage
    master = task.granted[0] if task.granted else None
    numbers = [_number(name, usage.get(name, 0.0)) for name in RUSAGE]
    return [
        master.queue if master else "UNKNOWN",
        master.host if master else "UNKNOWN",
        job.group,
        job.owner,
        job.name,
        str(job.id),
        job.account,
        _nice(state, task),
        str(int(job.submit_time)),
        str(int(ended.start_time)),
        str(int(ended.end_time)),
        str(failed),
        str(ended.exit_status),
        *numbers,
        job.project or "NONE",
        job.department,
        task.pe or "NONE",
        str(task.slots or 1),
        str(task.id if job.is_array else 0),
        f"{usage.get('cpu', 0.0):f}",
        f"{usage.get('mem', 0.0):f}",
        f"{usage.get('io', 0.0):f}",
        category(job),
        f"{usage.get('iow', 0.0):f}",
        "NONE",
        f"{usage.get('maxvmem', 0.0):f}",
        str(job.ar),
        str(int(job.ar_time)),
        *_notes(job),
    ]


def _notes(job: Job) -> list[str]:
    """What was said of the job and only travels; nothing when nothing was. A line of the file has no place for it."""
    said = {field.name: getattr(job, field.name) for field in LABELLED if getattr(job, field.name)}
    return [msgspec.json.encode(said).decode()] if said else []


def slave_record(state: State, job: Job, task: Task, slave: SlaveTask, ended: Ended) -> list[str]:
    """The record of a slave task, which `pe_taskid` tells from that of the job: NUMBER.HOST (PE-13)."""
    fields = record(state, job, task, ended, ended.failed)
    fields[0], _, fields[1] = slave.instance.partition("@")
    fields[_PE_TASKID] = f"{slave.number}.{slave.host}"
    return fields


def killed_record(state: State, job: Job, task: Task, now: float, failed: int) -> list[str]:
    """The record of a task whose host gave no report (forced deletion, lost host)."""
    seconds = max(0.0, now - task.start_time) if task.start_time else 0.0
    usage = {"ru_wallclock": seconds}
    if task.usage is not None:
        usage |= {"cpu": task.usage.cpu, "mem": task.usage.mem, "io": task.usage.io, "maxvmem": task.usage.maxvmem}
    ended = Ended((job.id, task.id, task.attempt), failed, KILLED, 9, "", task.start_time, now, usage)
    return record(state, job, task, ended, failed)


def _nice(state: State, task: Task) -> str:
    """`priority` of the queue that the task ran in, 0 when that is gone. Source: sge_accounting(5) priority (AC-1)."""
    config = state.configs.get(task.granted[0].instance) if task.granted else None
    return config.text["priority"] if config is not None else "0"


def _number(name: str, value: float) -> str:
    return f"{value:f}" if name in _FLOATS else str(int(value))


def category(job: Job) -> str:
    """The category string of a job: what it requests, in the order of the options. Source: AC-3, CX-61."""
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
    if job.project:
        parts.append(f"-P {job.project}")
    return " ".join(parts) or "NONE"


def line(fields: list[str]) -> str:
    """A record as a line without its end; a colon or line break inside a field becomes a blank (AC-6)."""
    return ":".join(field.replace(":", " ").replace("\n", " ").replace("\r", " ") for field in fields[:WIDTH])
