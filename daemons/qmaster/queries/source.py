"""The source of the views: the state and the facts around it, of the qmaster itself or of a mirror.

Called by all readers that do not need the spool. `daemons.qmaster.master.Master` is a source; the web server has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from daemons.qmaster.decision import World
from gridengine.state.state import State


class StateSource(Protocol):
    """A state and its surroundings. `world()`: the present facts from outside the state."""

    @property
    def state(self) -> State: ...

    @property
    def world(self) -> Callable[[], World]: ...

    def environment(self, job_id: int) -> Mapping[str, str] | None:
        """Variables of a job, which are not in the state; None if the source does not have them."""
