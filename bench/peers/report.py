"""The figures as a table with ratios and as a plot. Pure except for the file of the plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

Figures = Mapping[str, float]

BEGIN, END = "<!-- peers: make bench-peers writes from here -->", "<!-- peers: to here -->"

TITLES = {
    "submit_ms": "submit, whole process (ms)",
    "list_ms": "list jobs, whole process (ms)",
    "sync_ms": "submit and wait for /bin/true (ms)",
    "array_per_s": "array of 1,000 (tasks/s)",
    "single_per_s": "1,000 jobs, 4 shells, to accounting (jobs/s)",
    "missing": "tasks missing in the accounting",
}


def ratio(name: str, own: float, other: float) -> str:
    """Speed of the first system relative to another system; empty for figures without a meaningful ratio."""
    if name == "missing" or not own or not other:
        return ""
    return f"{other / own if name.endswith('_ms') else own / other:.1f} ×"


def table(figures: Mapping[str, Figures]) -> str:
    """Lines of Markdown: a row a figure, a column a system, and how many times quicker the first system is."""
    own, *others = figures
    rows = [["", *figures, *(f"quicker than {other}" for other in others)]]
    for name, title in TITLES.items():
        values = [f"{figures[label][name]:.{0 if name == 'missing' else 1}f}" for label in figures]
        ratios = [ratio(name, figures[own][name], figures[other][name]) for other in others]
        rows.append([title, *values, *ratios])
    rows.insert(1, ["---", *("--:" for _ in rows[0][1:])])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def in_page(page: str, found: str) -> str:
    """A page of Markdown with `found` between the two lines that mark its place. Raises ValueError for a page without them."""
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    return f"{before}{begin}{found}\n{end}{after}"


def plot(figures: Mapping[str, Figures], file: Path) -> None:
    """Bars of the times on a logarithmic axis, and of the rates."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pictures, (times, rates) = pyplot.subplots(1, 2, figsize=(11, 4))
    for axes, ending, title in ((times, "_ms", "milliseconds, less is better"), (rates, "_per_s", "a second, more is better")):
        names = [name for name in TITLES if name.endswith(ending)]
        width = 0.8 / len(figures)
        for position, (label, found) in enumerate(figures.items()):
            lefts = [at + position * width for at in range(len(names))]
            bars = axes.bar(lefts, [found[name] for name in names], width, label=label)
            axes.bar_label(bars, fmt="%.0f", fontsize=8)
        axes.set_xticks([at + 0.4 - width / 2 for at in range(len(names))], [TITLES[name].partition(" (")[0] for name in names])
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(title)
        axes.set_yscale("log")
        axes.spines[["top", "right"]].set_visible(False)
    times.legend(frameon=False)
    pictures.tight_layout()
    pictures.savefig(file, dpi=110)
