"""Plots of answers: bars, stacked bars, rankings, lines and points, as described by the query.

Owns the look of plots. Loads matplotlib, only for plots, and draws without a display. Called by the command `plot`.
Source: DB-22; the keys of [plot] are those of daemons/dbwriter/queries.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from clients.admin.arco.dbwriter_client import Answer
from clients.admin.errors import AdminError

FORMATS = (".png", ".svg")
#: colours that are distinct also for colour-blind users (Okabe and Ito), and grey for the remaining series
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
_REST, _REST_COLOUR = "others", "#999999"
_INK, _GRID = "#333333", "#DDDDDD"
_STYLE: Any = {
    "font.size": 10,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "svg.fonttype": "none",
}
_WIDTH, _HEIGHT, _DPI = 8.0, 4.5, 144
_BAR = 0.8
"""Part of the width of an x value that its bars take."""

Points = dict[str, dict[Any, float]]
"""The y value of each x, by series."""


def draw(answer: Answer, title: str, plot: dict[str, Any]) -> Figure:
    """The plot of an answer. AdminError: the query has no plot, or the answer has no rows."""
    if not plot:
        raise AdminError(f'"{title}" has no plot: gridengine arco run prints it, export writes it')
    if not answer.rows:
        raise AdminError(f'"{title}" has no rows: there is nothing to draw')
    with _own_settings():
        groups = _panels(answer, plot)
        figure = Figure(figsize=(_WIDTH, _HEIGHT + 1.6 * (len(groups) - 1)), dpi=_DPI, layout="constrained")
        axes = figure.subplots(len(groups), 1, squeeze=False, sharex=len(groups) > 1)
        for index, (name, rows) in enumerate(groups.items()):
            _draw_panel(axes[index][0], Answer(answer.columns, answer.types, rows, False, {}), plot, name)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", color=_INK)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a plot in the format of the file's name. AdminError: unknown format, or a write error."""
    if path.suffix.lower() not in FORMATS:
        raise AdminError(f"{path}: a plot is written as {' or '.join(FORMATS)}")
    try:
        with _own_settings():  # matplotlib creates the tick marks here
            figure.savefig(path)
    except OSError as error:
        raise AdminError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _own_settings() -> Iterator[None]:
    """Ignore a `matplotlibrc` in the working directory or HOME: a foreign file could run LaTeX as the caller."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _panels(answer: Answer, plot: dict[str, Any]) -> dict[str, list[list[Any]]]:
    """The rows of each panel; a single panel if the query names no column for panels."""
    if "panels" not in plot:
        return {"": answer.rows}
    index = _column_index(answer, plot["panels"])
    groups: dict[str, list[list[Any]]] = {}
    for row in answer.rows:
        groups.setdefault(str(row[index]), []).append(row)
    return groups


def _draw_panel(axes: Axes, answer: Answer, plot: dict[str, Any], name: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    ranking = plot["kind"] == "ranking"
    axes.grid(axis="x" if ranking else "y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    _KINDS[plot["kind"]](axes, answer, plot)
    labels = plot.get("x_label", plot["x"]), plot.get("y_label", str(plot["y"]))
    axes.set_xlabel(labels[1] if ranking else labels[0])
    axes.set_ylabel(labels[0] if ranking else name or labels[1])
    if not ranking:
        axes.set_ylim(plot.get("y_least", None if plot["kind"] == "scatter" else 0), plot.get("y_most"))
    if len(axes.get_legend_handles_labels()[1]) > 1:
        left = _series_count_if_truncated(answer, plot, axes)
        title = plot.get("series", "") + (f"\n(the highest of {left})" if left else "")
        axes.legend(title=title, alignment="left", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _bars(axes: Axes, answer: Answer, plot: dict[str, Any]) -> None:
    _draw_bars(axes, answer, plot, stacked=False)


def _stacked(axes: Axes, answer: Answer, plot: dict[str, Any]) -> None:
    _draw_bars(axes, answer, plot, stacked=True)


def _draw_bars(axes: Axes, answer: Answer, plot: dict[str, Any], stacked: bool) -> None:
    """Draw the bars of all series at each x, stacked or beside each other."""
    points = _points(answer, plot)
    keys = _keys(answer, plot, points)
    below = [0.0] * len(keys)
    width = _BAR if stacked else _BAR / len(points)
    for number, (series, values) in enumerate(points.items()):
        heights = [values.get(key, 0.0) for key in keys]
        shift = 0.0 if stacked else (number - (len(points) - 1) / 2) * width
        positions = [index + shift for index in range(len(keys))]
        axes.bar(positions, heights, width, bottom=below if stacked else None, label=series, color=_colour(number, series))
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.use_sticky_edges = False  # else an empty bar on the highest bar would remove the margin above it
    step = max(1, -(-len(keys) // 24))
    names = _tick_labels(keys, answer.types[_column_index(answer, plot["x"])])
    axes.set_xticks(range(0, len(keys), step), names[::step])
    if sum(map(len, names[::step])) > 60:  # horizontal labels would overlap
        axes.tick_params(axis="x", rotation=45)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _ranking(axes: Axes, answer: Answer, plot: dict[str, Any]) -> None:
    """Draw horizontal bars, the longest on top."""
    points = _points(answer, plot)
    totals: dict[Any, float] = {}
    for values in points.values():
        for key, value in values.items():
            totals[key] = totals.get(key, 0.0) + value
    keys = sorted(totals, key=lambda key: totals[key])[-int(plot.get("most", 20)) :]
    left = [0.0] * len(keys)
    for number, (series, values) in enumerate(points.items()):
        lengths = [values.get(key, 0.0) for key in keys]
        axes.barh([str(key) for key in keys], lengths, _BAR, left=left, label=series, color=_colour(number, series))
        left = [begin + length for begin, length in zip(left, lengths, strict=True)]
    axes.xaxis.set_major_locator(MaxNLocator(integer=all(value == int(value) for value in totals.values())))


def _series_count_if_truncated(answer: Answer, plot: dict[str, Any], axes: Axes) -> int:
    """The number of all series if the lines show only some of them; else 0."""
    if plot["kind"] != "lines" or "series" not in plot:
        return 0
    count = len({str(row[_column_index(answer, plot["series"])]) for row in answer.rows})
    return count if count > len(axes.lines) else 0


def _lines(axes: Axes, answer: Answer, plot: dict[str, Any]) -> None:
    points = _points(answer, plot)
    points.pop(_REST, None)  # loads and shares have no sum
    for number, (series, values) in enumerate(points.items()):
        keys = sorted(values)
        marker = "o" if len(keys) < 40 else None
        axes.plot(keys, [values[key] for key in keys], label=series, color=_colour(number, series), marker=marker, markersize=3)
    if answer.types[_column_index(answer, plot["x"])] in ("time", "date"):
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _scatter(axes: Axes, answer: Answer, plot: dict[str, Any]) -> None:
    """Draw a point for each row; with `diagonal` also the line of equal x and y, with this text."""
    x, y = _column_index(answer, plot["x"]), _column_index(answer, plot["y"])
    scales = plot.get("x_scale", 1), plot.get("y_scale", 1)
    pairs = [(row[x] / scales[0], row[y] / scales[1]) for row in answer.rows if row[x] is not None and row[y] is not None]
    axes.scatter([pair[0] for pair in pairs], [pair[1] for pair in pairs], s=12, alpha=0.5, color=_COLOURS[0], linewidths=0)
    if "diagonal" in plot:
        end = max((max(pair) for pair in pairs), default=1.0)
        axes.plot([0, end], [0, end], color=_INK, linewidth=0.8, linestyle="--")
        axes.annotate(plot["diagonal"], (end, end), ha="right", va="bottom", color=_INK, fontsize=9)


_KINDS: dict[str, Callable[[Axes, Answer, dict[str, Any]], None]] = {
    "bars": _bars,
    "stacked": _stacked,
    "ranking": _ranking,
    "lines": _lines,
    "scatter": _scatter,
}


def _points(answer: Answer, plot: dict[str, Any]) -> Points:
    """The series of a plot, in order of their sums, largest first. Series beyond the number of colours become one series."""
    x, kind = _column_index(answer, plot["x"]), answer.types[_column_index(answer, plot["x"])]
    columns = plot["y"] if isinstance(plot["y"], list) else [plot["y"]]
    series = _column_index(answer, plot["series"]) if "series" in plot else None
    scale = plot.get("y_scale", 1)
    points: Points = {}
    for row in answer.rows:
        for column in columns:
            value = row[_column_index(answer, column)]
            if value is None or row[x] is None:
                continue
            name = column if series is None else str(row[series] if row[series] not in (None, "") else "none")
            values = points.setdefault(name, {})
            key = _key(row[x], kind)
            values[key] = values.get(key, 0.0) + float(value) / scale
    return points if series is None else _largest(points)


def _largest(points: Points) -> Points:
    names = sorted(points, key=lambda name: -sum(points[name].values()))
    shown = {name: points[name] for name in names[: len(_COLOURS)]}
    rest: dict[Any, float] = {}
    for name in names[len(_COLOURS) :]:
        for key, value in points[name].items():
            rest[key] = rest.get(key, 0.0) + value
    return shown | ({_REST: rest} if rest else {})


def _keys(answer: Answer, plot: dict[str, Any], points: Points) -> list[Any]:
    """The x values: times in their order, other values in the order of the rows, at most `most` of them."""
    used = dict.fromkeys(key for values in points.values() for key in values)
    kind = answer.types[_column_index(answer, plot["x"])]
    if kind in ("time", "date"):
        return sorted(used)
    x = _column_index(answer, plot["x"])
    in_order = dict.fromkeys(_key(row[x], kind) for row in answer.rows)
    keys = [key for key in in_order if key in used]
    return keys[: int(plot["most"])] if "most" in plot else keys


def _key(value: Any, kind: str) -> Any:
    if kind == "time":
        return datetime.fromisoformat(value).astimezone().replace(tzinfo=None)  # local time
    if kind == "date":
        moment = date.fromisoformat(value)
        return datetime(moment.year, moment.month, moment.day)
    return value


def _tick_labels(keys: Sequence[Any], kind: str) -> list[str]:
    """The labels below bars: months and days without the zeros of their hours."""
    if kind not in ("time", "date"):
        return [str(key) for key in keys]
    if all((key.day, key.hour, key.minute) == (1, 0, 0) for key in keys):
        return [f"{key:%Y-%m}" for key in keys]
    if all((key.hour, key.minute) == (0, 0) for key in keys):
        return [f"{key:%Y-%m-%d}" for key in keys]
    return [f"{key:%m-%d %H:%M}" for key in keys]


def _colour(number: int, series: str) -> str:
    return _REST_COLOUR if series == _REST or number >= len(_COLOURS) else _COLOURS[number]


def _column_index(answer: Answer, column: str) -> int:
    if column not in answer.columns:
        raise AdminError(f"the plot needs a column {column}; the query has {', '.join(answer.columns)}")
    return answer.columns.index(column)
