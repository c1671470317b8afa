"""Changed state: the events of a change applied to a copy of the state, with their consequences by rule.

Owns that order, which is the qmaster's: each decision of a rule is applied, with its own consequences, before the next one is
computed. Called by `change`. Source: adr/0335.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.following import FOLLOWERS
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.state import State


def apply_change(state: State, events: Sequence[AnyEvent], now: float, zone: tzinfo) -> State:
    """The same state after the events. now: epoch seconds; zone: of calendars."""
    _carry_out(state, Decision(events=[*events]), World(now, lambda name: name, zone=zone))
    return state


def _carry_out(state: State, decision: Decision, world: World) -> None:
    if decision.changes_nothing:
        return
    affected = Affected()
    for event in decision.events:
        affected.note(state, event)
        apply(state, event)
    state.revision += 1
    for rule in FOLLOWERS:
        for following in rule(state, affected, world):
            _carry_out(state, following, world)
