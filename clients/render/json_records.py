"""-json of qstat -j, qacct, qrstat, qquota and qexplain: details of jobs, accounting records, reservations and more.

Owns the field names. They must stay, since docs/schemas publishes them: units last (`_s`, `_bytes`), null for a missing value.
Called by the commands. Shapes of the input: docs/gdi.md.
"""

from clients.render.json_status import grants
from gridengine.usage.accounting import FIELDS
from gridengine.values.field_names import LABELLED
from gridengine.values.quantities import plain_number

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gridengine.usage.accounting import AccountingRecord

    Fields = dict[str, Any]

_PLAIN = (
    "version owner uid group gid account project department name kind binary no_shell script_file args cwd merge notify "
    "priority job_share override_tickets rerun reserve now home submit_path login_shell submit_cwd submit_host "
    "mail_options mail_list hard_queues soft_queues master_queues pe pe_range allocation_rule checkpoint checkpoint_when "
    "predecessors_requested predecessors successors hold_jid_ok hold_jid_fail array_predecessors array_successors "
    "task_concurrency context binding holds reasons"
).split()
_USAGE = ("cpu_s", "mem_gb_s", "io_gb", "iow_s", "vmem_bytes", "maxvmem_bytes")
_PRIORITIES = ("priority", "normalized_posix_priority", "normalized_urgency", "normalized_tickets")


def job_details(data: "Fields") -> "Fields":
    """Jobs with all details; for a request without jobs, the pending reasons."""
    if "reasons" in data:
        return {"reasons": [{"text": text, "job_ids": ids} for text, ids in data["reasons"]]}
    return {"jobs": [_job(job) for job in data["jobs"]], "unknown": data["unknown"]}


def _job(job: "Fields") -> "Fields":
    fields: Fields = {"job_id": job["id"], **{name: job[name] for name in _PLAIN}}
    for name in ("submit_time", "start_after", "deadline", "checkpoint_interval"):
        fields[f"{name}_s"] = job[name] or None
    for name in ("stdout", "stderr", "stdin", "shells"):
        fields[name] = [{"host": host or None, "path": path} for host, path in job[name]]
    for name in ("hard", "soft"):
        unknown = {"type": None, "consumable": None}
        fields[name] = [
            {"name": each, "value": value, **job["complexes"].get(each, unknown)} for each, value in job[name].items()
        ]
    fields["environment"] = [{"name": name, "value": value} for name, value in job["environment"]]
    fields["array"] = dict(zip(("first", "last", "step"), job["array"], strict=True)) if job["array"] else None
    fields["ar_id"] = job["ar"] or None
    fields["priorities"] = dict(zip(_PRIORITIES, job["priorities"], strict=True)) if job["priorities"] else None
    fields["notes"] = {field.label: job[field.name] for field in LABELLED if job[field.name]}
    fields["error"] = job["error"]
    fields["tasks"] = [_task(task) for task in job["tasks"]]
    return fields


def _task(task: "Fields") -> "Fields":
    return {
        "task_id": task["id"],
        "status": task["status"],
        "error": task["error"] or None,
        "mishap": task["mishap"] or None,
        "granted": grants(task["granted"]),
        "pe": task["pe"] or None,
        "start_time_s": task["start_time"] if task["status"] != "pending" else None,
        "restarts": task["restarts"],
        "binding": task["binding"] or None,
        "memory": task["memory"] or None,
        "units": [{"host": host, "name": name, "units": units} for host, name, units in task.get("units", ())],
        "closed_units": [
            dict(zip(("host", "name", "unit", "reason"), closed, strict=True)) for closed in task.get("closed_units", ())
        ],
        "unit_usage": unit_usage(task.get("unit_usage", ())),
        "usage": dict(zip(_USAGE, task["usage"], strict=True)) if task["usage"] else None,
    }


