"""What all machines are made of: the base of events and the shape of a table of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

if TYPE_CHECKING:
    from gridengine.state.state import State


class Event(Struct, frozen=True, tag_field="event", omit_defaults=True):
    """Base of all events."""

    durable: ClassVar[bool] = True


Handlers = Mapping[type[Event], Callable[["State", Any], None]]
"""What each event of a machine does to the state."""
