"""Deletion of advance reservations: qrdel, and the selection of reservations by target.

Owns rights, texts and the order; `reservation_ends` ends the jobs inside. Source: qrdel(1); statements AR-101 … AR-106; O for
texts.
"""

from __future__ import annotations

from daemons.qmaster.decide.reservations.requests import may_reserve
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_admin_host, is_operator, is_submit_host, not_submit_host
from daemons.qmaster.rules.reservation_ends import end_reservation
from daemons.qmaster.selection import user_matches
from gridengine.protocols.gdi.requests import Answer, Caller, DeleteReservations
from gridengine.state.machines.reservation import ReservationRemoved
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.syntax.wildcard import compile_expression


def delete_reservations(state: State, request: DeleteReservations, caller: Caller, world: World) -> Decision:
    """qrdel, in the order of the targets."""
    decision = Decision()
    if not (is_submit_host(state, caller.host) or is_admin_host(state, caller.host)):
        return decision.refuse(not_submit_host(caller))
    operator = is_operator(state, caller, world.admin_user)
    if not may_reserve(state, caller, world):
        return decision.refuse(f'denied: "{caller.user}" must be manager, operator or in userset "arusers"')
    users = [caller.user if user == "$user" else user for user in request.users]
    targets = request.targets
    if "0" in targets or not (targets or users):
        return decision.refuse("You have to specify a username or advance_reservation ids")
    if "*" in users and not targets and not operator:
        return decision.refuse(f'denied: "{caller.user}" must be manager or operator to delete all advance reservations')
    done: set[int] = set()
    for target in targets or [""]:
        matching = [r for r in _select(state, target, users, caller, request.series) if r.id not in done]
        if not matching:
            decision.answer.error(no_match_text(target, users))
        for reservation in matching:
            done.add(reservation.id)
            if not operator and reservation.owner != caller.user:
                decision.answer.error(not_owner(caller, reservation, "delete"))
                continue
            decision += _delete(state, reservation, caller, world, request.force)
    return decision


def _select(
    state: State, target: str, users: list[str], caller: Caller, series: bool
) -> list[AdvanceReservation]:
    """The reservations of a target; with `series` also the later reservations of their series."""
    selected = select_reservations(state, target, users, caller.user)
    if not series:
        return selected
    from_when = {one.series: one.start_time for one in reversed(selected) if one.series}
    return [
        one
        for one in state.reservations.values()
        if one in selected or one.start_time >= from_when.get(one.series, float("inf"))
    ]


def select_reservations(state: State, target: str, users: list[str], caller: str) -> list[AdvanceReservation]:
    """The reservations of a target: an id of any owner; a name or pattern of the caller's own reservations, unless users are
    named (AR-102)."""
    if target.isdecimal():
        one = state.reservations.get(int(target))
        return [one] if one is not None and user_matches(one.owner, users) else []
    named = compile_expression(target) if target else lambda name: True
    owners = users or [caller]
    return [r for _, r in sorted(state.reservations.items()) if named(r.name) and user_matches(r.owner, owners)]


def not_owner(caller: Caller, reservation: AdvanceReservation, verb: str) -> str:
    """The refusal for a reservation of another user."""
    rights = "you do not have the necessary privileges"
    return f'{caller.user} - {rights} to {verb} the advance_reservation "{reservation.id}"'


def no_match_text(target: str, users: list[str]) -> str:
    """The refusal for a target without matches."""
    if target:
        return f'denied: advance_reservation "{target}" does not exist'
    return f"There is no advance_reservation registered for the following users: {','.join(users)}"


def _delete(state: State, reservation: AdvanceReservation, caller: Caller, world: World, force: bool) -> Decision:
    number = reservation.id
    if reservation.ending and not force:
        return Decision(Answer(answers=[("info", f"advance_reservation {number} is already in deletion")]))
    decision = end_reservation(state, reservation, "d", caller.user, world.now, force)
    gone = any(type(event) is ReservationRemoved for event in decision.events)
    text = f"has {'deleted' if gone else 'registered the'} advance_reservation {number}{'' if gone else ' for deletion'}"
    decision.answer.info(f"{caller.user} {text}")
    return decision
