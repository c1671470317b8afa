"""The figures as a table with ratios and footnotes and as a plot. Pure except for the file of the plot."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Figures = Mapping[str, float]
Notes = Mapping[str, str]

BEGIN, END = "<!-- peers: make bench-peers writes from here -->", "<!-- peers: to here -->"

#: of each figure: its row; `{array}`, `{large}` and `{tiny}` are sizes
TITLES = {
    "submit_ms": "submit, whole process (ms)",
    "list_ms": "list jobs, whole process (ms)",
    "sync_ms": "submit and wait for /bin/true (ms)",
    "array_per_s": "array of {array:,} (tasks/s)",
    "large_per_s": "array of {large:,} (tasks/s)",
    "single_per_s": "{array:,} jobs, 4 shells, to accounting (jobs/s)",
    "tiny_per_s": "{tiny:,} tiny tasks (tasks/s)",
    "master_ms": "processor of the master, array of {array:,} (ms a task)",
    "master_mb": "memory of the master after it, PSS (MB)",
    "idle_percent": "processor of all daemons, idle (% of a core)",
    "missing": "tasks missing in the accounting",
}
_COUNTS = frozenset(("missing", "master_mb"))
#: of each part of the plot: its title, and the figures
PANELS = {
    "milliseconds, less is better": ("submit_ms", "list_ms", "sync_ms"),
    "a second, more is better": ("array_per_s", "large_per_s", "single_per_s", "tiny_per_s"),
    "less is better": ("master_ms", "master_mb", "idle_percent"),
}


def medians(trials: Sequence[tuple[Figures, Notes]]) -> tuple[dict[str, float], dict[str, str]]:
    """Figures and notes of a system: of each figure the median of the trials that have it, and the last note that fits."""
    columns = {name: [found[name] for found, _ in trials if name in found] for name in TITLES}
    figures = {name: statistics.median(column) for name, column in columns.items() if column}
    notes = {name: note for found, noted in trials for name, note in noted.items() if (name in found) == (name in figures)}
    return figures, notes


def ratio(name: str, own: float | None, other: float | None) -> str:
    """How many times better the first system is than another; empty where a figure is missing or has no meaningful ratio."""
    if name == "missing" or not own or not other:
        return ""
    return f"{own / other if name.endswith('_per_s') else other / own:.1f} ×"


def table(figures: Mapping[str, Figures], notes: Mapping[str, Notes], sizes: Mapping[str, Any]) -> str:
    """Lines of Markdown: a row a figure, a column a system, how many times better the first system is, and the footnotes.

    `notes`: by system and figure, why the cell is empty or what to know about it.
    """
    own, *others = figures
    rows = [["", *figures, *(f"better than {other}" for other in others)]]
    footnotes: dict[str, int] = {}
    for name, title in TITLES.items():
        cells = [_cell(name, figures[label].get(name), notes[label].get(name), footnotes) for label in figures]
        ratios = [ratio(name, figures[own].get(name), figures[other].get(name)) for other in others]
        rows.append([title.format_map(sizes), *cells, *ratios])
    rows.insert(1, ["---", *("--:" for _ in rows[0][1:])])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", *(f"{number}. {sentence}" for sentence, number in footnotes.items())]).rstrip()


def _cell(name: str, value: float | None, note: str | None, footnotes: dict[str, int]) -> str:
    shown = "" if value is None else f"{value:.{0 if name in _COUNTS else 1}f}"
    mark = f"<sup>{footnotes.setdefault(note, len(footnotes) + 1)}</sup>" if note else ""
    return f"{shown} {mark}".strip()


def in_page(page: str, found: str) -> str:
    """A page of Markdown with `found` between the two lines that mark its place. Raises ValueError for a page without them."""
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    return f"{before}{begin}{found}\n{end}{after}"


def plot(figures: Mapping[str, Figures], sizes: Mapping[str, Any], file: Path) -> None:
    """Bars on logarithmic axes. A missing figure has no bar."""
    picture = Figure(figsize=(9, 10), layout="tight")
    parts = picture.subplots(len(PANELS), 1)
    width = 0.8 / len(figures)
    for axes, (title, names) in zip(parts, PANELS.items(), strict=True):
        for position, (label, found) in enumerate(figures.items()):
            lefts = [at + position * width for at in range(len(names))]
            heights = [found.get(name) or math.nan for name in names]
            axes.bar_label(axes.bar(lefts, heights, width, label=label), fmt="{:,.4g}", fontsize=8)
        ticks = [TITLES[name].format_map(sizes).replace(", ", ",\n", 1) for name in names]
        axes.set_xticks([at + 0.4 - width / 2 for at in range(len(names))], ticks)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(title)
        axes.set_yscale("log")
        axes.spines[["top", "right"]].set_visible(False)
    parts[0].legend(frameon=False, loc="upper left")
    picture.savefig(file, dpi=110)
