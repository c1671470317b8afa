"""Requests for an advance reservation, checked and completed: a draft without grants.

Owns the arithmetic of the time window, names, users, and the right to reserve. Called by `reservations`. Source: qrsub(1);
statements AR-1 … AR-30; O for texts.
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.job_fields import (
    check_ckpt,
    check_job_name,
    check_mail_list,
    check_object_name,
    check_pe,
    check_queues,
    requested_resources,
)
from daemons.qmaster.decide.jobs.whole_jobs import check_slots
from daemons.qmaster.decision import World
from daemons.qmaster.permissions import is_operator
from daemons.qmaster.selection import on_unique_hosts
from gridengine.config.parallel import check_allocation_rule
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import Caller, Reserve
from gridengine.protocols.gdi.reservation_request import RESERVATION_FIELDS
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.values.ranges import parse_slot_ranges

MAX_AR_ID = 9_999_999


def may_reserve(state: State, caller: Caller, world: World) -> bool:
    """Managers, operators and the access list `arusers`, by user or @unix_group. Source: AR-29, AR-30."""
    if is_operator(state, caller, world.admin_user):
        return True
    arusers = state.usersets.get("arusers")
    return arusers is not None and not arusers.entries.isdisjoint((caller.user, f"@{caller.group}"))


def draft(state: State, request: Reserve, caller: Caller, world: World) -> AdvanceReservation:
    """The reservation of a request, without grants. Raises RefusedError."""
    if request.name:
        check_job_name(request.name)
    check_object_name(request.account)
    check_mail_list(request.mail_list)
    start, end = time_window(request.start_time, request.end_time, request.duration, world.now)
    hard = requested_resources(state, request.hard, False, world)
    queues = {
        name: tuple(on_unique_hosts(state, text, world.resolve_host) for text in getattr(request, name))
        for name in ("hard_queues", "master_queues")
    }
    check_queues(state, (*queues["hard_queues"], *queues["master_queues"]))
    rule = _allocation_rule(request)
    _check_slots(request)
    if request.pe:
        check_pe(state, request.pe)
    check_ckpt(state, request.checkpoint)
    allowed, denied = access(state, request.users, caller.user)
    asked = {name: getattr(request, name) for name in RESERVATION_FIELDS} | queues
    return AdvanceReservation(
        id=next_ar_id(state),
        owner=caller.user,
        group=caller.group,
        submit_time=world.now,
        start_time=start,
        end_time=end,
        hard=hard,
        immediate=request.now,
        allowed=allowed,
        denied=denied,
        **{**asked, "allocation_rule": rule},
    )


def _allocation_rule(request: Reserve) -> str:
    """The rule of -alloc (AR-126). Raises RefusedError."""
    if not request.allocation_rule:
        return ""
    try:
        return check_allocation_rule(request.allocation_rule)
    except InvalidValueError as fault:
        raise RefusedError(f"denied: the allocation rule (-alloc) is wrong: {fault}") from None


def _check_slots(request: Reserve) -> None:
    """The slots of -pe or -alloc (AR-19). Raises RefusedError."""
    check_slots(request.pe, request.allocation_rule, request.pe_range)
    if not request.pe_range:
        return
    try:
        parse_slot_ranges(request.pe_range)
    except InvalidValueError as fault:
        raise RefusedError(f"denied: the number of slots (-pe, -alloc) is wrong: {fault}") from None


def time_window(start: float, end: float, duration: float, now: float) -> tuple[float, float]:
    """Start and end (epoch s) from the given values of the three, 0 if not given. Raises RefusedError. Source: AR-1 … AR-7."""
    if not end and not duration:
        raise RefusedError('missing value for "end time or duration" in advance reservation request')
    this_second = float(int(now))
    if start and end and duration and end - start != duration:
        raise RefusedError("difference between end and start time does not correspond to duration")
    start = start or (end - duration if end and duration else this_second)
    if start < this_second:
        raise RefusedError("start time is in the past")
    end = end or start + duration
    if end <= this_second:
        raise RefusedError("end time is in the past")
    if start >= end:
        raise RefusedError("start time is later than end time")
    return start, end


def access(state: State, users: Iterable[str], caller: str) -> tuple[list[str], list[str]]:
    """Allowed and denied users and @lists of -u; an empty list allows the owner alone. Raises RefusedError (AR-21, AR-22)."""
    allowed: list[str] = []
    denied: list[str] = []
    for item in users:
        name = item.removeprefix("!")
        name = caller if name == "$user" else name
        if name.startswith("@") and not state.has("userset", name[1:]):
            raise RefusedError(f'Userset "{name[1:]}" does not exist')
        kept = denied if item.startswith("!") else allowed
        if name and name not in kept:
            kept.append(name)
    return allowed, denied


def next_ar_id(state: State, taken: int = 0) -> int:
    """The next number that no reservation has; after 9999999 the numbers continue at 1 (AR-28). `taken`: the last number that
    this request has used already."""
    number = taken + 1 if taken else state.next_ar_id
    while True:
        if number > MAX_AR_ID:
            number = 1
        if number not in state.reservations:
            return number
        number += 1
