"""Advance reservations as qrstat shows them.

Owns that selection of facts. Pure. Called through `daemons.qmaster.views`. Statements AR-107 … AR-111.
"""

from __future__ import annotations

from typing import Any

from daemons.qmaster.selection import user_matches
from daemons.qmaster.views.selection import Body, Listing
from gridengine.gdi.requests import Caller
from gridengine.ranges import format_slot_ranges, parse_slot_ranges
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.syntax.wildcard import compile_expression


def reservations(listing: Listing, body: Body, caller: Caller, now: float) -> dict[str, Any]:
    """Body: `targets` (ids, names, patterns; null for all), `users` (names, patterns, `$user`; the caller if left out,
    everybody when targets are named). An id is shown whoever the users are (AR-110).

    Data: {"reservations": a dict each, by number, "unknown": targets that mean none}. Raises SyntaxFault.
    """
    state = listing.state
    targets = body.get("targets")
    users = [caller.user if user == "$user" else user for user in body.get("users") or ()]
    unknown: list[str] = []
    if targets is None:
        chosen = _meant(state, "*", users or [caller.user])
    else:
        chosen = set()
        for target in targets:
            meant = _meant(state, target, users)
            chosen |= meant
            if not meant:
                unknown.append(target)
    return {"reservations": [_row(state.reservations[number]) for number in sorted(chosen)], "unknown": unknown}


def _meant(state: State, target: str, users: list[str]) -> set[int]:
    """The reservation of an id, or those of a name or pattern that belong to the users (anybody, if none are named)."""
    if target.isdecimal():
        return {int(target)} & state.reservations.keys()
    named = compile_expression(target)
    return {number for number, one in state.reservations.items() if named(one.name) and user_matches(one.owner, users)}


_FIELDS = (
    "id name owner group account state submit_time start_time end_time errors hard_errors pe_range granted_pe checkpoint "
    "master_queues mail_options mail_list allowed denied allocation_rule series heal idle_limit"
).split()


def _row(one: AdvanceReservation) -> dict[str, Any]:
    row = {name: getattr(one, name) for name in _FIELDS}
    row["granted"] = [[grant.instance, grant.slots] for grant in one.granted]
    row["hard"] = list(one.hard.items())
    row["pe_range"] = format_slot_ranges(parse_slot_ranges(one.pe_range)) if one.pe_range else ""
    return row
