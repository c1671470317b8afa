"""Booked use: the bookings of a state as a way to count, with the units in use by class where units have properties.

Owns the choice between two ways to count. Called by the ledger. Source: adr/0340.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gridengine.placement.config_snapshot import PlacementConfig, bookings_of_units
from gridengine.placement.use import BookedUse, UseWithUnits
from gridengine.state.bookings import Bookings, host_holder
from gridengine.state.state import State

_NO_QUOTAS = Bookings()


def booked_use(state: State, ar_id: int = 0) -> BookedUse:
    """The bookings of a state, or of the jobs in a reservation."""
    booked, quotas = (state.reserved.used[ar_id], _NO_QUOTAS) if ar_id else (state.bookings, state.quotas.used)
    if not state.kind("host_units"):
        return BookedUse(booked, quotas)
    config_snapshot = PlacementConfig.of(state)
    if not ar_id:
        return UseWithUnits(booked, quotas, lambda host: _in_use(state, config_snapshot, host))
    of_jobs = Bookings()
    for number in state.reserved.jobs[ar_id]:
        for task in state.jobs[number].placed:
            of_jobs.book(bookings_of_units(config_snapshot, task.units))
    return UseWithUnits(booked, quotas, lambda host: of_jobs.at(host_holder(host)))  # type: ignore[arg-type,return-value]


def _in_use(state: State, config_snapshot: PlacementConfig, host: str) -> Mapping[str, int]:
    counts = Counter[str]()
    for resource, classes in config_snapshot.capacities[host_holder(host)].units.items():
        for unit, number in state.units_in_use.of(host, resource).items():
            known = classes.of_unit.get(unit)
            if known is not None:
                counts[known.name] += number
    return counts
