"""Unit bookings: the named units of tasks, reservations and grants, booked by class.

Owns the way from units to bookings and back: units in use as use of their classes, the classes that grants take, and units that
stand for them. Called by the ledger, the scheduler and the qmaster wherever they book grants. Source: adr/0340.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from gridengine.placement.config_snapshot import PlacementConfig, bookings_of_units
from gridengine.placement.unit_classes import Left, Pick, UnitClasses, units_of
from gridengine.placement.use import BookedUse, UseWithUnits
from gridengine.state.bookings import Booking, Bookings, Holder, Once, host_holder
from gridengine.state.jobs import Grant, GrantedUnits
from gridengine.state.state import State

if TYPE_CHECKING:
    from gridengine.placement.ledger import Ledger
    from gridengine.placement.placement_request import Request

_NO_QUOTAS = Bookings()
_NOTHING: tuple[float, Once] = (0.0, "")


def booked_use(state: State, ar_id: int = 0) -> BookedUse:
    """The bookings of a state, or those of the jobs in a reservation."""
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


def class_use(ledger: Ledger, request: Request, holder: Holder) -> Left:
    """The amount of each class of a host that is in use, or reserved while the request would run."""
    of, ahead, duration = ledger.of, ledger.reserved_ahead, request.duration
    if ledger.timeline is None:
        return partial(of, holder)
    return lambda name: of(holder, name) + ahead(holder, name, duration)


def needs(
    config_snapshot: PlacementConfig, request: Request, granted: list[Grant]
) -> Iterator[tuple[str, UnitClasses, int, int]]:
    """The units of classes that grants take on each host: host, classes of a resource, the amount that is requested together,
    and how often."""
    if not config_snapshot.has_units:
        return
    master = granted[0].host
    slots = {master: granted[0].slots}
    for grant in granted[1:]:
        host = grant.host
        slots[host] = slots.get(host, 0) + grant.slots
    for host, number in slots.items():
        for resource, classes in config_snapshot.capacities[host_holder(host)].units.items():
            amount, once = request.consumed.get(resource, _NOTHING)
            if amount and (once != "JOB" or host == master):
                yield host, classes, round(amount), 1 if once else number


def standing_for(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, granted: list[Grant]) -> list[GrantedUnits]:
    """Units that stand for the classes that grants take; others of their class may be free. `ledger`: without these grants."""
    found = []
    for host, classes, picks in _chosen(config_snapshot, ledger, request, granted):
        units = [unit for each, number in picks for unit in units_of(each, number)]
        found.append(GrantedUnits(host, classes.resource, units))
    return found


def bookings_of_choice(
    config_snapshot: PlacementConfig, ledger: Ledger, request: Request, granted: list[Grant]
) -> list[Booking]:
    """The bookings of the same classes."""
    found = _chosen(config_snapshot, ledger, request, granted)
    return [(host_holder(host), {each.name: number for each, number in picks}) for host, _, picks in found]


def _chosen(
    config_snapshot: PlacementConfig, ledger: Ledger, request: Request, granted: list[Grant]
) -> list[tuple[str, UnitClasses, list[Pick]]]:
    found = []
    for host, classes, amount, times in needs(config_snapshot, request, granted):
        picks = classes.picks(request.wanted, class_use(ledger, request, host_holder(host)), amount, times)
        if picks:
            found.append((host, classes, picks))
    return found
