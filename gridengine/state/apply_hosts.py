"""Events of exec hosts, applied: what is heard of them, their loss and their return.

Owns the writing of `Host` at run time, as `gridengine.state.apply` owns the rest; only that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridengine.state import events as ev
from gridengine.state.hosts import Host
from gridengine.state.state import State


def _host_heard(state: State, event: ev.HostHeard) -> None:
    host = state.hosts.setdefault(event.host, Host(event.host))
    if event.by:
        _sensed(host, event)
        return
    host.up = True
    host.last_heard = event.time
    host.load.update(event.load)
    for name in event.load:
        host.sensed_by.pop(name, None)
    for name in event.removed:
        if name not in host.sensed_by:
            host.load.pop(name, None)


def _sensed(host: Host, event: ev.HostHeard) -> None:
    """Values from a load sensor of another host; what the host reports itself counts before them."""
    for name, text in event.load.items():
        if name in host.sensed_by or name not in host.load:
            host.load[name] = text
            host.sensed_by[name] = event.by
    for name in event.removed:
        if host.sensed_by.get(name) == event.by:
            del host.load[name], host.sensed_by[name]


def forget_sensed(state: State, by: str) -> None:
    """A host is gone: what its load sensors said of others is no longer known (LS-8). Deviation: 8.1.9 keeps it."""
    for host in state.hosts.values():
        for name in [name for name, giver in host.sensed_by.items() if giver == by]:
            del host.load[name], host.sensed_by[name]


def _host_booted(state: State, event: ev.HostBooted) -> None:
    state.hosts.setdefault(event.host, Host(event.host)).incarnation = event.incarnation


def _execd_started(state: State, event: ev.ExecdStarted) -> None:
    state.hosts.setdefault(event.host, Host(event.host)).execd = event.process


def _strays_found(state: State, event: ev.StraysFound) -> None:
    state.hosts.setdefault(event.host, Host(event.host)).strays = event.strays


def _strays_abandoned(state: State, event: ev.StraysAbandoned) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.strays = [stray for stray in host.strays if stray.key not in event.keys]
        host.abandoned += [key for key in event.keys if key not in host.abandoned]


def _job_numbers_raised(state: State, event: ev.JobNumbersRaised) -> None:
    state.next_job_id = max(state.next_job_id, event.next_job_id)


def _host_lost(state: State, event: ev.HostLost) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.forget()
        host.lost_at = event.time
    forget_sensed(state, event.host)


def _clock_stepped(state: State, event: ev.ClockStepped) -> None:
    for host in state.hosts.values():
        host.last_heard += event.seconds if host.last_heard else 0.0
        host.lost_at += event.seconds if host.lost_at else 0.0


HOST_HANDLERS: dict[type, Callable[[State, Any], None]] = {
    ev.HostHeard: _host_heard,
    ev.HostBooted: _host_booted,
    ev.ExecdStarted: _execd_started,
    ev.StraysFound: _strays_found,
    ev.StraysAbandoned: _strays_abandoned,
    ev.JobNumbersRaised: _job_numbers_raised,
    ev.HostLost: _host_lost,
    ev.ClockStepped: _clock_stepped,
}
