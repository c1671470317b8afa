"""How often a daemon that keeps much in memory looks for cycles of garbage.

Called by the actors that hold the state, and by what stands in for them in tests.
"""

from __future__ import annotations

import gc

#: objects made since the last look, looks at the young ones until the middle ones are looked at, and so on
_THRESHOLDS = (100_000, 50, 100)


def seldom_look_for_cycles() -> None:
    """The state is a tree: counting references frees what goes. Looking through it for cycles would stop the service for long."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
