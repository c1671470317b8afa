"""Frequency of the garbage collector in a daemon with a large state.

Called by the actors that hold the state, and by their replacements in tests.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: new objects before a collection of the youngest generation; such collections before one of the middle generation; and so on.
#: A collection takes up to a microsecond an object: 4 ms for 10,000 young objects, 35 ms for five times as many of the
#: middle generation.
_THRESHOLDS = (10_000, 5, 10_000)
#: while a program loads, as its launcher has it (tools/launchers.py)
_LOADING = 50_000


def tune_collection_for_service() -> None:
    """Collect seldom: reference counts free the state, which is a tree; a full collection would stop the service for long."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def tune_collection_for_loading() -> None:
    """Collect seldom while modules load: loading makes some 100,000 lasting objects, and collecting them is a tenth of its
    time."""
    gc.set_threshold(_LOADING)


@contextmanager
def collection_disabled() -> Iterator[None]:
    """Collect nothing while a state is read: that makes millions of objects that all stay."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
