"""The base of all events; see `gridengine.state.events`."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct


class Event(Struct, frozen=True, tag_field="event", omit_defaults=True):
    """Base of all events."""

    durable: ClassVar[bool] = True
