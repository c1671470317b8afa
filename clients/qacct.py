"""qacct: what jobs have used. Source: qacct(1); statements QA-1 … QA-8.

Owns what is asked for and in which form it is printed; where records come from is `accounting_source`'s.
"""

import os
import sys
import time

from clients import gdi, program
from clients.accounting_source import File, Index
from gridengine.accounting import Sums
from gridengine.options.accounting import ACCOUNTING_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gridengine.accounting import AccountingRecord

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
        return program.misused("qacct", text)
    if "json" in fields and "csv" in fields:
        return program.misused("qacct", "qacct: -csv and -json: one of them")
    if "reserved" in fields and (not fields.get("ar") or "job" in fields):
        text = "qacct: -reserved is for the reservation that -ar names, without -j"
        return program.misused("qacct", text)
    _set_period(fields)
    wanted = {name: value for name, value in fields.items() if value != "" and name not in _NO_FILTER}
    source = File(fields["file"]) if "file" in fields else Index()
    if fields.get("requests"):
        # the instances that offer the resources now (QA-3)
        wanted["instances"] = _instances({"requests": fields["requests"]})
    if wanted.get("queue") and "@@" in wanted["queue"]:
        named = _instances({"queues": wanted.pop("queue").split(",")})
        wanted["instances"] = [name for name in wanted.get("instances", named) if name in named]
    try:
        status = _show(fields, source, wanted)
    except gdi.Unreachable as error:
        path = f"{gdi.common_directory()}/accounting"
        if not os.access(path, os.R_OK):
            raise
        program.complain(f"{error}\nthe records are those of {path}")
        source = File(path)
        status = _show(fields, source, wanted)
    sys.stdout.flush()
    if isinstance(source, File):
        source.complain()
    return status


def _show(fields: "Fields", source: "File | Index", wanted: "Fields") -> int:
    if "reserved" in fields:
        return _show_reserved(fields, source, wanted)
    if "job" in fields:
        return _show_records(fields, source.records(wanted))
    return _show_totals(fields, source, wanted)


def _show_totals(fields: "Fields", source: "File | Index", wanted: "Fields") -> int:
    from clients.render import accounting as render

    summed = _summed_with_requests if fields.get("requests") else _summed
    sums, ignored = summed(source, wanted, render.group_by(fields))
    if "json" in fields:
        program.print_json({"totals": render.totals_by_group(sums, fields), "ignored_jobs": ignored})
        return 0
    if ignored:
        program.complain(f"{ignored} jobs ignored for accounting. Jobs' master queue no longer exists.")
    if "csv" in fields:
        _print_csv(render.totals_titles(fields), render.totals_by_group(sums, fields))
    else:
        program.show(render.totals(sums, fields))
    return 0


def _show_reserved(fields: "Fields", source: "File | Index", wanted: "Fields") -> int:
    from clients.reserved_slots import reserved_slots

    use = reserved_slots(source, wanted)
    if "json" in fields:
        program.print_json({"reservation": use})
    elif "csv" in fields:
        _print_csv(list(use), [use])
    else:
        from clients.render.accounting import reservation

        program.show(reservation(use))
    return 0


def _summed(source: "File | Index", wanted: "Fields", group_by: "list[str]") -> "tuple[Sums, int]":
    return source.sums(wanted, group_by), 0


def _summed_with_requests(source: "File | Index", wanted: "Fields", group_by: "list[str]") -> "tuple[Sums, int]":
    """The totals, and of how many records the queue instance is gone (QA-3)."""
    chosen, known = frozenset(wanted.pop("instances")), frozenset(_instances({}))
    found, ignored = Sums(group_by), 0
    for (queue, host, *key), row in source.sums(wanted, ["qname", "hostname", *group_by]).rows():
        name = f"{queue}@{host}"
        if name in chosen:
            found.add_row(key, row)
        elif name not in known:
            ignored += int(row[0])
    return found, ignored


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
    """A row of names, then a row each; what is not there is empty."""
    import csv

    from gridengine.printable import printable

    rows = iter(rows)
    # before the titles are written, since the source may not answer
    first = next(rows, None)
    writer = csv.DictWriter(sys.stdout, titles, lineterminator="\n")
    writer.writeheader()
    if first is not None:
        writer.writerow(printable(first))
    writer.writerows(map(printable, rows))


def _show_records(fields: "Fields", found: "Iterator[AccountingRecord]") -> int:
    """-j: the records; what is not there is said on stderr."""
    seen: set[str] = set()
    used = Sums([])
    records = _noted(found, seen, used)
    if "json" in fields:
        from clients.render import json_records

        program.print_json(json_records.accounting_records(records))
    elif "csv" in fields:
        from clients.render import json_records

        _print_csv(json_records.accounting_titles(), map(json_records.accounting_fields, records))
    else:
        from clients.render.accounting import full_record, totals

        program.show(map(full_record, records))
        if not fields["job"]:
            program.show(totals(used, {}))
    sys.stdout.flush()
    return _say_missing(fields, seen)


def _noted(records: "Iterator[AccountingRecord]", seen: "set[str]", used: Sums) -> "Iterator[AccountingRecord]":
    """The records; their job numbers are in `seen` then, and what they used in `used`."""
    for record in records:
        seen.add(record.job_number)
        used.add(record)
        yield record


def _say_missing(fields: "Fields", seen: "set[str]") -> int:
    """Say which of the jobs that were named have no record; the exit status."""
    job = fields["job"]
    if not job:
        return 0
    if fields.get("tasks") and not seen:
        from gridengine.ranges import Ranges

        tasks = Ranges.parse(fields["tasks"])
        label = job if job.isdigit() else f'"{job}"'
        program.complain(f"error: Job-array tasks {label}.{tasks.first}-{tasks.last}:{tasks.step} not found")
        return 1
    ids = [part for part in job.split(",") if part.isdigit()]
    if not ids:
        if not seen:
            program.complain(f"error: job name {job} not found")
        return 0 if seen else 1
    missing = [number for number in ids if number not in seen]
    for number in missing:
        program.complain(f"error: job id {number} not found")
    return 1 if missing else 0


def main() -> int:
    return program.run("qacct", qacct)
