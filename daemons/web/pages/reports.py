"""The page of reports: a period by user, project, cluster queue or host, compared with the period before.

Owns the choice of period and groups by the address. `reports.report_source` has the figures. Source: AC-1; adr/0305.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from daemons.web.pages.formats import link, part
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, rows_of_page
from daemons.web.reports.report_source import LONGEST_S, ReportError
from gridengine.errors import InvalidValueError
from gridengine.usage.periods import LAST_MONTH, NAMED, Period, parse_period
from gridengine.usage.report import BY
from gridengine.usage.report_form import (
    CSV_COLUMNS,
    NOTE,
    TITLES,
    ReportLine,
    change_text,
    csv_rows,
    has_gpus,
    lines,
    notes,
    summary,
)

ROWS = 100
_ADDRESSES: dict[str, tuple[str, Callable[[str], str]]] = {
    "project": ("project", lambda name: f"/config/project/{part(name)}"),
    "queue": ("cluster_queue", lambda name: f"/queues/{part(name)}"),
    "host": ("exec_host", lambda name: f"/hosts/{part(name)}"),
}
"""The kind of object of each group, and the address of its page."""


class _Choice(NamedTuple):
    """`by`: a name of `BY`; `text`: of the period; `period`, `before`: None for an invalid
    text; `fault`: the reason."""

    by: str
    text: str
    period: Period | None
    before: Period | None
    fault: str = ""


async def reports(visit: Visit) -> Data:
    """The report, or the reason why there is none yet."""
    choice = _choice(visit)
    data: Data = {
        "by": choice.by, "period": choice.period, "text": choice.text, "fault": choice.fault, "report": None, "note": NOTE,
        "change_text": change_text,
        "kinds": [(title, link(visit.here, by=by), None) for by, title in TITLES.items()],
        "periods": [(title, _address(visit, name), None) for name, title in NAMED.items()],
        "tab": link(visit.here, by=choice.by), "period_tab": _address(visit, choice.text),
        "from": visit.parameter("from"), "to": visit.parameter("to"), "csv": link(visit.here, format="csv"),
    }
    if choice.period is None or choice.before is None:
        return data
    zone = visit.shared.zone
    data |= {"days": choice.period.days(zone), "days_before": choice.before.days(zone)}
    try:
        found = await visit.shared.reports.report(choice.by, choice.period, choice.before)
    except ReportError as fault:
        return data | {"fault": str(fault)}
    if found is None:
        return data
    shown, pager = rows_of_page(visit, lines(found), ROWS)
    targets = choice.by in ("user", "project") and any(line.target is not None for line in shown)
    return data | pager | {
        "report": found, "summary": summary(found), "notes": notes(found, zone), "targets": targets, "gpus": has_gpus(found),
        "rows": [(line, _object_address(visit, choice.by, line)) for line in shown],
    }


async def reports_csv(visit: Visit) -> CsvTable:
    """All groups of the report; waits for its figures. Raises NotFoundError."""
    choice = _choice(visit)
    if choice.period is None or choice.before is None:
        raise NotFoundError(choice.fault)
    try:
        found = await visit.shared.reports.report(choice.by, choice.period, choice.before, LONGEST_S)
    except ReportError as fault:
        raise NotFoundError(str(fault)) from None
    return CsvTable(f"report-{choice.by}", CSV_COLUMNS, csv_rows(found) if found is not None else [])


def _choice(visit: Visit) -> _Choice:
    by = visit.parameter("by") if visit.parameter("by") in BY else "user"
    first, last = visit.parameter("from"), visit.parameter("to")
    text = f"{first or last}..{last or first}" if first or last else visit.parameter("period") or LAST_MONTH
    try:
        return _Choice(by, text, *parse_period(text, time.time(), visit.shared.zone))
    except InvalidValueError as fault:
        return _Choice(by, text, None, None, str(fault))


def _address(visit: Visit, name: str) -> str:
    return link(visit.here, period=name, **{"from": None, "to": None})


def _object_address(visit: Visit, by: str, line: ReportLine) -> str:
    """The page of a group, "" if there is none."""
    name = line.now.name
    if by == "user":
        return link("/jobs", owner=name)
    kind, address = _ADDRESSES[by]
    return address(name) if name in visit.shared.mirror.state.kind(kind) else ""


PAGES = [Page("/reports", "reports.html", reports, csv=reports_csv)]
