"""The progress of a replay: a bar on a terminal, nothing elsewhere.

Called by `command`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows how many of `total` tasks are done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(title, total=total)
        yield lambda done: progress.update(bar, completed=done)
