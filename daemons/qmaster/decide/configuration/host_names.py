"""Host names in configuration objects: each becomes the unique name of the host, as in its instances.

Owns that step between an object's own checks and the stored text. Called by `objects` and `attributes`. Source: GC-5, HG-4;
host_aliases(5).
"""

from __future__ import annotations

from daemons.qmaster.decide.configuration.proposal import Attributes, Proposal
from daemons.qmaster.decision import World
from gridengine.syntax.lists import join_names, split_names
from gridengine.syntax.overrides import Overrides


def unique_host(name: str, world: World) -> str | None:
    """The unique name, None for an unknown host; `global` is itself."""
    return name if name == "global" else world.resolve_host(name)


def with_unique_hosts(proposal: Proposal, kind: str, attributes: Attributes, world: World) -> Attributes:
    """The attributes with unique names in host lists and tuples; names that cannot be resolved stay as they are."""
    if kind not in ("cluster_queue", "host_group"):
        return attributes

    def unique(name: str) -> str:
        if name.startswith("@") or proposal.has("exec_host", name):
            return name
        return world.resolve_host(name) or name

    changed = dict(attributes)
    changed["hostlist"] = join_names(dict.fromkeys(map(unique, split_names(attributes["hostlist"]))))
    for attribute, text in attributes.items() if kind == "cluster_queue" else ():
        if "[" in text:
            overrides = Overrides.parse(text)
            changed[attribute] = str(
                Overrides(overrides.default, {unique(key): value for key, value in overrides.tuples.items()})
            )
    return changed
