"""The progress of a long command: a live line on a terminal, plain lines elsewhere.

Called by `program` and `demo`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


class Progress:
    """The steps of one command, counted when their number is known."""

    def __init__(self, console: Console, steps: int = 0) -> None:
        self._console = console
        self._steps = steps
        self._done = 0

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show `what` while the block runs, and then its duration in seconds, or `failed`."""
        self._done += 1
        counted = f"[{self._done}/{self._steps}] {what}" if self._steps else what
        begin = time.monotonic()
        end = "failed"
        try:
            if self._console.is_terminal:
                with self._console.status(counted, spinner="line"):
                    yield
            else:
                yield
            end = f"{time.monotonic() - begin:.1f} s"
        finally:
            self._console.print(f"{counted} ({end})", markup=False, highlight=False)

    def show(self, title: str, text: str) -> None:
        """Print the output of a command, below its command line."""
        self._console.print(f"$ {title}", style="bold", markup=False, highlight=False)
        self._console.print(text.rstrip("\n"), markup=False, highlight=False, soft_wrap=True)