#: accounting fields under another name: with their unit, or as the other listings call them
_RENAMED = {
    "job_number": "job_id",
    "task_number": "task_id",
    "arid": "ar_id",
    "cpu": "cpu_s",
    "mem": "mem_gb_s",
    "io": "io_gb",
    "iow": "iow_s",
    "maxvmem": "maxvmem_bytes",
    **{name: f"{name}_s" for name in "submission_time start_time end_time ru_wallclock ru_utime ru_stime ar_sub_time".split()},
    **{name: f"{name}_bytes" for name in "ru_maxrss ru_ixrss ru_ismrss ru_idrss ru_isrss".split()},
}
_TEXTS = frozenset("qname hostname group owner job_name account project department granted_pe category pe_taskid".split())
_NULL_IF_NONE = frozenset("project granted_pe category pe_taskid".split())
_NULL_IF_ZERO = frozenset("task_number arid ar_sub_time start_time".split())
_REALS = frozenset("ru_utime ru_stime cpu mem io iow".split())
#: in KiB where it is recorded. Source: getrusage(2), accounting(5)
_IN_KIB = "ru_maxrss"


def accounting_records(records: "Iterable[AccountingRecord]") -> "Fields":
    """Whole records of accounting."""
    return {"records": [{**accounting_fields(record), **_beside_the_fields(record)} for record in records]}


def _beside_the_fields(record: "AccountingRecord") -> "Fields":
    return {"notes": record.notes, "unit_usage": unit_usage(record.unit_usage)}


def unit_usage(rows: "Iterable[Sequence[Any]]") -> "list[Fields]":
    """The usage of devices."""
    if not (rows := list(rows)):
        return []
    from gridengine.usage.unit_usage import json_fields, of_rows

    return list(map(json_fields, of_rows(rows)))


def accounting_fields(record: "AccountingRecord") -> "Fields":
    """The fields of a record, without its notes."""
    return dict(map(_typed_field, FIELDS, record))


def accounting_titles() -> list[str]:
    """The names of the fields of a record, in order."""
    return [_RENAMED.get(name, name) for name in FIELDS]


def _typed_field(name: str, text: str) -> "tuple[str, Any]":
    value: Any = text
    if name in _NULL_IF_NONE and text == "NONE":
        value = None
    elif name not in _TEXTS:
        value = plain_number(float(text)) if name in _REALS else int(float(text)) * (1024 if name == _IN_KIB else 1)
        value = None if name in _NULL_IF_ZERO and not value else value
    return _RENAMED.get(name, name), value


def reservations(data: "Fields") -> "Fields":
    """Advance reservations."""
    return {"reservations": [_reservation(reservation) for reservation in data["reservations"]], "unknown": data["unknown"]}


def _reservation(reservation: "Fields") -> "Fields":
    fields = {name: value for name, value in reservation.items() if name not in ("id", "hard", "granted")}
    for name in ("submit_time", "start_time", "end_time", "idle_limit"):
        fields[f"{name}_s"] = fields.pop(name)
    hard = [{"name": name, "value": value} for name, value in reservation["hard"]]
    return {"ar_id": reservation["id"], **fields, "hard": hard, "granted": grants(reservation["granted"])}


def explanations(data: "Fields") -> "Fields":
    """Explanations of pending jobs."""
    return {"jobs": [_explanation(job) for job in data["jobs"]], "unknown": data["unknown"]}


def histories(data: "Fields") -> "Fields":
    """Histories of jobs."""
    names = ("time_s", "task_id", "event", "cause")
    jobs = [
        {"job_id": job["id"], "cut": job["cut"], "events": [dict(zip(names, line, strict=True)) for line in job["events"]]}
        for job in data["jobs"]
    ]
    return {"jobs": jobs, "unknown": data["unknown"]}


def _explanation(job: "Fields") -> "Fields":
    lists = {"reasons": [], "count": 0, "holders": [], "holder_count": 0}
    causes = [{**lists, **cause} for cause in job["causes"]]
    change = job["change"]
    if change is not None:
        change = {"texts": change["texts"], "options": change.get("options", ""), "now": change.get("now", False)}
    return {
        "job_id": job["id"],
        "name": job["name"],
        "owner": job["owner"],
        "pending_tasks": job["pending"] if job["array"] else None,
        "pending": bool(job["pending"]),
        "running": job["running"],
        "tasks": job["tasks"],
        "causes": causes,
        "change": change,
        "expected_start_s": job.get("expected_start") or None,
    }


def quotas(rows: "list[Fields]") -> "Fields":
    """Limits of resource quotas, with their current usage."""
    names = ("scope", "expanded", "included", "excluded")
    return {
        "limits": [
            {
                **{name: row[name] for name in ("rule", "resource", "limit", "used")},
                "filters": [dict(zip(names, each, strict=True)) for each in row["filters"]],
            }
            for row in rows
        ]
    }
