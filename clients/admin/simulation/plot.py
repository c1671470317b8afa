"""The plot of `gridengine simulate`: waiting tasks and used slots over time, a line a configuration.

Loads matplotlib, only for plots, and draws without a display. Called by `command`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from clients.admin.errors import AdminError
from clients.admin.simulation.report import Named

_COLOURS = ("#0072B2", "#D55E00")
_WIDTH, _HEIGHT, _DPI = 9.0, 6.0, 144
_POINTS = 2000
"""Points of a line: more than a figure has pixels."""


def draw(outcomes: Sequence[Named], path: Path) -> None:
    """Write the plot in the format of the file's name. AdminError: it cannot be written."""
    with matplotlib.rc_context({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "gridengine"}):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, layout="constrained")
        waiting, used = figure.subplots(2, 1, sharex=True)
        for (name, outcome), colour in zip(outcomes, _COLOURS, strict=False):
            runs = outcome.runs
            _line(waiting, ((each.submit_time, each.start_time, 1) for each in runs), name, colour)
            _line(used, ((each.start_time, each.end_time, each.slots) for each in runs), name, colour)
            used.axhline(outcome.slots, color=colour, linestyle=":", linewidth=1)
        for axes, label in ((waiting, "waiting tasks"), (used, "used slots")):
            axes.set_ylabel(label)
            axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
            axes.grid(True, color="#DDDDDD", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        used.xaxis.set_major_locator(locator)
        used.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        if len(outcomes) > 1:
            waiting.legend(frameon=False)
        try:
            figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
        except OSError as error:
            raise AdminError(f"cannot write {path}: {error.strerror or error}") from None


def _line(axes: Axes, spans: Iterable[tuple[float, float, int]], name: str, colour: str) -> None:
    """The sum of sizes at each moment. `spans`: begin, end and size."""
    steps: dict[float, int] = {}
    for begin, end, size in spans:
        steps[begin] = steps.get(begin, 0) + size
        steps[end] = steps.get(end, 0) - size
    moments, values, value = [], [], 0
    for moment in sorted(steps):
        value += steps[moment]
        moments.append(moment)
        values.append(value)
    stride = max(1, len(moments) // _POINTS)
    # the largest value of each stride: a queue must not vanish between two points
    heights = [max(values[at : at + stride]) for at in range(0, len(values), stride)]
    days = [datetime.fromtimestamp(moment) for moment in moments[::stride]]
    axes.step(days, heights, where="post", color=colour, linewidth=1, label=name)  # type: ignore[arg-type]
