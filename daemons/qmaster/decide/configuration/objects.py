"""Configuration: whole objects added, replaced and removed (qconf -Ax, -Mx, -dx).

Owns the three verbs and their answers. `gate` reads the entries, `references` checks the references to and from an object.
Source: qconf(1); QF-9 … QF-33, QF-37, QF-38; O for texts and exit codes.
"""

from __future__ import annotations

from daemons.qmaster.decide.configuration.complexes import complex_rows
from daemons.qmaster.decide.configuration.gate import conclude, parse_object, rename_object, stored_name
from daemons.qmaster.decide.configuration.proposal import Proposal
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.errors import ConfigError
from gridengine.kinds import KIND
from gridengine.protocols.gdi.requests import Caller, ConfigureObject, ReplaceObjects
from gridengine.state.state import State
from gridengine.terminal.hints import did_you_mean


def add(state: State, request: ConfigureObject, caller: Caller, world: World) -> Decision:
    """A new object. An existing object is refused; exit 0 for bare hosts, as scripts expect."""
    if request.kind == "complex":
        return _change_complexes(state, request, caller, world, whole=False)
    return _write(state, request, caller, world, new=True)


def modify(state: State, request: ConfigureObject, caller: Caller, world: World) -> Decision:
    """An object replaced as a whole (GD-2)."""
    if request.kind == "complex":
        return _change_complexes(state, request, caller, world, whole=True)
    return _write(state, request, caller, world, new=False)


def _write(state: State, request: ConfigureObject, caller: Caller, world: World, new: bool) -> Decision:
    decision = Decision()
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    kind, proposal, warnings = request.kind, Proposal(state), list[str]()
    try:
        name, model = parse_object(proposal, request, world, warnings)
        unique = stored_name(kind, name, state, world)
        if unique is None:
            return decision.refuse(f'can\'t resolve hostname "{name}"')
        if unique != name:
            model = rename_object(kind, model, unique)
    except ConfigError as error:
        return decision.refuse(str(error))
    object_kind, known = KIND[kind], state.has(kind, unique)
    if new and known and not KIND[kind].single:
        shown = unique if kind == "configuration" else f'"{unique}"'
        text = f"{object_kind.noun} {shown} already exists"
        return decision.refuse(text, 0 if kind in ("admin_host", "submit_host") else 1)
    if not new and not known and not KIND[kind].single:
        if kind == "configuration":
            return decision.refuse(f"{object_kind.noun} {unique} does not exist")
        hint = did_you_mean(unique, state.kind(kind))
        return decision.refuse(f'denied: {object_kind.noun} "{unique}" does not exist', hint=hint)
    proposal.set(kind, unique, model)
    for line in warnings:
        decision.answer.warning(f"warning: {line}")
    decision.answer.info(_change_text(kind, unique, "added" if new else "modified", caller))
    return conclude(proposal, decision, world)


def _change_text(kind: str, name: str, verb: str, caller: Caller) -> str:
    """The success line of an object that was added or changed (QF-37)."""
    listing = KIND[kind].listing
    if kind == "scheduler":
        return "changed scheduler configuration"
    if kind == "share_tree":
        return "changed sharetree"
    if kind in ("admin_host", "submit_host"):
        return f"{name} added to {listing}"
    return f'{caller.user}@{caller.host} {verb} "{name}" {"to" if verb == "added" else "in"} {listing}'


def delete(state: State, request: ConfigureObject, caller: Caller, world: World) -> Decision:
    decision = Decision()
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    kind, object_kind = request.kind, KIND[request.kind]
    name = "" if KIND[kind].single else stored_name(kind, request.name, state, world)
    if name is None:
        return decision.refuse(f'can\'t resolve hostname "{request.name}"')
    removed = _removal_text(kind, name, caller)
    if not state.has(kind, name):
        if kind == "share_tree":
            return decision.refuse("sharetree does not exist")
        if kind == "configuration":
            # the original reports the removal of a missing configuration as a success
            decision.answer.info(removed)
            return decision
        hint = did_you_mean(name, state.kind(kind))
        return decision.refuse(f'denied: {object_kind.missing} "{name}" does not exist', hint=hint)
    if kind == "configuration" and name == "global":
        return decision.refuse('can\'t delete configuration "global" from list', 0)
    proposal = Proposal(state)
    proposal.remove(kind, name)
    decision.answer.info(removed)
    return conclude(proposal, decision, world)


def _removal_text(kind: str, name: str, caller: Caller) -> str:
    caller_name, object_kind = f"{caller.user}@{caller.host}", KIND[kind]
    if object_kind.single:
        return f"{caller_name} removed {object_kind.listing}"
    return f'{caller_name} removed "{name}" from {object_kind.removed_from}'


def _change_complexes(
    state: State, request: ConfigureObject, caller: Caller, world: World, whole: bool
) -> Decision:
    """-Mc: entries are added, changed and removed in one transaction (QF-19); without `whole` the others stay (GD-9)."""
    decision, proposal = Decision(), Proposal(state)
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    try:
        rows = complex_rows(request.attributes)
    except ConfigError as error:
        return decision.refuse(str(error))
    current = state.kind("complex")
    for name in current if whole else ():
        if name not in rows:
            proposal.remove("complex", name)
            decision.answer.info(_removal_text("complex", name, caller))
    for name, row in rows.items():
        if current.get(name) != row.attributes():
            proposal.set("complex", name, row)
            decision.answer.info(_change_text("complex", name, "modified" if name in current else "added", caller))
    if not proposal.changed:
        decision.answer.info("Complex attribute configuration has not been changed")
    return conclude(proposal, decision, world)


def replace_all(state: State, request: ReplaceObjects, caller: Caller, world: World) -> Decision:
    """-Mrqs without a name: these objects replace all objects of the kind (QF-29), in one transaction."""
    decision, proposal = Decision(), Proposal(state)
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    for name in state.kind(request.kind):
        proposal.remove(request.kind, name)
        decision.answer.info(_removal_text(request.kind, name, caller))
    seen: set[str] = set()
    for entries in request.objects:
        try:
            name, model = parse_object(proposal, ConfigureObject(request.kind, "", entries), world, [])
        except ConfigError as error:
            return decision.refuse(str(error))
        if name in seen:
            return decision.refuse(f'denied: {KIND[request.kind].noun} "{name}" is given twice')
        seen.add(name)
        proposal.set(request.kind, name, model)
        decision.answer.info(_change_text(request.kind, name, "added", caller))
    return conclude(proposal, decision, world)
