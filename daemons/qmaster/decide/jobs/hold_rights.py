"""Hold rights: the three levels of holds and the rights to set and remove them (statement SO-49).

Owns the characters of the levels and the rule: user holds by the owner, operator holds by operators, system holds by managers.
Called for submissions, copies and changes of holds. Source: qhold(1); O for the texts.
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decision import World
from daemons.qmaster.permissions import is_manager, is_operator
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Hold
from gridengine.state.state import State

HOLD_CODES = {"u": Hold.USER, "o": Hold.OPERATOR, "s": Hold.SYSTEM}
EXIT_RIGHTS = 10
"""Exit code of qhold and qrls without the right."""


def hold_kinds(codes: Iterable[str]) -> Hold:
    """The holds of the characters u o s; other characters do not count."""
    kinds = Hold(0)
    for code in codes:
        kinds |= HOLD_CODES.get(code, Hold(0))
    return kinds


def check_hold_rights(state: State, caller: Caller, world: World, kinds: Hold, verb: str, status: int = 1) -> None:
    """Whether the caller may set, or remove, holds of these kinds on a job of their own. Raises RefusedError."""
    if kinds & Hold.SYSTEM and not is_manager(state, caller, world.admin_user):
        raise RefusedError(f'denied: "{caller.user}" must be manager to {verb} manager hold', status)
    if kinds & Hold.OPERATOR and not is_operator(state, caller, world.admin_user):
        raise RefusedError(f'denied: "{caller.user}" must be operator to {verb} operator hold', status)
