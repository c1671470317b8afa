"""Accounting as qacct prints it: whole records, and totals grouped by what was asked.

Owns these two text formats. Called by qacct. Source: qacct(1), QA-1 … QA-8, AC-2; O for labels and widths.
"""

from clients.render.printable import printable
from clients.render.quantities import long_date, size_text
from gridengine import failed
from gridengine.accounting import FIELDS, AccountingRecord

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_RULE = "=" * 62 + "\n"
_GIGABYTE = 2**30

#: (label, field, how it is printed) in order
_LINES = (
    ("qname", "qname", "text"),
    ("hostname", "hostname", "text"),
    ("group", "group", "text"),
    ("owner", "owner", "text"),
    ("project", "project", "text"),
    ("department", "department", "text"),
    ("jobname", "job_name", "text"),
    ("jobnumber", "job_number", "text"),
    ("taskid", "task_number", "number"),
    ("account", "account", "text"),
    ("priority", "priority", "text"),
    ("qsub_time", "submission_time", "date"),
    ("start_time", "start_time", "date"),
    ("end_time", "end_time", "date"),
    ("granted_pe", "granted_pe", "text"),
    ("slots", "slots", "text"),
    ("failed", "failed", "failed"),
    ("exit_status", "exit_status", "exit"),
    ("ru_wallclock", "ru_wallclock", "whole seconds"),
    ("ru_utime", "ru_utime", "seconds"),
    ("ru_stime", "ru_stime", "seconds"),
    ("ru_maxrss", "ru_maxrss", "bytes"),
    ("ru_ixrss", "ru_ixrss", "bytes"),
    ("ru_ismrss", "ru_ismrss", "bytes"),
    ("ru_idrss", "ru_idrss", "bytes"),
    ("ru_isrss", "ru_isrss", "bytes"),
    *((name, name, "text") for name in "ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv".split()),
    *((name, name, "text") for name in "ru_nsignals ru_nvcsw ru_nivcsw".split()),
    ("cpu", "cpu", "seconds"),
    ("mem", "mem", "gigabyte seconds"),
    ("io", "io", "gigabytes"),
    ("iow", "iow", "seconds"),
    ("maxvmem", "maxvmem", "bytes"),
    ("arid", "arid", "number"),
    ("ar_sub_time", "ar_sub_time", "date or undefined"),
    ("category", "category", "plain"),
)


def full_record(record: AccountingRecord) -> str:
    """A record as -j prints it, its rule in front."""
    fields = dict(zip(FIELDS, printable(list(record)), strict=False))
    lines = [f"{label:<12} {_value(fields[field], kind)}\n" for label, field, kind in _LINES]
    lines += [f"{label:<12} {text}\n" for label, text in printable(record.notes).items()]
    return _RULE + "".join(lines)


def _value(text: str, kind: str) -> str:
    if kind == "plain":
        return text
    if kind == "text":
        return f"{text:<20}"
    number = float(text)
    if kind == "number":
        return f"{text:<20}" if number else "undefined"
    if kind == "date":
        return long_date(number) if number else "-/-"
    if kind == "date or undefined":
        return long_date(number) if number else "undefined"
    if kind == "failed":
        reason = failed.TEXTS.get(int(number), "")
        return f"{text:<3} {': ' + reason if reason else ' '}"
    if kind == "exit":
        return f"{text:<20}{_signal(int(number))}"
    if kind == "whole seconds":
        return f"{number:.0f}s"
    if kind == "seconds":
        return f"{number:.3f}s"
    if kind == "bytes":
        return f"{size_text(number, 3)}B"
    return f"{size_text(number * _GIGABYTE, 3)}B{'s' if kind == 'gigabyte seconds' else ''}"


def _signal(status: int) -> str:
    if status <= 128:
        return ""
    import signal

    try:
        name = signal.strsignal(status - 128)
    except ValueError:
        name = None
    return f" ({name})" if name else ""


#: columns of the totals, in their order: option field, title, field of the record, whether it is a number
_GROUPS = (
    ("host", "HOST", "hostname", False),
    ("queue", "CLUSTER QUEUE", "qname", False),
    ("group", "GROUP", "group", False),
    ("owner", "OWNER", "owner", False),
    ("project", "PROJECT", "project", False),
    ("department", "DEPARTMENT", "department", False),
    ("account", "ACCOUNT", "account", False),
    ("pe", "PE", "granted_pe", False),
    ("slots", "SLOTS", "slots", True),
    ("ar", "AR", "arid", True),
)
_SUMS = ("ru_wallclock", "ru_utime", "ru_stime", "cpu", "mem", "io", "iow")
_TITLES = "{:>13} {:>13} {:>13} {:>13} {:>18} {:>18} {:>18}".format(*"WALLCLOCK UTIME STIME CPU MEMORY IO IOW".split())
_ROW = "{:13.0f} {:13.3f} {:13.3f} {:13.3f} {:18.3f} {:18.3f} {:18.3f}"


def totals(records: "list[AccountingRecord]", fields: "dict[str, Any]") -> "Iterator[str]":
    """The table of sums, a row for each combination of what the options group by (QA-1, QA-2)."""
    groups, sums = _summed(records, fields)
    if not groups:
        yield "Total System Usage\n"
    widths = []
    for index, (option, title, _, numeric) in enumerate(groups):
        asked = fields.get(option, "") if option not in ("queue", "host") or "@" not in fields.get("queue", "") else ""
        widths.append(max([len(title), len(str(asked)), 5 if numeric else 0, *(len(key[index]) for key in sums)]))
    titles = "".join(f"{title:<{width}} " for (_, title, _, _), width in zip(groups, widths, strict=True))
    yield f"{titles}{_TITLES}\n{'=' * (len(titles) + len(_TITLES))}\n"
    for key in sorted(sums, key=lambda key: _order(key, groups)):
        cells = "".join(
            f"{value:>{width}} " if group[3] else f"{value:<{width}} "
            for value, width, group in zip(key, widths, groups, strict=True)
        )
        yield f"{cells}{_ROW.format(*sums[key])}\n"


def _summed(
    records: "list[AccountingRecord]", fields: "dict[str, Any]"
) -> "tuple[list[tuple[str, str, str, bool]], dict[tuple[str, ...], list[float]]]":
    """The columns that records are grouped by, and the sums for each of their values."""
    groups = [group for group in _GROUPS if group[0] in fields or (group[0] == "host" and fields.get("queue"))]
    sums: dict[tuple[str, ...], list[float]] = {}
    for record in records:
        key = tuple(getattr(record, field) for _, _, field, _ in groups)
        row = sums.setdefault(key, [0.0] * len(_SUMS))
        for index, name in enumerate(_SUMS):
            row[index] += float(getattr(record, name))
    if not groups:
        sums.setdefault((), [0.0] * len(_SUMS))
    return groups, sums


def totals_by_group(records: "list[AccountingRecord]", fields: "dict[str, Any]") -> "list[dict[str, Any]]":
    """The totals as plain data: what they are grouped by, then the sums with their units."""
    groups, sums = _summed(records, fields)
    names = ("wallclock_s", "utime_s", "stime_s", "cpu_s", "mem_gb_s", "io_gb", "iow_s")
    return [
        {group[0]: int(value) if group[3] else value for group, value in zip(groups, key, strict=True)}
        | dict(zip(names, sums[key], strict=True))
        for key in sorted(sums, key=lambda key: _order(key, groups))
    ]


def _order(key: tuple[str, ...], groups: "list[Any]") -> "list[Any]":
    return [int(value) if group[3] else value for value, group in zip(key, groups, strict=True)]
