"""Events of exec hosts at run time; part of `gridengine.state.events`, through which they are used."""

from __future__ import annotations

from typing import ClassVar

from gridengine.state.event_base import Event
from gridengine.state.hosts import Stray
from gridengine.state.jobs import TaskKey


class HostHeard(Event, frozen=True, tag=True):
    """A load report. `load` holds only values that changed; `removed` names values that ceased.

    `by`: another host whose load sensor gave the values, which says nothing about whether the host itself lives (LS-3).
    """

    durable: ClassVar[bool] = False
    host: str
    time: float
    load: dict[str, str] = {}
    removed: list[str] = []
    by: str = ""


class HostBooted(Event, frozen=True, tag=True):
    """The host was booted since it was last heard: nothing that ran there is left (EX-10)."""

    host: str
    incarnation: str


class ExecdStarted(Event, frozen=True, tag=True):
    """A new process of sge_execd plays the host; `process` tells it from the one before (QC-38)."""

    host: str
    process: str


class StraysFound(Event, frozen=True, tag=True):
    """All tasks of the host's last inventory that the cell does not know (ADR 93)."""

    durable: ClassVar[bool] = False
    host: str
    strays: list[Stray]


class StraysAbandoned(Event, frozen=True, tag=True):
    """An operator ends these strays: the host is told to kill and forget them."""

    host: str
    keys: list[TaskKey]


class JobNumbersRaised(Event, frozen=True, tag=True):
    """The next job gets this number or a later one: those before it are in use on hosts."""

    next_job_id: int


class HostLost(Event, frozen=True, tag=True):
    """The host has not been heard for max_unheard or its node is dead: its instances are `u`."""

    durable: ClassVar[bool] = False
    host: str
    time: float


class ClockStepped(Event, frozen=True, tag=True):
    """The clock of the qmaster's host was set by so many seconds: silence of hosts is measured on from where it was."""

    durable: ClassVar[bool] = False
    seconds: float
