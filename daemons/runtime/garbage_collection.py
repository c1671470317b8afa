"""How often a daemon that keeps much in memory looks for cycles of garbage.

Called by the actors that hold the state, and by what stands in for them in tests.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: objects made since the last look at the young ones; looks at these until the middle ones are looked at; and so on. A look
#: takes up to a microsecond an object: at 10,000 young ones 4 ms, at five times as many middle ones 35 ms.
_THRESHOLDS = (10_000, 5, 10_000)
#: while a program loads, as its launcher has it (tools/launchers.py)
_LOADING = 50_000


def tune_collection_for_service() -> None:
    """The state is a tree: counting references frees what goes. Looking through it for cycles would stop the service for long."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def tune_collection_for_loading() -> None:
    """Loading makes some 100,000 objects that stay; looking for cycles among them is a tenth of its time."""
    gc.set_threshold(_LOADING)


@contextmanager
def collection_disabled() -> Iterator[None]:
    """While a state is read, which makes millions of objects of which none goes."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
