"""Lines of the reporting and the accounting file for tests, with defaults for fields that a test does not use."""

from __future__ import annotations

from gridengine.usage.accounting import FIELDS

DAY = 1_795_305_600
"""Midnight UTC of a day, in epoch seconds."""

_USUAL: dict[str, object] = dict.fromkeys(FIELDS, 0) | {
    "qname": "all.q",
    "hostname": "h1",
    "group": "users",
    "owner": "alice",
    "job_name": "sleep",
    "account": "sge",
    "project": "NONE",
    "department": "defaultdepartment",
    "granted_pe": "NONE",
    "slots": 1,
    "category": "NONE",
    "pe_taskid": "NONE",
}


def accounting_line(job: int, start: int, end: int, **fields: object) -> str:
    """The line of a task that was submitted ten seconds before its start, or as the fields say."""
    times = {"submission_time": start - 10, "start_time": start, "end_time": end, "ru_wallclock": end - start}
    values = _USUAL | times | {"job_number": job} | fields
    return ":".join(str(values[name]) for name in FIELDS)


def acct(job: int, start: int, end: int, **fields: object) -> str:
    """The same as a record of the reporting file."""
    return f"{end}:acct:{accounting_line(job, start, end, **fields)}"


def unit_usage(job: int, start: int, end: int, unit: object, *figures: object, owner: str = "alice", submitted: int = 0) -> str:
    """The record of a GPU of h1. figures: seconds, measured seconds, utilisation, memory, energy, shared."""
    known = f"{submitted or start - 10}:{job}:0:NONE:job:{owner}:users::physics:sge:0"
    return f"{end}:unit_usage:{known}:{start}:{end}:h1:gpu:{unit}:GPU-{unit}:{':'.join(map(str, figures))}"


def new_job(job: int, submitted: int, owner: str = "alice", project: str = "") -> str:
    return f"{submitted}:new_job:{submitted}:{job}:-1:NONE:sleep:{owner}:users:{project}:defaultdepartment:sge:1024"


def job_log(job: int, time: int, event: str, task: int = 0, submitted: int = DAY) -> str:
    head = f"{time}:job_log:{time}:{event}:{job}:{task}:NONE:r:alice:h1:0:1024:{submitted}"
    return f"{head}:sleep:alice:users::defaultdepartment:sge:a message: with a colon"


def reservation(number: int, submitted: int, start: int, end: int, owner: str = "alice", name: str = "") -> list[str]:
    """A reservation that is made, starts, ends and gives two slots back."""
    known = f"{submitted}:{number}"
    return [
        f"{submitted}:new_ar:{known}:{owner}",
        f"{submitted}:ar_attribute:{submitted}:{known}:{name}:sge:{start}:{end}:mpi:slots=2,lic=4",
        f"{submitted}:ar_log:{submitted}:{known}:w:CREATED:made",
        f"{start}:ar_log:{start}:{known}:r:START TIME REACHED:the start time has come",
        f"{end}:ar_log:{end}:{known}:x:TERMINATED:over",
        f"{end}:ar_acct:{end}:{known}:all.q:h1:1",
        f"{end}:ar_acct:{end}:{known}:all.q:h2:1",
    ]
