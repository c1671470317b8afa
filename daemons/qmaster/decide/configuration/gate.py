"""The gate of configuration: each request becomes an object of a proposal, or a refusal.

Owns the steps from written entries to stored texts (`parse_object`), and the end of every configuration request: checks,
events, warnings (`conclude`). Called by all handlers of configuration requests.
"""

from __future__ import annotations

from collections.abc import Mapping

from daemons.qmaster.decide.configuration.complex_settings import with_full_names
from daemons.qmaster.decide.configuration.host_names import unique_host, with_unique_hosts
from daemons.qmaster.decide.configuration.proposal import Attributes, Proposal
from daemons.qmaster.decide.configuration.references import refusals
from daemons.qmaster.decide.configuration.remarks import remarks
from daemons.qmaster.decision import Decision, World
from gridengine.config import KINDS
from gridengine.config.objects import ConfigObject
from gridengine.errors import ConfigError
from gridengine.kinds import KIND
from gridengine.protocols.gdi.requests import ConfigureObject
from gridengine.state.state import State
from gridengine.syntax.lists import split_names


def parse_object(
    proposal: Proposal, request: ConfigureObject, world: World, warnings: list[str]
) -> tuple[str, ConfigObject]:
    """Name and object of a request's entries. Raises ConfigError; warnings are appended to `warnings` (X-1, GC-3)."""
    kind = KINDS[request.kind]
    entries = [(kind.key, request.name, 0)] if KIND[request.kind].bare else list(request.attributes)
    name = (request.name or "global") if request.kind == "configuration" else ""
    model = kind.parse(entries, name=name, warnings=warnings)
    return model.object_name, resolve_names(proposal, request.kind, model, world)


def resolve_names(proposal: Proposal, kind: str, model: ConfigObject, world: World) -> ConfigObject:
    """The object with full names of complexes and unique names of hosts. Raises ConfigError."""
    attributes = model.attributes()
    changed = with_full_names(proposal, kind, model.object_name, attributes)
    changed = with_unique_hosts(proposal, kind, changed, world)
    return model if changed == attributes else KINDS[kind].from_attributes(changed, name=model.object_name)


def rename_object(kind: str, model: ConfigObject, name: str) -> ConfigObject:
    """The same object under the unique name of its host."""
    attributes = model.attributes()
    if KINDS[kind].key in attributes:
        attributes[KINDS[kind].key] = name
    return KINDS[kind].from_attributes(attributes, name=name)


def stored_name(kind: str, name: str, state: State, world: World) -> str | None:
    """The name under which an object of this kind is stored; None for a host that cannot be resolved."""
    if not KIND[kind].hosts or state.has(kind, name):
        return name
    return unique_host(name, world)


def conclude(proposal: Proposal, decision: Decision, world: World) -> Decision:
    """Check a proposal: its events and warnings, or the first refusal."""
    try:
        refusal = next(refusals(proposal, world), "")
        add_missing_hosts(proposal)
    except ConfigError as error:
        refusal = str(error)
    if refusal:
        decision.answer.answers.clear()
        return decision.refuse(refusal)
    decision.events.extend(proposal.events())
    for line in remarks(proposal):
        decision.answer.warning(line)
    return decision


def add_missing_hosts(proposal: Proposal) -> None:
    """Create exec hosts for those hosts of queues that are no exec hosts yet, as in the original."""
    if not any(kind in ("cluster_queue", "host_group") for kind, _ in proposal.changed):
        return
    groups = proposal.host_groups()
    template = KINDS["exec_host"].template().attributes()
    listed = {name for text in proposal.kind("cluster_queue").values() for name in split_names(text["hostlist"])}
    for host in groups.flatten(sorted(listed)):
        if not proposal.has("exec_host", host):
            proposal.set_attributes("exec_host", host, _host(template, host))


def _host(template: Mapping[str, str], host: str) -> Attributes:
    return {**template, "hostname": host}
