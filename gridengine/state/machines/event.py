"""Common parts of all machines: the base of events, handlers, and tables of transitions.

A machine is a module that owns one kind of object. Its parts are its events, `HANDLERS`, the effect of each event on the
state, and, if the validity of events depends on the object's state, `TRANSITIONS` and `state_of`, by which
`gridengine.state.apply` refuses invalid events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from gridengine.errors import GridEngineError

if TYPE_CHECKING:
    from gridengine.state.state import State


class Event(Struct, frozen=True, tag_field="event", omit_defaults=True):
    """Base of all events. `durable`: the event is written to the journal, in addition to being sent to mirrors."""

    durable: ClassVar[bool] = True


Handler = Callable[["State", Any], None]
Handlers = Mapping[type[Event], Handler]
"""The effect of each event of a machine on the state."""

Transitions = Mapping[type[Event], Mapping[str, str | tuple[str, ...]]]
"""Event -> state of the object before it -> possible states after it. A missing pair is invalid."""

StateOf = Callable[["State", Any], str]
"""Gives the state of the object of an event."""


def unchanged(*states: str) -> dict[str, str]:
    """Rows of an event that does not change the state of the object."""
    return {state: state for state in states}


class InvalidTransitionError(GridEngineError):
    """An event that is invalid in the current state of its object. `job_history`: the history of its job until then, by lines."""

    def __init__(self, event: Event, was: str, job_history: list[str] | None = None) -> None:
        super().__init__(event, was)
        self.event, self.was, self.job_history = event, was, job_history or []

    def __str__(self) -> str:
        text = f"{type(self.event).__name__} cannot happen in state \"{self.was}\": {self.event}"
        return "\n    ".join((text, *self.job_history))
