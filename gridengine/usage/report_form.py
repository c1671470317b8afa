"""The forms of a report: JSON for programs, rows of a CSV file, a text for terminals and mail, and an HTML document.

Owns the columns, their units and their labels. Pure. Called by the web server, its monthly mail and `gridengine report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from html import escape
from typing import Any, NamedTuple

from gridengine.usage.periods import Period
from gridengine.usage.report import ReportRow, ReportTable, change
from gridengine.values.printable import printable
from gridengine.values.quantities import clock_text
from gridengine.values.units import counted, format_duration

TITLES = {"user": "User", "project": "Project", "queue": "Cluster queue", "host": "Host"}
MOST_TEXT_ROWS = 40
"""Rows of a text; the other forms have all rows."""
CSV_COLUMNS = (
    "name", "tasks", "slot_hours", "slot_hours_before", "slot_hours_change_percent", "share_percent", "target_percent",
    "utilisation_percent", "wait_median_s", "wait_median_before_s", "wait_p90_s", "wait_p90_before_s", "cpu_hours",
    "wallclock_hours", "cpu_percent", "memory_percent", "failed", "failed_before", "failed_percent", "lost_slot_hours",
    "gpu_hours",
)
NOTE = "An ended task counts in the period in which it started, as for qacct -b -e. Slot hours are those within the period."
_HOUR_S = 3600.0


class Basis(NamedTuple):
    """The present `slots` of the cell, `of_queues` and `of_hosts` by their names; `targets`: parts of the share tree by
    the names of its nodes, 0..1; {} without a tree."""

    slots: int
    of_queues: Mapping[str, int]
    of_hosts: Mapping[str, int]
    targets: Mapping[str, float]


class Report(NamedTuple):
    """A report `by` user, project, queue or host: the `table` of the `period`, and `table_before` of the period `before`.

    `first`: epoch s of the end of the first record, None without records; `reaches_back`: whether records reach back to the
    period before; `faults`: number of lines that are no records; `basis`: for utilisation and targets.
    """

    by: str
    period: Period
    before: Period
    table: ReportTable
    table_before: ReportTable
    first: float | None
    reaches_back: bool
    faults: int
    basis: Basis


class ReportLine(NamedTuple):
    """A group of a report: `now`, and `before` in the period before. `part`: of all used slot hours; `target`: by the share tree;
    `utilisation`: of the slots that the group has. Parts are 0..1, None if unknown."""

    now: ReportRow
    before: ReportRow
    part: float | None
    target: float | None
    utilisation: float | None

    def change(self, field: str) -> float | None:
        """The difference of a figure to the period before, in percent."""
        return change(getattr(self.now, field), getattr(self.before, field))


def basis_of(instances: Iterable[tuple[str, int]], share_tree: Sequence[Mapping[str, Any]] | None) -> Basis:
    """The basis, from the slots of each queue instance by its name, and from the rows of the query `share_tree`."""
    of_queues: dict[str, int] = {}
    of_hosts: dict[str, int] = {}
    total = 0
    for name, slots in instances:
        queue, _, host = name.partition("@")
        of_queues[queue] = of_queues.get(queue, 0) + slots
        of_hosts[host] = of_hosts.get(host, 0) + slots
        total += slots
    targets: dict[str, float] = {}
    for row in share_tree or ():
        leaf = str(row["node_name"]).rpartition("/")[2]
        if leaf:
            targets[leaf] = targets.get(leaf, 0.0) + float(row["total%"])
    return Basis(total, of_queues, of_hosts, targets)


def lines(report: Report) -> list[ReportLine]:
    """All groups, in the order of their slot hours."""
    before = {row.name: row for row in report.table_before.rows}
    return [_line(report, row, before.get(row.name) or ReportRow(row.name)) for row in report.table.rows]


def total_line(report: Report) -> ReportLine:
    """The whole cell."""
    return _line(report, report.table.total, report.table_before.total, is_total=True)


def _line(report: Report, row: ReportRow, before: ReportRow, is_total: bool = False) -> ReportLine:
    basis, whole = report.basis, report.table.total.slot_s
    groups: Mapping[str, Mapping[str, int]] = {"queue": basis.of_queues, "host": basis.of_hosts}
    slots = basis.slots if is_total else groups.get(report.by, {}).get(row.name, 0)
    available_s = slots * report.period.length_s
    return ReportLine(
        row, before, part=row.slot_s / whole if whole else None,
        target=basis.targets.get(row.name) if report.by in ("user", "project") and not is_total else None,
        utilisation=row.slot_s / available_s if available_s else None,
    )


def notes(report: Report, zone: tzinfo | None) -> list[str]:
    """Sentences about the reach of the records."""
    found = []
    if report.first is None:
        found.append("The accounting file has no records.")
    elif not report.reaches_back:
        begin = datetime.fromtimestamp(report.first, zone)
        found.append(f"The records begin on {begin:%Y-%m-%d %H:%M}: earlier tasks are missing, also in the comparison.")
    if report.faults:
        found.append(f"{counted(report.faults, 'line')} of the accounting file are no records and were left out.")
    return found


def as_json(report: Report) -> dict[str, Any]:
    """The report for programs: times in epoch s, durations in s, parts 0..1."""
    return {
        "by": report.by, "period": report.period._asdict(), "before": report.before._asdict(),
        "slots": report.basis.slots, "first_record": report.first, "reaches_back": report.reaches_back,
        "invalid_lines": report.faults, "total": _json_line(total_line(report)),
        "rows": [_json_line(line) for line in lines(report)],
    }


def _json_line(line: ReportLine) -> dict[str, Any]:
    parts = {"share": line.part, "target": line.target, "utilisation": line.utilisation}
    return _json_row(line.now) | parts | {"before": _json_row(line.before)}


def _json_row(row: ReportRow) -> dict[str, Any]:
    parts = {"cpu_part": row.cpu_part, "memory_part": row.memory_part, "failed_part": row.failed_part}
    return row._asdict() | parts


def csv_rows(report: Report) -> list[list[Any]]:
    """A row for each group, with the columns `CSV_COLUMNS`; an unknown value is an empty cell."""
    return [_csv_row(line) for line in lines(report)]


def _csv_row(line: ReportLine) -> list[Any]:
    now, before = line.now, line.before
    return [
        now.name, now.tasks, _hours(now.slot_s), _hours(before.slot_s), _rounded(line.change("slot_s")), _percent(line.part),
        _percent(line.target), _percent(line.utilisation), _rounded(now.wait_median), _rounded(before.wait_median),
        _rounded(now.wait_p90), _rounded(before.wait_p90), _hours(now.cpu), _hours(now.wallclock), _percent(now.cpu_part),
        _percent(now.memory_part), now.failed, before.failed, _percent(now.failed_part), _hours(now.lost_s), _hours(now.gpu_s),
    ]


def _hours(seconds: float) -> float:
    return round(seconds / _HOUR_S, 3)


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 1)


def _percent(part: float | None) -> float | str:
    return "" if part is None else round(100 * part, 2)


# --- text and HTML ------------------------------------------------------------------------------------------------------------


def change_text(value: float | None) -> str:
    """`+12 %`, or `±0 %`; "" for an unknown difference."""
    if value is None:
        return ""
    return f"{value:+,.0f} %" if round(value) else "±0 %"


def part_text(part: float | None) -> str:
    """`61 %`; `-` for an unknown part."""
    return "-" if part is None else f"{100 * part:.0f} %"


def hours_text(seconds: float) -> str:
    """`1,234.5`: hours with a tenth below 10,000."""
    hours = seconds / _HOUR_S
    return f"{hours:,.1f}" if hours < 10_000 else f"{hours:,.0f}"


def wait_text(seconds: float | None) -> str:
    """`00:12:30`; `-` for none."""
    return "-" if seconds is None else clock_text(seconds)


class Fact(NamedTuple):
    """A fact of the whole cell, as texts: `label`, `figure`, a `detail` and the `difference` to the period before."""

    label: str
    figure: str
    detail: str
    difference: str


def summary(report: Report) -> list[Fact]:
    """The facts of the whole cell."""
    line = total_line(report)
    now = line.now
    waits = [("-" if each is None else format_duration(each)) for each in (now.wait_median, now.wait_p90)]
    of_slots = f"{counted(report.basis.slots, 'slot')}, {hours_text(now.slot_s)} slot hours"
    lost = f"{part_text(now.failed_part)} of the tasks, {hours_text(now.lost_s)} slot hours"
    gpus = [Fact("GPUs", f"{hours_text(now.gpu_s)} hours", "held", change_text(line.change("gpu_s")))] if has_gpus(report) else []
    return [
        Fact("Utilisation", part_text(line.utilisation), of_slots, change_text(line.change("slot_s"))),
        *gpus,
        Fact("Tasks", f"{now.tasks:,}", "", change_text(line.change("tasks"))),
        Fact("Waiting time, median", waits[0], "", change_text(line.change("wait_median"))),
        Fact("Waiting time, 90th percentile", waits[1], "", change_text(line.change("wait_p90"))),
        Fact("CPU time", part_text(now.cpu_part), "of slots × run time", change_text(line.change("cpu_part"))),
        Fact("Peak memory", part_text(now.memory_part), "of requests", change_text(line.change("memory_part"))),
        Fact("Failures", f"{now.failed:,}", lost if now.tasks else "", change_text(line.change("failed"))),
    ]


def has_gpus(report: Report) -> bool:
    """Whether a task of one of the two periods had a GPU."""
    return bool(report.table.total.gpu_s or report.table_before.total.gpu_s)


def columns(report: Report) -> list[str]:
    """Titles of the columns of text and HTML."""
    special = {"queue": ["Utilisation"], "host": ["Utilisation"]}.get(report.by, ["Share", "Target"])
    if has_gpus(report):
        special = [*special, "GPU hours"]
    rest = ["Wait median", "Wait 90 %", "CPU", "Memory", "Failed", "Hours lost"]
    return [TITLES[report.by], "Tasks", "Slot hours", "Change", *special, *rest]


def cells(report: Report, line: ReportLine) -> list[str]:
    """The texts of a row, below `columns`."""
    now = line.now
    is_place = report.by in ("queue", "host")
    special = [part_text(line.utilisation)] if is_place else [part_text(line.part), part_text(line.target)]
    if has_gpus(report):
        special.append(hours_text(now.gpu_s))
    return [
        str(printable(now.name)), f"{now.tasks:,}", hours_text(now.slot_s), change_text(line.change("slot_s")) or "-", *special,
        wait_text(now.wait_median), wait_text(now.wait_p90), part_text(now.cpu_part), part_text(now.memory_part),
        f"{now.failed:,}", hours_text(now.lost_s),
    ]


def title(report: Report, cell: str, zone: tzinfo | None) -> str:
    """One line: the cell, the group and the days."""
    return f"Grid Engine cell {cell}: report by {TITLES[report.by].lower()}, {report.period.days(zone)}"


def as_text(report: Report, cell: str, zone: tzinfo | None) -> str:
    """The report as plain text, the largest groups only."""
    shown = lines(report)
    head = [title(report, cell, zone), f"compared with {report.before.days(zone)}", ""]
    for fact in summary(report):
        difference = f"({fact.difference})" if fact.difference else ""
        head.append(" ".join(filter(None, (f"{fact.label:<30}", fact.figure, fact.detail, difference))))
    table = [columns(report), *(cells(report, line) for line in shown[:MOST_TEXT_ROWS])]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = [_padded(row, widths) for row in table] if shown else ["No task in this period."]
    if len(shown) > MOST_TEXT_ROWS:
        rows.append(f"and {len(shown) - MOST_TEXT_ROWS} more")
    return "\n".join([*head, "", *rows, "", *notes(report, zone), NOTE]) + "\n"


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = row
    return "  ".join([first.ljust(widths[0]), *(text.rjust(width) for text, width in zip(others, widths[1:], strict=True))])


_STYLE = "body{font:15px sans-serif;margin:24px}table{border-collapse:collapse}td,th{padding:4px 10px;text-align:right;" \
    "border-bottom:1px solid #ccc}td:first-child,th:first-child{text-align:left}small{color:#555}"


def as_html(report: Report, cell: str, zone: tzinfo | None) -> str:
    """The report as an HTML document of its own, for mail programs and files."""
    heading = escape(title(report, cell, zone))
    facts = "".join(_html_row(row, "td") for row in summary(report))
    table = _html_row(columns(report), "th") + "".join(_html_row(cells(report, line), "td") for line in lines(report))
    texts = "".join(f"<p><small>{escape(text)}</small></p>" for text in (*notes(report, zone), NOTE))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title><style>{_STYLE}</style></head>'
        f"<body><h1>{heading}</h1><p>Compared with {report.before.days(zone)}.</p><table>{facts}</table>"
        f"<h2>By {TITLES[report.by].lower()}</h2><table>{table}</table>{texts}</body></html>\n"
    )


def _html_row(texts: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"
