"""Lines of an accounting file, for tests of reports."""

from __future__ import annotations

from gridengine.usage.accounting import FIELDS

_USUAL = {
    **dict.fromkeys(FIELDS, "0"),
    "qname": "all.q", "hostname": "h1", "group": "users", "owner": "alice", "job_name": "job", "job_number": "7",
    "account": "sge", "project": "NONE", "department": "defaultdepartment", "granted_pe": "NONE", "slots": "1",
    "category": "NONE", "pe_taskid": "NONE",
}


def accounting_line(start: float, seconds: float, waited: float = 0, **fields: str | float) -> bytes:
    """The line of a task that started at `start` (epoch s), `waited` s after its submission, and ran for `seconds`."""
    times = {
        "submission_time": start - waited, "start_time": start, "end_time": start + seconds, "ru_wallclock": seconds,
    }
    values = _USUAL | {name: f"{value:.0f}" for name, value in times.items()} | {name: str(each) for name, each in fields.items()}
    return ":".join(values[name] for name in FIELDS).encode() + b"\n"
