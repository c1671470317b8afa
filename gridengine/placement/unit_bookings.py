"""Unit bookings: the named units of tasks, reservations and grants, booked by class.

Owns the choice of classes for grants, their bookings, and units that stand for classes. Called by the scheduler and the qmaster
wherever they book grants. Source: adr/0340.
"""

from __future__ import annotations

from functools import partial

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.placement_request import NOTHING, Request
from gridengine.placement.unit_classes import Left, Pick, UnitClasses, units_of
from gridengine.state.bookings import Booking, Holder, host_holder
from gridengine.state.jobs import Grant, GrantedUnits


def class_use(ledger: Ledger, request: Request, holder: Holder) -> Left:
    """The amount of each class of a host that is in use, or reserved while the request would run."""
    of, ahead, duration = ledger.of, ledger.reserved_ahead, request.duration
    if ledger.timeline is None:
        return partial(of, holder)
    return lambda name: of(holder, name) + ahead(holder, name, duration)


def needs(
    config_snapshot: PlacementConfig, request: Request, granted: list[Grant]
) -> list[tuple[str, UnitClasses, int, int]]:
    """The units of classes that grants take on each host: host, classes of a resource, the amount that is requested together,
    and how often."""
    if not config_snapshot.has_units:
        return []
    master = granted[0].host
    slots = {master: granted[0].slots}
    for grant in granted[1:]:
        host = grant.host
        slots[host] = slots.get(host, 0) + grant.slots
    found = []
    for host, number in slots.items():
        for resource, classes in config_snapshot.capacities[host_holder(host)].units.items():
            amount, once = request.consumed.get(resource, NOTHING)
            if amount and (once != "JOB" or host == master):
                found.append((host, classes, round(amount), 1 if once else number))
    return found


def standing_for(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, granted: list[Grant]) -> list[GrantedUnits]:
    """Units that stand for the classes that grants take; other units of a class may be free. `ledger`: without the grants."""
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
        picks = classes.picks(request.unit_demands, class_use(ledger, request, host_holder(host)), amount, times)
        if picks:
            found.append((host, classes, picks))
    return found
