"""qacct: what jobs have used. Source: qacct(1); statements QA-1 … QA-8.

Owns where records come from: the qmaster's index, where a job is from the moment of its end, or a file (-f).
"""

import sys
import time

from clients import program
from gridengine.accounting import AccountingRecord, instance_of, parse_line, record_filter
from gridengine.options.accounting import ACCOUNTING_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]
    Records = list[AccountingRecord]

_DAY_S = 86400
#: fields that are no criteria of records
_NO_FILTER = ("file", "days", "requests", "json")


def qacct(arguments: list[str]) -> int:
    """Print whole records (-j) or totals; the exit status."""
    fields, operands = program.simple_options("qacct", ACCOUNTING_OPTIONS, arguments, now=time.time())
    for operand in operands:
        if operand.isdigit() and fields.get("job"):
            fields["job"] += f",{operand}"
        else:
            fields["file"] = operand
    if fields.get("tasks") and not fields.get("job"):
        text = "qacct: -t is for the tasks of a job that -j names"
        return program.misused("qacct", ACCOUNTING_OPTIONS, "", text)
    _set_period(fields)
    wanted = {name: value for name, value in fields.items() if value != "" and name not in _NO_FILTER}
    ignored = 0
    if fields.get("requests"):
        ignored = _resolve_requests(fields, wanted)
    if wanted.get("queue") and "@@" in wanted["queue"]:
        select = {"queues": wanted.pop("queue").split(",")}
        wanted["instances"] = _instances(select)
    records = _from_file(fields["file"], wanted) if "file" in fields else _from_qmaster(wanted)
    if records is None:
        return 1
    if "job" in fields:
        return _show_records(fields, records)
    if "json" in fields:
        from clients.render.accounting import totals_by_group

        program.print_json({"totals": totals_by_group(records, fields), "ignored_jobs": ignored})
        return 0
    from clients.render.accounting import totals

    if ignored:
        program.complain(f"{ignored} jobs ignored for accounting. Jobs' master queue no longer exists.")
    program.show(totals(records, fields))
    return 0


def _set_period(fields: "Fields") -> None:
    """-d counts from -b, back from -e, or back from now."""
    if "days" not in fields:
        return
    length = fields["days"] * _DAY_S
    if "begin" in fields:
        fields["end"] = fields["begin"] + length
    elif "end" in fields:
        fields["begin"] = fields["end"] - length
    else:
        fields["begin"] = time.time() - length


def _instances(select: "Fields") -> list[str]:
    return [row["name"] for row in program.read("status", {"queues": {"select": select}})["queues"]]


def _resolve_requests(fields: "Fields", wanted: "Fields") -> int:
    """-l: the instances that offer the resources now (QA-3); the number of jobs whose instance is gone."""
    wanted["instances"] = _instances({"requests": fields["requests"]})
    known = frozenset(_instances({}))
    records = _from_file(fields["file"], {}) if "file" in fields else _from_qmaster({})
    return sum(1 for record in records or () if instance_of(record) not in known)


def _from_qmaster(wanted: "Fields") -> "Records":
    return [AccountingRecord(fields) for fields in program.read("accounting", wanted)["records"]]


def _from_file(path: str, wanted: "Fields") -> "Records | None":
    """Records of a file, `-` for the standard input; None, with a line on stderr, when it cannot be read."""
    meant = record_filter(wanted)
    try:
        file = sys.stdin if path == "-" else open(path, errors="replace")  # noqa: SIM115
    except OSError as error:
        program.complain(f"{path}: {error.strerror}\nno jobs running since startup")
        return None
    with file:
        records = (parse_line(line) for line in file)
        return [record for record in records if record is not None and meant(record)]


def _show_records(fields: "Fields", records: "Records") -> int:
    """-j: the records; what is not there is said on stderr."""
    from clients.render.accounting import full_record

    if "json" in fields:
        from clients.render import json_records

        program.print_json(json_records.accounting_records(records))
    else:
        program.show(full_record(record) for record in records)
    job = fields["job"]
    if not job:
        return 0
    sys.stdout.flush()
    if fields.get("tasks") and not records:
        from gridengine.ranges import Ranges

        tasks = Ranges.parse(fields["tasks"])
        label = job if job.isdigit() else f'"{job}"'
        program.complain(f"error: Job-array tasks {label}.{tasks.first}-{tasks.last}:{tasks.step} not found")
        return 1
    ids = [part for part in job.split(",") if part.isdigit()]
    if not ids:
        if not records:
            program.complain(f"error: job name {job} not found")
        return 0 if records else 1
    missing = [number for number in ids if number not in {record.job_number for record in records}]
    for number in missing:
        program.complain(f"error: job id {number} not found")
    return 1 if missing else 0


def main() -> int:
    return program.run("qacct", qacct)
