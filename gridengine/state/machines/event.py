"""What all machines are made of: the base of events, handlers, and tables of transitions.

A machine is a module that owns one kind of thing. It has its events, `HANDLERS`, what each does to the state, and, where the
thing has states that its events depend on, `TRANSITIONS` and `state_of`, by which `gridengine.state.apply` refuses what cannot
happen to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

if TYPE_CHECKING:
    from gridengine.state.state import State


class Event(Struct, frozen=True, tag_field="event", omit_defaults=True):
    """Base of all events. `durable`: it is in the journal, and not only told to mirrors."""

    durable: ClassVar[bool] = True


Handler = Callable[["State", Any], None]
Handlers = Mapping[type[Event], Handler]
"""What each event of a machine does to the state."""

Transitions = Mapping[type[Event], Mapping[str, str | tuple[str, ...]]]
"""Event -> state of the thing before it -> state after it, or all that may come of it. A pair that is missing cannot be."""

StateOf = Callable[["State", Any], str]
"""In which state the thing is that an event is about."""


def unchanged(*states: str) -> dict[str, str]:
    """Rows of an event that leaves the thing in the state in which it is."""
    return {state: state for state in states}


class InvalidTransition(Exception):
    """An event that cannot happen to a thing in its state. `story`: what happened to its job until then, a line each."""

    def __init__(self, event: Event, was: str, story: list[str] | None = None) -> None:
        super().__init__(event, was)
        self.event, self.was, self.story = event, was, story or []

    def __str__(self) -> str:
        text = f"{type(self.event).__name__} cannot happen to what is in state \"{self.was}\": {self.event}"
        return "\n    ".join((text, *self.story))
