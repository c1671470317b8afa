"""The progress of a long command: a live line on a terminal, plain lines elsewhere.

Called by `program` and `demo`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


class Progress:
    """The steps of one command, counted when their number is known. rich is loaded for a terminal alone: it takes 0.1 s."""

    def __init__(self, steps: int = 0) -> None:
        self._console = _terminal() if sys.stdout.isatty() else None
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
            if self._console is None:
                yield
            else:
                with self._console.status(counted, spinner="line"):
                    yield
            end = f"{time.monotonic() - begin:.1f} s"
        finally:
            self._print(f"{counted} ({end})")

    def show(self, title: str, text: str) -> None:
        """Print the output of a command, below its command line."""
        self._print(f"$ {title}", style="bold")
        self._print(text.rstrip("\n"))

    def _print(self, line: str, style: str | None = None) -> None:
        if self._console is None:
            print(line, flush=True)
        else:
            self._console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _terminal() -> Console:
    from rich.console import Console

    return Console()
