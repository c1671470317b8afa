"""Trends: plots of the cell, of a host and of a cluster queue over time. Source: adr/0290.

Owns spans, plots and units. The page is also a part of the overview and of the pages of hosts and queues, which load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from daemons.web.pages.formats import link
from daemons.web.pages.page import Data, NotFoundError, Page, Visit
from daemons.web.trends.cell_figures import exec_hosts
from daemons.web.trends.trend_store import CELL, GPU, HOST, QUEUE, Trend, series_name
from gridengine.state.state import State

DAY_S = 86_400.0
SPANS = {"24h": DAY_S, "7d": 7 * DAY_S, "30d": 30 * DAY_S, "360d": 360 * DAY_S}
"""Spans of an address, in seconds."""
_LABELS = {"24h": "24 hours", "7d": "7 days", "30d": "30 days", "360d": "360 days"}
_GROUP = "trends"
"""Plots of this group are zoomed together."""


class PlotLine(NamedTuple):
    """A line of a plot. `name`: as in the store; `label`: for people; `tone`: of style.css; `dash`: lengths of line and gap;
    `scale`: factor of the values."""

    name: str
    label: str
    tone: str
    dash: tuple[int, ...] = ()
    scale: float = 1.0


class TrendPlot(NamedTuple):
    """A plot with its `lines`. `title`: with the unit."""

    title: str
    lines: tuple[PlotLine, ...]


_LOAD = TrendPlot("Load per core", (PlotLine("load", "load", "warn"),))
_PLOTS = {
    CELL: (
        TrendPlot("Slots", (
            PlotLine("used", "used", "accent"), PlotLine("reserved", "reserved", "mark", (8, 3)),
            PlotLine("free", "free", "ok", (2, 2)), PlotLine("down", "down", "bad", (4, 4)),
        )),
        TrendPlot("Tasks", (PlotLine("pending", "pending", "wait", (4, 3)), PlotLine("running", "running", "accent"))),
        _LOAD,
    ),
    HOST: (
        _LOAD,
        TrendPlot("Used memory in percent", (PlotLine("memory", "memory", "mark", scale=100.0),)),
        TrendPlot("Used slots", (PlotLine("used", "used", "accent"),)),
    ),
    GPU: (TrendPlot("GPUs", (
        PlotLine("used", "held by jobs", "accent"), PlotLine("busy", "busy", "ok", (2, 2)),
        PlotLine("total", "total", "wait", (4, 3)),
    )),),
    QUEUE: (TrendPlot("Slots", (PlotLine("used", "used", "accent"), PlotLine("total", "total", "wait", (4, 3)))),),
}


def span_of(visit: Visit) -> str:
    """The span in the address, by default a day."""
    return visit.parameter("span") if visit.parameter("span") in SPANS else "24h"


def trend_panel(visit: Visit, kind: str = CELL, name: str = "") -> Data:
    """The data of the part of a page that shows trends: spans to choose from, and the address of the plots."""
    span = span_of(visit)
    address = f"/trends?{urlencode({'span': span} | ({kind: name} if name else {}))}"
    tabs = [(label, link(visit.here, span=each), None) for each, label in _LABELS.items()]
    return {"trend_address": address, "trend_tabs": tabs, "trend_tab": link(visit.here, span=span)}


def series_of(state: State, host: str, queue: str) -> tuple[str, str]:
    """Kind and name of the series for a host, else a queue, else the cell. Raises NotFoundError."""
    if host:
        if host not in exec_hosts(state):
            raise NotFoundError(f"There is no execution host {host}")
        return HOST, host
    if queue and queue not in state.kind("cluster_queue"):
        raise NotFoundError(f"There is no cluster queue {queue}")
    return (QUEUE, queue) if queue else (CELL, "")


async def trends(visit: Visit) -> Data:
    """The plots of a span, and the figures of each line for visitors without JavaScript."""
    shared, span = visit.shared, span_of(visit)
    kind, name = series_of(shared.mirror.state, visit.parameter("host"), visit.parameter("queue"))
    trend = await shared.trends.read(series_name(kind, name), SPANS[span], shared.mirror.now)
    plots = [_shown(plot, trend) for plot in _PLOTS[kind]] if trend.times else []
    if kind == CELL:
        gpus = await shared.trends.read(series_name(GPU), SPANS[span], shared.mirror.now)
        plots += [_shown(plot, gpus) for plot in _PLOTS[GPU]] if gpus.times else []
    tabs = [(label, link(visit.here, span=each), None) for each, label in _LABELS.items()]
    return {
        "title": {CELL: "the cell", HOST: f"host {name}", QUEUE: f"cluster queue {name}"}[kind], "plots": plots,
        "more": {"pad": trend.step_s, "group": _GROUP}, "tabs": tabs, "tab": link(visit.here, span=span),
        "begin": trend.times[0] if trend.times else 0,
    }


def _shown(plot: TrendPlot, trend: Trend) -> Data:
    lines, figures = [], []
    for each in plot.lines:
        values = [None if value is None else _rounded(value * each.scale) for value in trend.values[each.name]]
        lines.append({"label": each.label, "values": values, "tone": each.tone, "dash": each.dash})
        figures.append((each.label, *_extremes(values)))
    return {"title": plot.title, "times": trend.times, "lines": lines, "figures": figures}


def _rounded(value: float) -> float:
    """Three significant digits after the point at most; a whole number as an integer."""
    rounded = round(value, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def _extremes(values: Sequence[float | None]) -> tuple[Any, ...]:
    """The last, the lowest, the mean and the highest value."""
    known = [value for value in values if value is not None]
    if not known:
        return (None,) * 4
    return values[-1], min(known), _rounded(sum(known) / len(known)), max(known)


PAGES = [Page("/trends", "trends.html", trends)]
