"""Objects that nobody has any more: those of thousands of tests in one process are millions, and a look at all takes seconds."""

from __future__ import annotations

import gc


def collect_garbage() -> None:
    """What earlier tests have left goes, and its files are closed. What is left then is not looked at again."""
    gc.collect()
    gc.freeze()
