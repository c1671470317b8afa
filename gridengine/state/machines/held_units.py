"""Units that processes of finished attempts may still use: held by their host until it has forgotten the attempts.

Owns the writing of `Host.held_units` and of their bookings. A task that was given up without a report of its host may still
run there when another job asks for the same unit. Units of the cluster are not held: no host answers for them. Called by
`gridengine.state.apply` and by the machines of tasks, slave tasks, hosts and configuration. Source: adr/0320.
"""

from __future__ import annotations

from collections.abc import Collection

from gridengine.state.bookings import Bookings
from gridengine.state.hosts import HeldUnits, Host
from gridengine.state.jobs import Task
from gridengine.state.machines.closed_units import book_closed_units
from gridengine.state.state import State
from gridengine.state.units_in_use import UnitsInUse, held_amounts
from gridengine.values.task_key import TaskKey


def hold_units(state: State, host: Host, key: TaskKey, task: Task) -> None:
    """A host that has to forget the attempt `key` of a task that ends holds the units of the task there."""
    granted = [grant for grant in task.units if grant.host == host.name and not grant.of_cluster]
    if not granted:
        return
    for held in host.held_units:
        if held.keys[0].master == key.master:
            held.keys.append(key)
            return
    held = HeldUnits([key], granted)
    host.held_units.append(held)
    _book(state, held)


def release_units(state: State, host: Host, keys: Collection[TaskKey]) -> None:
    """The host has forgotten these attempts."""
    for held in host.held_units:
        held.keys = [key for key in held.keys if key not in keys]
        if not held.keys:
            _book(state, held, -1)
    host.held_units = [held for held in host.held_units if held.keys]


def forget_units(state: State, host: Host | None) -> None:
    """The host is no longer part of the cell. The sums are copied first: a branch of the state shares them."""
    if host is None or not host.held_units:
        return
    state.bookings = Bookings({holder: dict(sums) for holder, sums in state.bookings.items()})
    state.units_in_use = UnitsInUse({key: dict(counts) for key, counts in state.units_in_use.items()})
    for held in host.held_units:
        _book(state, held, -1)


def index_held(state: State) -> None:
    """Book the held units of a state that is read."""
    for host in state.hosts.values():
        for held in host.held_units:
            _book(state, held)


def _book(state: State, held: HeldUnits, sign: int = 1) -> None:
    state.units_in_use.book(held.granted, sign)
    state.bookings.book(held_amounts(held.granted), sign)
    for grant in held.granted:
        if grant.host in state.closed_shares:
            book_closed_units(state, grant.host)
