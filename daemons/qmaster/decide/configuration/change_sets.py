"""Change sets: many objects in one transaction, planned or applied (gridengine config plan, apply, undo).

Owns the request and its answer. A plan makes the same checks, and applies the real events to a copy of the state. Nothing is
changed unless everything is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from daemons.qmaster.decide.configuration.gate import add_missing_hosts, resolve_names
from daemons.qmaster.decide.configuration.proposal import Proposal
from daemons.qmaster.decide.configuration.references import refusals
from daemons.qmaster.decide.configuration.remarks import remarks
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from daemons.qmaster.rules.memberships import membership_changes
from gridengine.config import KINDS
from gridengine.errors import ConfigError
from gridengine.kinds import KIND, title
from gridengine.protocols.gdi.requests import Caller, ChangeObjects, ObjectChange
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.state import State


def change_objects(state: State, request: ChangeObjects, caller: Caller, world: World) -> Decision:
    decision, proposal = Decision(), Proposal(state)
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    refused = list(_propose(proposal, request.changes, world))
    if not refused:
        refused = list(refusals(proposal, world))
        add_missing_hosts(proposal)
    for line in refused:
        decision.answer.error(line)
    events = [] if refused else proposal.events()
    warnings = [] if refused else list(remarks(proposal))
    if request.plan:
        decision.answer.data = {
            "refused": refused,
            "warnings": warnings,
            "instances": instance_changes(state, events) if events else {},
        }
        return decision
    decision.events.extend(events)
    for line in warnings:
        decision.answer.warning(line)
    if not refused:
        for change in request.changes:
            verb = "added" if change.before is None else "removed" if change.after is None else "modified"
            decision.answer.info(f"{caller.user}@{caller.host} {verb} {title(change.kind, change.name)}")
    return decision


def _propose(proposal: Proposal, changes: list[ObjectChange], world: World) -> Iterator[str]:
    """Put the changes into the proposal, complexes first. Yields refusals of single objects, one line each."""
    known = [change for change in changes if change.kind in KINDS]
    if len(known) < len(changes):
        yield "denied: a change names an unknown kind of object"
        return
    rank = list(KIND)
    for change in sorted(known, key=lambda change: rank.index(change.kind)):
        kind, name = change.kind, change.name
        if proposal.state.kind(kind).get(name) != change.before:
            yield f"denied: {title(kind, name)} has been changed since this change was made"
        elif change.after is None:
            proposal.remove(kind, name)
        else:
            try:
                model = KINDS[kind].from_attributes(change.after, name=name)
                if model.object_name != name:
                    raise ConfigError(kind, name, KINDS[kind].key, f'the object is called "{model.object_name}"')
                proposal.set(kind, name, resolve_names(proposal, kind, model, world))
            except ConfigError as error:
                yield str(error)


def instance_changes(state: State, events: list[AnyEvent]) -> dict[str, Any]:
    """The effects of events on queue instances: names by kind of effect.

    `appear`, `go`, `orphaned`, `revived` (no longer orphaned), `ambiguous` ([name, attribute, identifiers]), `settled` (no
    longer ambiguous), `changed` (other values of attributes).
    """
    after = state.branch()
    for event in events:
        apply(after, event)
    for event in membership_changes(after):
        apply(after, event)
    old, new = state.instances, after.instances
    both = old.keys() & new.keys()
    orphaned = {name for name in both if new[name].orphaned and not old[name].orphaned}
    by_change = {
        "appear": new.keys() - old.keys(),
        "go": old.keys() - new.keys(),
        "orphaned": orphaned,
        "revived": {name for name in both if old[name].orphaned and not new[name].orphaned},
        "settled": {name for name in state.ambiguous if name in new and name not in after.ambiguous},
        "changed": {name for name in both - orphaned if state.configs[name].text != after.configs[name].text},
    }
    conflicts = [
        [name, attribute, list(between)]
        for name, ambiguous in sorted(after.ambiguous.items())
        for attribute, between in ambiguous
        if (attribute, between) not in state.ambiguous.get(name, ())
    ]
    return {**{what: sorted(names) for what, names in by_change.items()}, "ambiguous": conflicts}
