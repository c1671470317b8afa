"""What views read of: the state, and the world around it, of the qmaster itself or of a mirror of it.

Called by all readers that need nothing of the spool. `daemons.qmaster.master.Master` is one, the web server has another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from daemons.qmaster.decision import World
from gridengine.state.state import State


class StateSource(Protocol):
    """`world()`: facts from outside the state, as they are now."""

    @property
    def state(self) -> State: ...

    @property
    def world(self) -> Callable[[], World]: ...

    def environment(self, job_id: int) -> Mapping[str, str] | None:
        """Variables of a job, which are not in the state; None where they are not at hand."""
