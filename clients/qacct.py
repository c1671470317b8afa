"""qacct: the resource usage of jobs that ended. Source: qacct(1); statements QA-1 … QA-8.

Owns the criteria of the records and the form of the output; `accounting_source` reads the records.
"""

import os
import sys
import time

from clients import gdi, program
from clients.accounting_source import File, Index
from gridengine.options.accounting import ACCOUNTING_OPTIONS
from gridengine.usage.accounting import Sums

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gridengine.usage.accounting import AccountingRecord

    Fields = dict[str, Any]

_DAY_S = 86400
#: fields that are no criteria of records
_NO_FILTER = ("file", "days", "requests", "json", "csv", "reserved")


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
        return program.report_misuse("qacct", text)
    if "json" in fields and "csv" in fields:
        return program.report_misuse("qacct", "qacct: -csv and -json exclude each other")
    if "reserved" in fields and (not fields.get("ar") or "job" in fields):
        text = "qacct: -reserved is for the reservation that -ar names, without -j"
        return program.report_misuse("qacct", text)
    _set_period(fields)
    criteria = {name: value for name, value in fields.items() if value != "" and name not in _NO_FILTER}
    source = File(fields["file"]) if "file" in fields else Index()
    if fields.get("requests"):
        # the instances that offer the resources now (QA-3)
        criteria["instances"] = _instances({"requests": fields["requests"]})
    if criteria.get("queue") and "@@" in criteria["queue"]:
        named = _instances({"queues": criteria.pop("queue").split(",")})
        criteria["instances"] = [name for name in criteria.get("instances", named) if name in named]
    try:
        status = _show(fields, source, criteria)
    except gdi.Unreachable as error:
        path = f"{gdi.common_directory()}/accounting"
        if not os.access(path, os.R_OK):
            raise
        program.print_error(f"{error}\nthe records are those of {path}")
        source = File(path)
        status = _show(fields, source, criteria)
    sys.stdout.flush()
    if isinstance(source, File):
        source.report_faults()
    return status


def _show(fields: "Fields", source: "File | Index", criteria: "Fields") -> int:
    if "reserved" in fields:
        return _show_reserved(fields, source, criteria)
    if "job" in fields:
        return _show_records(fields, source.records(criteria))
    return _show_totals(fields, source, criteria)


def _show_totals(fields: "Fields", source: "File | Index", criteria: "Fields") -> int:
    from clients.render import accounting as render

    sum_records = _sum_with_requests if fields.get("requests") else _sum
    sums, ignored = sum_records(source, criteria, render.group_by(fields))
    if "json" in fields:
        program.print_json({"totals": render.totals_by_group(sums, fields), "ignored_jobs": ignored})
        return 0
    if ignored:
        program.print_error(f"{ignored} jobs ignored for accounting. Jobs' master queue no longer exists.")
    if "csv" in fields:
        _print_csv(render.totals_titles(fields), render.totals_by_group(sums, fields))
    else:
        program.show(render.totals(sums, fields))
    return 0


def _show_reserved(fields: "Fields", source: "File | Index", criteria: "Fields") -> int:
    from clients.reserved_slots import reserved_slots

    use = reserved_slots(source, criteria)
    if "json" in fields:
        program.print_json({"reservation": use})
    elif "csv" in fields:
        _print_csv(list(use), [use])
    else:
        from clients.render.accounting import reservation

        program.show(reservation(use))
    return 0


def _sum(source: "File | Index", criteria: "Fields", group_by: "list[str]") -> "tuple[Sums, int]":
    return source.sums(criteria, group_by), 0


def _sum_with_requests(source: "File | Index", criteria: "Fields", group_by: "list[str]") -> "tuple[Sums, int]":
    """The totals, and the number of records whose queue instance no longer exists (QA-3)."""
    chosen, known = frozenset(criteria.pop("instances")), frozenset(_instances({}))
    sums, ignored = Sums(group_by), 0
    for (queue, host, *key), row in source.sums(criteria, ["qname", "hostname", *group_by]).rows():
        name = f"{queue}@{host}"
        if name in chosen:
            sums.add_row(key, row)
        elif name not in known:
            ignored += int(row[0])
    return sums, ignored


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


def _print_csv(titles: "list[str]", rows: "Iterable[Fields]") -> None:
    """A row of names, then a row per record; a missing value is an empty cell."""
    import csv

    from gridengine.values.printable import printable

    rows = iter(rows)
    # before the titles are written, since the source may not answer
    first = next(rows, None)
    writer = csv.DictWriter(sys.stdout, titles, lineterminator="\n")
    writer.writeheader()
    if first is not None:
        writer.writerow(printable(first))
    writer.writerows(map(printable, rows))


def _show_records(fields: "Fields", source_records: "Iterator[AccountingRecord]") -> int:
    """-j: print the records; jobs without a record are reported on stderr."""
    from clients.render import accounting as render

    seen: set[str] = set()
    used = Sums(render.group_by(fields))
    records = _note_records(source_records, seen, used)
    if "json" in fields:
        from clients.render import json_records

        program.print_json(json_records.accounting_records(records))
    elif "csv" in fields:
        from clients.render import json_records

        _print_csv(json_records.accounting_titles(), map(json_records.accounting_fields, records))
    else:
        program.show(map(render.full_record, records))
        if not fields["job"]:
            program.show(render.totals(used, fields))
    sys.stdout.flush()
    return _report_missing(fields, seen)


def _note_records(records: "Iterator[AccountingRecord]", seen: "set[str]", used: Sums) -> "Iterator[AccountingRecord]":
    """The records, unchanged; adds their job numbers to `seen` and their usage to `used`."""
    for record in records:
        seen.add(record.job_number)
        used.add(record)
        yield record


def _report_missing(fields: "Fields", seen: "set[str]") -> int:
    """Report the jobs that were named and have no record; the exit status."""
    job = fields["job"]
    if not job:
        return 0
    if fields.get("tasks") and not seen:
        from gridengine.values.ranges import Ranges

        tasks = Ranges.parse(fields["tasks"])
        label = job if job.isdigit() else f'"{job}"'
        program.print_error(f"error: Job-array tasks {label}.{tasks.first}-{tasks.last}:{tasks.step} not found")
        return 1
    ids = [part for part in job.split(",") if part.isdigit()]
    if not ids:
        if not seen:
            program.print_error(f"error: job name {job} not found")
        return 0 if seen else 1
    missing = [number for number in ids if number not in seen]
    for number in missing:
        program.print_error(f"error: job id {number} not found")
    return 1 if missing else 0
