"""Single attributes of objects, queue domains and queue instances: -aattr, -dattr, -mattr, -rattr and -purge.

Owns the selection of an object and a tuple by name, and the answers. The arithmetic on texts belongs to
`gridengine.config.attribute_changes`. Source: qconf(1); QF-1 … QF-8, QF-39, HG-10; O for texts and exit codes.
"""

from __future__ import annotations

from daemons.qmaster.decide.configuration.complex_settings import full_text, is_complex_list, table_of
from daemons.qmaster.decide.configuration.gate import conclude, resolve_names, stored_name
from daemons.qmaster.decide.configuration.proposal import Attributes, Proposal
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.config import KINDS
from gridengine.config.attribute_changes import change_attribute, change_limit, purge_override
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.kinds import KIND
from gridengine.protocols.gdi.requests import Caller, ConfigureAttributes
from gridengine.state.state import State
from gridengine.syntax.lists import is_none
from gridengine.terminal.hints import did_you_mean


def change(state: State, request: ConfigureAttributes, caller: Caller, world: World) -> Decision:
    """Change some attributes of one object, or with the verb `purge` remove tuples from a queue: all or none."""
    decision = Decision()
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    if not request.changes:
        return decision.refuse("denied: no attribute is named")
    object_kind = KIND[request.kind]
    written, part = _split_name(request)
    name = stored_name(request.kind, written, state, world)
    if name is None:
        return decision.refuse(f'can\'t resolve hostname "{written}"')
    before = state.kind(request.kind).get(name)
    if before is None:
        hint = did_you_mean(name, state.kind(request.kind))
        return decision.refuse(f'denied: {object_kind.noun} "{name}" does not exist', hint=hint)
    if part and request.kind == "cluster_queue" and not part.startswith("@"):
        part = world.resolve_host(part) or part
    proposal = Proposal(state)
    try:
        if request.verb == "purge":
            after = _purge(request, before, part, decision)
            if after is None:
                return decision
        else:
            after = dict(before)
            for attribute, value in request.changes:
                after = _apply_change(proposal, request, after, attribute, value, part)
        model = KINDS[request.kind].from_attributes(after, name=name)
        proposal.set(request.kind, name, resolve_names(proposal, request.kind, model, world))
    except ConfigError as error:
        return decision.refuse(str(error))
    decision.answer.info(f'{caller.user}@{caller.host} modified "{name}" in {object_kind.listing}')
    return conclude(proposal, decision, world)


def _split_name(request: ConfigureAttributes) -> tuple[str, str]:
    """Object and part of it: host or group of a queue's tuple, rule of a resource quota set (QF-6)."""
    separator = {"cluster_queue": "@", "resource_quota": "/"}.get(request.kind)
    if separator is None:
        return request.name, ""
    name, _, part = request.name.partition(separator)
    return name, part


def _apply_change(
    proposal: Proposal, request: ConfigureAttributes, before: Attributes, attribute: str, value: str, part: str
) -> Attributes:
    """The attributes after one change; shortcuts of complexes in the value become full names first. Raises ConfigError."""
    kind = request.kind
    if not value.strip() and request.verb != "delete":
        raise ConfigError(kind, request.name, attribute, "a value is expected; NONE is an empty list")
    if kind == "resource_quota" and (part or attribute == "limit"):
        return change_limit(before, request.verb, attribute, value, part)
    if is_complex_list(kind, attribute) and not is_none(value):
        try:
            value = _full_value(proposal, kind, attribute, value)
        except InvalidValueError as fault:
            raise ConfigError(kind, request.name, attribute, str(fault)) from None
    return change_attribute(kind, before, request.verb, attribute, value, part)


def _full_value(proposal: Proposal, kind: str, attribute: str, value: str) -> str:
    if not value.lstrip().startswith("["):
        return full_text(table_of(proposal), kind, attribute, value)
    # tuples alone: with the default NONE in front they become a regular text
    return full_text(table_of(proposal), kind, attribute, f"NONE,{value}").removeprefix("NONE,")


def _purge(request: ConfigureAttributes, before: Attributes, part: str, decision: Decision) -> Attributes | None:
    """The queue without tuples of a host or group; None if there are none. A missing attribute or tuple is a warning, as in the
    original. Raises ConfigError (QF-8)."""
    names = [name for name, _ in request.changes]
    if request.kind != "cluster_queue":
        reason = "only the settings of a host or host group in a queue can be purged"
        raise ConfigError(request.kind, request.name, names[0], reason)
    if not part:
        reason = "purging needs a host or a host group: queue@host or queue@@group"
        raise ConfigError(request.kind, request.name, names[0], reason)
    result = None
    for name in names:
        after = purge_override(result or before, name, part)
        if after is None:
            decision.answer.warning(f'Attribute name ("{name}") and/or value ("{part}") not found')
        result = after or result
    return result
