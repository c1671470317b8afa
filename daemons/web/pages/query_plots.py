"""Plots of stored queries, computed for the pages from the plot definition of a query: lines over time, bars, points.

Owns the figures, not the drawing. Kinds of plots: `daemons/dbwriter/queries.py`. Called by the pages of accounting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

_MOST_LINES, _MOST_BARS, _MOST_POINTS, _MOST_PANELS = 6, 20, 2000, 6

Row = Sequence[Any]
Plot = Mapping[str, Any]


class Lines(NamedTuple):
    """`times` in epoch s; `lines`: each has a value, or None, for each time. `title`: of the plot, with the measured quantity."""

    kind: str
    title: str
    times: list[float]
    lines: list[dict[str, Any]]


class LongBars(NamedTuple):
    """`of`: the meaning of the names; `unit`: of the values. `bars`: (name, fraction of the longest bar, value) each."""

    kind: str
    title: str
    of: str
    unit: str
    bars: list[tuple[str, float, float]]


class Points(NamedTuple):
    """`points`: (x, y) each, as fractions of the ends of the axes (`x_end`, `y_end`). `x_label`: of the first axis. `diagonal`:
    the meaning of equal values, "" for none."""

    kind: str
    title: str
    points: list[tuple[float, float]]
    x_label: str
    x_end: float
    y_end: float
    diagonal: str


def plots_of(
    columns: Sequence[str], types: Sequence[str], rows: Sequence[Row], plot: Plot | None
) -> list[Lines | LongBars | Points]:
    """The plots of an answer, a plot per panel; empty if there is no data, or columns of the plot are missing."""
    if not plot or not {*_ys(plot), plot["x"], plot.get("series", plot["x"]), plot.get("panels", plot["x"])} <= {*columns}:
        return []
    panels: dict[str, list[Row]] = {}
    for row in rows:
        panels.setdefault(str(row[columns.index(plot["panels"])]) if "panels" in plot else "", []).append(row)
    drawn = [_panel(columns, types, panels[name], plot, name) for name in list(panels)[:_MOST_PANELS]]
    return [each for each in drawn if each is not None]


def _ys(plot: Plot) -> list[str]:
    return plot["y"] if isinstance(plot["y"], list) else [plot["y"]]


def _panel(
    columns: Sequence[str], types: Sequence[str], rows: Sequence[Row], plot: Plot, name: str
) -> Lines | LongBars | Points | None:
    if plot["kind"] == "scatter":
        return _points(columns, rows, plot)
    x, sums = columns.index(plot["x"]), _sums(columns, rows, plot)
    unit = str(plot.get("y_label", _ys(plot)[0]))
    if types[x] in ("time", "date"):
        return _lines(sums, name or unit)
    return _bars(sums, plot, unit)


def _sums(columns: Sequence[str], rows: Sequence[Row], plot: Plot) -> dict[str, dict[Any, float]]:
    """The values by series and x; values with the same series and x are summed up."""
    x, sums = columns.index(plot["x"]), dict[str, dict[Any, float]]()
    for row in rows:
        for name in _ys(plot):
            value = _number(row[columns.index(name)], plot.get("y_scale", 1))
            if value is None or row[x] is None:
                continue
            series = str(row[columns.index(plot["series"])] or "none") if "series" in plot else name
            of_series = sums.setdefault(series, {})
            of_series[row[x]] = of_series.get(row[x], 0.0) + value
    return sums


def _number(value: Any, scale: float) -> float | None:
    """A value of a row in units of the plot; None for values that cannot be drawn."""
    try:
        number = float(value) / scale
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _lines(sums: dict[str, dict[Any, float]], title: str) -> Lines | None:
    """The lines with the largest sums."""
    names = sorted(sums, key=lambda name: -sum(sums[name].values()))[:_MOST_LINES]
    keys = sorted({key for name in names for key in sums[name]}, key=_epoch)
    lines = [{"label": name, "values": [sums[name].get(key) for key in keys]} for name in names]
    return Lines("lines", title, [_epoch(key) for key in keys], lines) if keys else None


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _bars(sums: dict[str, dict[Any, float]], plot: Plot, unit: str) -> LongBars | None:
    """A bar for each x, summed over all series: in the order of the rows, for a ranking from the longest bar on."""
    totals: dict[Any, float] = {}
    for values in sums.values():
        for key, value in values.items():
            totals[key] = totals.get(key, 0.0) + value
    keys = sorted(totals, key=lambda key: -totals[key]) if plot["kind"] == "ranking" else list(totals)
    longest = max(totals.values(), default=0.0) or 1.0
    bars = [(str(key), max(totals[key], 0.0) / longest, totals[key]) for key in keys[: int(plot.get("most", _MOST_BARS))]]
    return LongBars("bars", unit, str(plot.get("x_label", plot["x"])), unit, bars) if bars else None


def _points(columns: Sequence[str], rows: Sequence[Row], plot: Plot) -> Points | None:
    x, y = columns.index(plot["x"]), columns.index(_ys(plot)[0])
    pairs: list[tuple[float, float]] = []
    for row in rows:
        across, up = _number(row[x], plot.get("x_scale", 1)), _number(row[y], plot.get("y_scale", 1))
        if across is not None and up is not None and min(across, up) >= 0 and len(pairs) < _MOST_POINTS:
            pairs.append((across, up))
    if not pairs:
        return None
    ends = max(pair[0] for pair in pairs) or 1.0, max(pair[1] for pair in pairs) or 1.0
    if "diagonal" in plot:
        ends = (max(ends),) * 2
    points = [(pair[0] / ends[0], pair[1] / ends[1]) for pair in pairs]
    x_label, y_label = str(plot.get("x_label", plot["x"])), str(plot.get("y_label", _ys(plot)[0]))
    return Points("points", y_label, points, x_label, *ends, str(plot.get("diagonal", "")))
