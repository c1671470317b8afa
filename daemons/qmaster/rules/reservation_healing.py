"""Healing: a reservation made with -heal y replaces the grants of a lost host by grants on other hosts with free capacity.

Owns the choice of the share to move: slots of broken instances that no job of the reservation uses. Its running jobs are not
touched. Called by `reservation_states`. Pure. (Not in 8.1.9.)
"""

from __future__ import annotations

from datetime import tzinfo

import msgspec

from daemons.qmaster.notifications.reservation_log import MOVED
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.granting import Granting, reservation_request
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import Grant, GrantedUnits
from gridengine.state.machines.reservation import ReservationChanged
from gridengine.state.reservations import AdvanceReservation, ReservationChanges
from gridengine.state.state import State


def heal_reservation(
    state: State, reservation: AdvanceReservation, broken: dict[str, list[str]], now: float, zone: tzinfo
) -> ReservationChanged | None:
    """The change that moves the lost share to sound instances; None if no share can be moved. broken: instance -> reasons."""
    used = state.reserved.used[reservation.id]
    lost = [
        Grant(grant.instance, grant.slots - used.slots(grant.instance))
        for grant in reservation.granted
        if grant.instance in broken and grant.slots > used.slots(grant.instance)
    ]
    slots = sum(grant.slots for grant in lost)
    if not slots:
        return None
    master = _has_lost_master(reservation, lost)
    new_grants, new_units = _find_grants(state, reservation, slots, broken, now, zone, master)
    if not new_grants:
        return None
    granted = _merge_grants(reservation.granted, lost, new_grants)
    texts = [f"{grant.slots} of {grant.instance} ({broken[grant.instance][0].rpartition(' ')[2]})" for grant in lost]
    why = f"{MOVED}{', '.join(texts)} to {', '.join(f'{grant.slots} of {grant.instance}' for grant in new_grants)}"
    changes = ReservationChanges(granted=granted)
    if reservation.units or new_units:
        changes = ReservationChanges(granted=granted, units=_kept_units(state, reservation, lost) + new_units)
    return ReservationChanged(reservation.id, changes, now, why)


def _kept_units(state: State, reservation: AdvanceReservation, lost: list[Grant]) -> list[GrantedUnits]:
    """The units of the reservation without the lost share."""
    found = []
    for held in reservation.units:
        before = sum(grant.slots for grant in reservation.granted if grant.host == held.host)
        left = before - sum(grant.slots for grant in lost if grant.host == held.host)
        number = len(held.units) if state.once(held.resource) and left else len(held.units) * left // before
        if number:
            found.append(GrantedUnits(held.host, held.resource, held.units[:number]))
    return found


def _has_lost_master(reservation: AdvanceReservation, lost: list[Grant]) -> bool:
    """Whether the grant of the master task is lost as a whole."""
    first = reservation.granted[0]
    return any(grant == first for grant in lost)


def _find_grants(
    state: State,
    reservation: AdvanceReservation,
    slots: int,
    broken: dict[str, list[str]],
    now: float,
    zone: tzinfo,
    master: bool,
) -> tuple[list[Grant], list[GrantedUnits]]:
    """Grants of so many slots for the rest of the window, on instances that are not broken, and their units."""
    rest = msgspec.structs.replace(reservation, start_time=max(now, reservation.start_time))
    config_snapshot = PlacementConfig.of(state)
    request = reservation_request(config_snapshot, rest).in_pe(reservation.granted_pe).for_slots(slots, master)
    granting = Granting(config_snapshot, Timeline(state, now, planned=True), rest, zone, request=request)
    granting.without = frozenset(broken)
    granted = granting.place()[0]
    return granted, granting.units(granted) if granted else []


def _merge_grants(granted: list[Grant], lost: list[Grant], new_grants: list[Grant]) -> list[Grant]:
    """The grants with the lost share replaced by the new grants; a new grant of the master task comes first."""
    slots = {grant.instance: grant.slots for grant in granted}
    for grant in lost:
        slots[grant.instance] -= grant.slots
    slots_on = {instance: count for instance, count in slots.items() if count}
    order = [*slots_on, *(grant.instance for grant in new_grants)]
    if granted[0].instance not in slots_on:
        order = [new_grants[0].instance, *order]
    for grant in new_grants:
        slots_on[grant.instance] = slots_on.get(grant.instance, 0) + grant.slots
    return [Grant(instance, slots_on[instance]) for instance in dict.fromkeys(order)]

