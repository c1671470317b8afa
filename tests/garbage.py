"""Objects that nobody has any more: those of thousands of tests in one process are millions, and a look at all takes seconds."""

from __future__ import annotations

import gc


def collect_garbage_rarely() -> None:
    """Look for cycles after 50,000 new objects, and at the old ones seldom: the program and the tests stay anyway.

    With what Python presets this takes a sixth of the time of unit tests, and a quarter of that of the simulation."""
    gc.set_threshold(50_000, 20, 50)


def collect_garbage() -> None:
    """What earlier tests have left goes, and its files are closed. What is left then is not looked at again."""
    gc.collect()
    gc.freeze()
