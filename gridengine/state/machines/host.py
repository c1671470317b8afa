"""Exec hosts at run time: reports, loss and return of hosts, and orphan tasks on them.

Owns the events and the writing of `Host`. Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from gridengine.protocols.devices import Device
from gridengine.state.hosts import Host, HostDrain, OrphanTask
from gridengine.state.machines.closed_units import book_closed_units
from gridengine.state.machines.event import Event, Handlers
from gridengine.state.machines.held_units import release_units
from gridengine.state.state import State
from gridengine.values.task_key import TaskKey


class HostHeard(Event, frozen=True, tag=True):
    """A load report. `load`: changed values; `removed`: names of values that are no longer reported.

    `by`: another host whose load sensor reported the values; this does not prove that the host itself is up (LS-3).
    """

    durable: ClassVar[bool] = False
    host: str
    time: float
    load: dict[str, str] = {}
    removed: list[str] = []
    by: str = ""


class HostBooted(Event, frozen=True, tag=True):
    """The host was booted since its last report: no process that ran there is left (EX-10). `incarnation`: of the host now."""

    host: str
    incarnation: str


class ExecdStarted(Event, frozen=True, tag=True):
    """A new process of sge_execd serves the host; `process` identifies it (QC-38)."""

    host: str
    process: str


class HostLost(Event, frozen=True, tag=True):
    """The host sent no report for max_unheard or its node is dead: its instances are `u`. `orderly`: its daemon was stopped."""

    durable: ClassVar[bool] = False
    host: str
    time: float
    orderly: bool = False


class ClockStepped(Event, frozen=True, tag=True):
    """The clock of the qmaster's host was set by `seconds`: times of last reports are shifted by as much."""

    durable: ClassVar[bool] = False
    seconds: float


class OrphansFound(Event, frozen=True, tag="StraysFound"):
    """`orphans`: all orphan tasks of the host's last inventory (ADR 93)."""

    durable: ClassVar[bool] = False
    host: str
    orphans: list[OrphanTask] = field(name="strays")


class OrphansAbandoned(Event, frozen=True, tag="StraysAbandoned"):
    """An operator ends the orphan tasks `keys`: the host is instructed to kill and forget them."""

    host: str
    keys: list[TaskKey]


class AttemptsForgotten(Event, frozen=True, tag="SlavesForgotten"):
    """The host has forgotten the tasks and slave tasks `keys` of finished attempts. Spools have the first name of the event."""

    host: str
    keys: list[TaskKey]


class HostDrained(Event, frozen=True, tag=True):
    """The host no longer accepts jobs. `user`: user@host who requested it; `time`: epoch s."""

    host: str
    reason: str
    user: str
    time: float


class HostDrainEnded(Event, frozen=True, tag=True):
    """The host accepts jobs again, if its queues do."""

    host: str


class DevicesReported(Event, frozen=True, tag=True):
    """The host has reported its `devices`; `fault`: the reason for which the host cannot read them now. `closed`: all of its
    units that no job gets, resource -> unit -> reason. Not durable: after a restart of either side the host reports again."""

    durable: ClassVar[bool] = False
    host: str
    devices: list[Device]
    fault: str = ""
    closed: dict[str, dict[str, str]] = {}


HostEvent = (
    HostHeard
    | HostBooted
    | ExecdStarted
    | HostLost
    | ClockStepped
    | OrphansFound
    | OrphansAbandoned
    | AttemptsForgotten
    | HostDrained
    | HostDrainEnded
    | DevicesReported
)


def _host_heard(state: State, event: HostHeard) -> None:
    host = state.hosts.setdefault(event.host, Host(event.host))
    if event.by:
        _sensed(state, host, event)
        return
    host.up = True
    host.last_heard = event.time
    host.load.update(event.load)
    for name in event.load:
        host.sensed_by.pop(name, None)
    for name in event.removed:
        if name not in host.sensed_by:
            host.load.pop(name, None)


def _sensed(state: State, host: Host, event: HostHeard) -> None:
    """Values from a load sensor of another host; values of the host itself take precedence."""
    for name, text in event.load.items():
        if name in host.sensed_by or name not in host.load:
            host.load[name] = text
            host.sensed_by[name] = event.by
            state.sensing.setdefault(event.by, set()).add(host.name)
    for name in event.removed:
        if host.sensed_by.get(name) == event.by:
            del host.load[name], host.sensed_by[name]


def forget_sensed(state: State, by: str) -> None:
    """A host is gone: values that its load sensors reported for other hosts are removed (LS-8). Deviation: 8.1.9 keeps them."""
    for other in state.sensing.pop(by, ()):
        if (host := state.hosts.get(other)) is not None:
            for name in sensed_values(host, by):
                del host.load[name], host.sensed_by[name]


def sensed_values(host: Host, by: str) -> list[str]:
    """Names of the values of a host that a load sensor of another host reported."""
    return [name for name, giver in host.sensed_by.items() if giver == by]


def index_sensed(state: State) -> None:
    """Build the index of a state that came from a snapshot."""
    for host in state.hosts.values():
        for giver in host.sensed_by.values():
            state.sensing.setdefault(giver, set()).add(host.name)


def _host_booted(state: State, event: HostBooted) -> None:
    state.hosts.setdefault(event.host, Host(event.host)).incarnation = event.incarnation


def _execd_started(state: State, event: ExecdStarted) -> None:
    state.hosts.setdefault(event.host, Host(event.host)).execd = event.process


def _host_lost(state: State, event: HostLost) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.forget()
        host.lost_at = event.time
    forget_sensed(state, event.host)


def _clock_stepped(state: State, event: ClockStepped) -> None:
    for host in state.hosts.values():
        host.last_heard += event.seconds if host.last_heard else 0.0
        host.lost_at += event.seconds if host.lost_at else 0.0


def _orphans_found(state: State, event: OrphansFound) -> None:
    state.hosts.setdefault(event.host, Host(event.host)).orphans = event.orphans


def _orphans_abandoned(state: State, event: OrphansAbandoned) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.orphans = [orphan for orphan in host.orphans if orphan.key not in event.keys]
        host.abandoned += [key for key in event.keys if key not in host.abandoned]


def _attempts_forgotten(state: State, event: AttemptsForgotten) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.abandoned = [key for key in host.abandoned if key not in event.keys]
        release_units(state, host, event.keys)


def _host_drained(state: State, event: HostDrained) -> None:
    host = state.hosts.setdefault(event.host, Host(event.host))
    host.drained = HostDrain(event.reason, event.user, event.time)


def _host_drain_ended(state: State, event: HostDrainEnded) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.drained = None


def _devices_reported(state: State, event: DevicesReported) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.devices, host.device_fault, host.closed_units = event.devices, event.fault, event.closed
        book_closed_units(state, event.host)


HANDLERS: Handlers = {
    HostHeard: _host_heard,
    HostBooted: _host_booted,
    ExecdStarted: _execd_started,
    HostLost: _host_lost,
    ClockStepped: _clock_stepped,
    OrphansFound: _orphans_found,
    OrphansAbandoned: _orphans_abandoned,
    AttemptsForgotten: _attempts_forgotten,
    HostDrained: _host_drained,
    HostDrainEnded: _host_drain_ended,
    DevicesReported: _devices_reported,
}
