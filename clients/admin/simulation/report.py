"""The output of `gridengine simulate`: measures, differences, shares of users and projects, and a line a task.

Owns the tables and the columns of the CSV. Called by `command`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from daemons.simulator.measures import ReplayMeasures, UsageShare, shares, slowdown
from daemons.simulator.replay import ReplayOutcome

Named = tuple[str, ReplayOutcome]
"""The directory of a configuration, and the outcome under it."""

_LABELS = {
    "tasks": "tasks that ended",
    "wait_mean": "waiting time, mean",
    "wait_median": "waiting time, median",
    "wait_90": "waiting time, 90 %",
    "slowdown_mean": "bounded slowdown, mean",
    "slowdown_median": "bounded slowdown, median",
    "slowdown_90": "bounded slowdown, 90 %",
    "utilisation": "utilisation of slots",
    "makespan": "first submission to last end",
    "fairness": "fairness among users",
}
_TIMES = frozenset({"wait_mean", "wait_median", "wait_90", "makespan"})
MOST_SHARES = 20
"""Users that are listed; the CSV has all."""
COLUMNS = "config job task user project slots submit start end wait run slowdown place killed".split()


def as_text(name: str, value: float) -> str:
    """A measure for people."""
    if name in _TIMES:
        return duration(value)
    return f"{100 * value:.1f} %" if name == "utilisation" else f"{value:.0f}" if name == "tasks" else f"{value:.3f}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, with a sign below 0."""
    whole = round(abs(seconds))
    return f"{'-' if seconds < 0 and whole else ''}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def summary(measured: ReplayMeasures) -> list[str]:
    """The measures of one configuration, one a line."""
    return _table([[label, as_text(name, getattr(measured, name))] for name, label in _LABELS.items()])


def comparison(first: tuple[str, ReplayMeasures], second: tuple[str, ReplayMeasures]) -> list[str]:
    """The measures of two configurations, and their differences."""
    rows = [["", first[0], second[0], "difference"]]
    for name, label in _LABELS.items():
        old, new = getattr(first[1], name), getattr(second[1], name)
        rows.append([label, as_text(name, old), as_text(name, new), _signed(as_text(name, new - old))])
    return _table(rows)


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def shares_table(what: str, outcomes: Sequence[Named]) -> list[str]:
    """The users or projects with the largest use; of two configurations the means of both."""
    rows = [[what, "tasks", "slot hours", "share"]]
    for number in range(len(outcomes)):
        mark = f" ({number + 1})" if len(outcomes) > 1 else ""
        rows[0] += [f"mean wait{mark}", f"slowdown{mark}"]
    by_name = [{share.name: share for share in _shares(what, outcome)} for _, outcome in outcomes]
    names = list(dict.fromkeys(name for each in by_name for name in each))
    for name in names[:MOST_SHARES]:
        of_each = [each.get(name) for each in by_name]
        first = next(share for share in of_each if share is not None)
        rows.append([name or "none", str(first.tasks), f"{first.used / 3600:.1f}", f"{100 * first.share:.1f} %"])
        for share in of_each:
            rows[-1] += [duration(share.wait_mean), f"{share.slowdown_mean:.3f}"] if share is not None else ["-", "-"]
    return [*_table(rows), *([f"and {len(names) - MOST_SHARES} more"] if len(names) > MOST_SHARES else [])]


def _shares(what: str, outcome: ReplayOutcome) -> list[UsageShare]:
    return shares(outcome.runs, (lambda run: run.owner) if what == "user" else (lambda run: run.project))


def as_csv(outcomes: Iterable[Named]) -> list[str]:
    """A line a task, behind a line of names. Times in seconds, moments in epoch seconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, outcome in outcomes:
        for run in outcome.runs:
            writer.writerow(
                [name, run.number, run.task, run.owner, run.project, run.slots]
                + [f"{value:.0f}" for value in (run.submit_time, run.start_time, run.end_time, run.wait_s, run.run_s)]
                + [f"{slowdown(run):.3f}", run.place, int(run.killed)]
            )
    return text.getvalue().splitlines(keepends=True)


def _table(rows: list[list[str]]) -> list[str]:
    """Columns: the first to the left, the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
