"""Reservations over time: a row for each host or cluster queue, the jobs that run there behind them. Source: GU-10; qrstat(1).

Owns the time window of an address, and the content of each row; `drawing.timeline` computes the positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any, NamedTuple

from daemons.web.drawing import timeline as drawing
from daemons.web.drawing.timeline import TimeSpan
from daemons.web.pages.formats import link, moment
from daemons.web.pages.option_values import date_text
from daemons.web.pages.page import Data, Visit, rows_of_page
from daemons.web.pages.states import reservation_badge
from gridengine.errors import InvalidValueError
from gridengine.placement.expected_start import run_time_limit
from gridengine.state.bookings import GLOBAL
from gridengine.values.units import INFINITY, format_time, parse_date_time

RowOf = Callable[[tuple[str, str, str]], str]
"""The row of a queue instance that is divided at its @."""
ROWS = 40
SPANS = {"6h": 6 * 3600, "1d": 86400, "3d": 3 * 86400, "1w": 7 * 86400, "4w": 28 * 86400}
_SPAN_LABELS = {"6h": "6 hours", "1d": "Day", "3d": "3 days", "1w": "Week", "4w": "4 weeks"}
_BEFORE = 8
"""The default window starts this fraction of its length before now."""
_ABOUT_NOW_S = 60


class _Window(NamedTuple):
    begin: float
    end: float
    span: str


async def time_line(visit: Visit, reservations: list[dict[str, Any]]) -> Data:
    """The rows of a page, by `by`, `row`, `from` and `span` of the address."""
    by, row_pattern = "queue" if visit.parameter("by") == "queue" else "host", visit.parameter("row")
    names = [name for name in _names(visit, by) if not row_pattern or fnmatchcase(name, row_pattern)]
    shown, pager = rows_of_page(visit, names, ROWS)
    window, now, zone = _window(visit), visit.shared.mirror.now, visit.shared.zone
    spans: dict[str, list[TimeSpan]] = {name: [] for name in shown}
    row_of: RowOf = itemgetter(0 if by == "queue" else 2)
    _add_jobs(visit, spans, row_of, window)
    _add_reservations(reservations, spans, row_of)
    step = window.end - window.begin
    moves = [("Earlier", window.begin - step / 2), ("Later", window.begin + step / 2)]
    return pager | {
        "line": drawing.draw(spans, window.begin, window.end, now, zone), "by": by, "row": row_pattern, "window": window,
        "ways": [(label, link(visit.here, **{"from": date_text(when, visit.shared.zone)})) for label, when in moves],
        "now_address": link(visit.here, **{"from": None}),
        "zooms": [(_SPAN_LABELS[each], link(visit.here, span=each), None) for each in SPANS],
        "zoom": link(visit.here, span=window.span),
        "labels": drawing.LABELS, "scale": drawing.SCALE, "head_height": drawing.HEAD, "followed": not visit.parameter("from"),
    }


def _window(visit: Visit) -> _Window:
    span = visit.parameter("span") if visit.parameter("span") in SPANS else "1d"
    length, now = SPANS[span], visit.shared.mirror.now
    try:
        begin = float(parse_date_time(visit.parameter("from"), now, visit.shared.zone))
    except InvalidValueError:
        begin = (now - length / _BEFORE) // 300 * 300
    return _Window(begin, begin + length, span)


def _names(visit: Visit, by: str) -> list[str]:
    state = visit.shared.mirror.state
    if by == "queue":
        return sorted(state.kind("cluster_queue"))
    return sorted(name for name in state.kind("exec_host") if name not in (GLOBAL, "template"))


def _add_reservations(reservations: Iterable[dict[str, Any]], spans: dict[str, list[TimeSpan]], row_of: RowOf) -> None:
    for reservation in reservations:
        slots: Counter[str] = Counter()
        for instance, count in reservation["granted"]:
            slots[row_of(instance.partition("@"))] += count
        badge, label = reservation_badge(reservation["state"]), f"{reservation['id']} {reservation['name']}".strip()
        times = (reservation["start_time"], reservation["end_time"])
        about = f"{label} of {reservation['owner']}: {badge.label}, {' to '.join(map(moment, times))}"
        wrong = "".join(f"; {text}" for text in reservation["errors"][:3])
        for row in slots.keys() & spans.keys():
            title = f"{about}, {slots[row]} of {slots.total()} slots{wrong}"
            spans[row].append(TimeSpan(*times, badge.tone, f"{badge.codes} {label}", title, f"/reservations/{reservation['id']}"))


def _add_jobs(visit: Visit, spans: dict[str, list[TimeSpan]], row_of: RowOf, window: _Window) -> None:
    """Add the running tasks, until the end of their time limit, or until now without a limit."""
    state, now = visit.shared.mirror.state, visit.shared.mirror.now
    for row in visit.shared.jobs.all:
        here = {row_of(instance.partition("@")) for instance in row.places} & spans.keys()
        if not here or row.time > window.end:
            continue
        job = state.jobs[row.id]
        limit = run_time_limit(state, job, job.tasks[int(row.tasks or 1)])
        end = max(now, row.time + limit) if limit != INFINITY else now
        label = f"until {moment(end)} at the latest" if limit != INFINITY else "without a time limit"
        title = f"job {row.target} {row.name} of {row.owner}, since {moment(row.time)}, {label}"
        for name in here:
            spans[name].append(TimeSpan(row.time, end, "busy", row.target, title, f"/jobs/{row.id}", lane=False))


def dragged_window(visit: Visit) -> dict[str, str]:
    """The dragged window (`begin` and `end` in the address, epoch s) as fields of the form that reserves.

    A window that starts about now gets no start: the start would be in the past when the form is sent.
    """
    begin, end = (visit.parameter(name) for name in ("begin", "end"))
    if not all(text.isascii() and text.isdigit() and len(text) < 12 for text in (begin, end)) or int(end) <= int(begin):
        return {}
    duration = {"-d": format_time(float(int(end) - int(begin)))}
    if int(begin) <= visit.shared.mirror.now + _ABOUT_NOW_S:
        return duration
    return {"-a": date_text(int(begin), visit.shared.zone), **duration}
