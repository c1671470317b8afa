"""Accounting as qacct prints it: whole records, and totals by groups.

Owns these two text formats. Called by qacct. Source: qacct(1), QA-1 … QA-8, AC-2; O for labels and widths.
"""

from gridengine.usage import failed
from gridengine.usage.accounting import FIELDS, SUMMED_FIELDS, AccountingRecord, Sums
from gridengine.values.printable import printable
from gridengine.values.quantities import long_date, plain_number, size_text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Group = tuple[str, str, str, bool]

RULE = "=" * 62 + "\n"
_GIGABYTE = 2**30

#: (label, field, format) in order
LINES = (
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
    *((name, name, "whole") for name in "ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv".split()),
    *((name, name, "whole") for name in "ru_nsignals ru_nvcsw ru_nivcsw".split()),
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
    """A record as -j prints it, below a rule."""
    fields = dict(zip(FIELDS, record, strict=False))
    lines = [f"{label:<12} {_value(fields[field], kind)}\n" for label, field, kind in LINES]
    lines += [f"{label:<12} {text}\n" for label, text in printable(record.notes).items()]
    if used := record.unit_usage:
        from gridengine.usage.unit_usage import UNIT_USAGE, text

        lines += [f"{UNIT_USAGE:<12} {printable(text(each))}\n" for each in used]
    return RULE + "".join(lines)


def _value(text: str, kind: str) -> str:
    if kind == "plain":
        return str(printable(text))
    if kind == "text":
        return f"{printable(text):<20}"
    # float accepts white space beside a number, which lines of files may have
    text = text.strip()
    number = float(text)
    if kind == "whole":
        return f"{int(number):<20}"
    if kind == "number":
        return f"{text:<20}" if number else "undefined"
    if kind == "date":
        return long_date(number) if number else "-/-"
    if kind == "date or undefined":
        return long_date(number) if number else "undefined"
    if kind == "failed":
        reason = failed.TEXTS.get(int(number), failed.UNKNOWN if number else "")
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
    except (ValueError, OverflowError):
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
    ("pe", "PE", "granted_pe", False),
    ("slots", "SLOTS", "slots", True),
    ("ar", "AR", "arid", True),
    ("account", "ACCOUNT", "account", False),
)
#: of SUMMED, with their units
_SUM_NAMES = ("wallclock_s", "utime_s", "stime_s", "cpu_s", "mem_gb_s", "io_gb", "iow_s")
_TITLES = "{:>13} {:>13} {:>13} {:>13} {:>18} {:>18} {:>18}".format(*"WALLCLOCK UTIME STIME CPU MEMORY IO IOW".split())
_ROW = "{:13.0f} {:13.3f} {:13.3f} {:13.3f} {:18.3f} {:18.3f} {:18.3f}"


def reservation(use: "dict[str, Any]") -> "Iterator[str]":
    """The slots of a reservation and their use, a line per field, as of records (AR-124)."""
    yield RULE
    for label, value in printable(use).items():
        name, unit = label.removesuffix("_s"), ""
        if label.endswith("_time_s"):
            value = long_date(value)
        elif label.endswith("_slot_s"):
            name, value, unit = label.removesuffix("_slot_s"), f"{value:.3f}", " slot s"
        elif label.endswith("_share"):
            value, unit = f"{100 * value:.1f}", " %"
        yield f"{name:<16} {value}{unit}\n"


def group_by(fields: "dict[str, Any]") -> "list[str]":
    """The fields of records that the options group by, in the order of the columns (QA-1, QA-2)."""
    return [field for _, _, field, _ in _groups(fields)]


def _groups(fields: "dict[str, Any]") -> "list[Group]":
    return [group for group in _GROUPS if group[0] in fields or (group[0] == "host" and fields.get("queue"))]


def _rows(sums: Sums, groups: "list[Group]") -> "list[tuple[tuple[str, ...], list[float]]]":
    """The values of the groups and their sums, in order; without groups always a single row."""
    if not groups:
        return [((), sums.by_key.get((), [0.0] * (1 + len(SUMMED_FIELDS)))[1:])]
    return [(key, sums.by_key[key][1:]) for key in sorted(sums.by_key, key=lambda key: _order(key, groups))]


def totals(sums: Sums, fields: "dict[str, Any]") -> "Iterator[str]":
    """The table of sums, a row for each combination of values of the groups (QA-1, QA-2)."""
    groups = _groups(fields)
    if not groups:
        yield "Total System Usage\n"
    widths = []
    for index, (option, title, _, numeric) in enumerate(groups):
        requested = fields.get(option, "") if option not in ("queue", "host") or "@" not in fields.get("queue", "") else ""
        longest = (len(key[index]) for key in sums.by_key)
        widths.append(max([len(title), len(str(requested)), 5 if numeric else 0, *longest]))
    titles = "".join(f"{title:<{width}} " for (_, title, _, _), width in zip(groups, widths, strict=True))
    yield f"{titles}{_TITLES}\n{'=' * (len(titles) + len(_TITLES))}\n"
    for key, row in _rows(sums, groups):
        cells = "".join(
            f"{value:>{width}} " if group[3] else f"{value:<{width}} "
            for value, width, group in zip(key, widths, groups, strict=True)
        )
        yield f"{cells}{_ROW.format(*row)}\n"


def totals_by_group(sums: Sums, fields: "dict[str, Any]") -> "list[dict[str, Any]]":
    """The totals as plain data: the values of the groups, then the sums with their units."""
    groups = _groups(fields)
    return [
        {group[0]: int(value) if group[3] else value for group, value in zip(groups, key, strict=True)}
        | dict(zip(_SUM_NAMES, map(plain_number, row), strict=True))
        for key, row in _rows(sums, groups)
    ]


def totals_titles(fields: "dict[str, Any]") -> "list[str]":
    """The names of the fields of `totals_by_group`, in order."""
    return [*(group[0] for group in _groups(fields)), *_SUM_NAMES]


def _order(key: tuple[str, ...], groups: "list[Group]") -> "list[Any]":
    return [int(value) if group[3] else value for value, group in zip(key, groups, strict=True)]
