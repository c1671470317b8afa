"""Advance reservations as qrstat shows them.

Owns the selection of facts. Pure. Called through `daemons.qmaster.queries`. Statements AR-107 … AR-111.
"""

from __future__ import annotations

from typing import Any

from daemons.qmaster.queries.selection import Body, Listing
from daemons.qmaster.selection import user_matches
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.syntax.wildcard import compile_expression
from gridengine.values.ranges import format_slot_ranges, parse_slot_ranges


def reservations(listing: Listing, body: Body, caller: Caller, now: float) -> dict[str, Any]:
    """Body: `targets` (ids, names, patterns; null for all), `users` (names, patterns, `$user`; by default the caller, or all
    users if targets are named). A reservation that is named by its id is shown regardless of `users` (AR-110).

    Data: {"reservations": a dict each, by number, "unknown": targets without a reservation}. Raises InvalidValueError.
    """
    state = listing.state
    targets = body.get("targets")
    users = [caller.user if user == "$user" else user for user in body.get("users") or ()]
    unknown: list[str] = []
    if targets is None:
        chosen = _select_reservations(state, "*", users or [caller.user])
    else:
        chosen = set()
        for target in targets:
            matching = _select_reservations(state, target, users)
            chosen |= matching
            if not matching:
                unknown.append(target)
    return {"reservations": [_row(state.reservations[number]) for number in sorted(chosen)], "unknown": unknown}


def _select_reservations(state: State, target: str, users: list[str]) -> set[int]:
    """The reservation of an id, or the reservations of a name or pattern; `users`: only of these owners, [] for all."""
    if target.isdecimal():
        return {int(target)} & state.reservations.keys()
    matches = compile_expression(target)
    reservations = state.reservations.items()
    return {number for number, each in reservations if matches(each.name) and user_matches(each.owner, users)}


_FIELDS = (
    "id name owner group account state submit_time start_time end_time errors hard_errors pe_range granted_pe checkpoint "
    "master_queues mail_options mail_list allowed denied allocation_rule series heal idle_limit"
).split()


def _row(reservation: AdvanceReservation) -> dict[str, Any]:
    row = {name: getattr(reservation, name) for name in _FIELDS}
    row["granted"] = [[grant.instance, grant.slots] for grant in reservation.granted]
    row["hard"] = list(reservation.hard.items())
    row["pe_range"] = format_slot_ranges(parse_slot_ranges(reservation.pe_range)) if reservation.pe_range else ""
    return row
