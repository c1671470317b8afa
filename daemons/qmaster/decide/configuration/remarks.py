"""Warnings after a change of queues or host groups: detached settings and ambiguous settings.

Owns the two texts and their derivation. Called by `gate` for the changes of a request, and by the reader of `qconf -sds` for
all queues. Source: CQ-12, CQ-13, CQ-18, CQ-19, QI-17; O for the lines of -sds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from daemons.qmaster.decide.configuration.proposal import Proposal
from gridengine.config.queue_resolution import ResolvableQueue
from gridengine.state.groups import HostGroups
from gridengine.syntax.lists import split_names
from gridengine.syntax.overrides import Overrides

_SHOWN_HOSTS = 5


class Detached(Struct, frozen=True):
    """A tuple of an `attribute` of a queue that no instance uses; `identifier`: its host or host group; with `partly` the tuple
    of a group of which only some hosts are in the host list."""

    queue: str
    attribute: str
    identifier: str
    partly: bool = False

    def __str__(self) -> str:
        where = f'in queue "{self.queue}".'
        if self.partly:
            return (
                f'default value of "{self.attribute}" is overwritten for hostgroup "{self.identifier}" {where} '
                f'Not all hosts of "{self.identifier}" are contained in the hostlist specification of queue "{self.queue}".'
            )
        what = "hostgroup" if self.identifier.startswith("@") else "host"
        return f'unused setting for attribute "{self.attribute}" and {what} "{self.identifier}" {where}'


def find_detached(queue: str, attributes: Mapping[str, str], groups: HostGroups) -> list[Detached]:
    """The detached settings of one queue, in print order."""
    settings: list[Detached] = []
    hosts = set(groups.flatten(split_names(attributes["hostlist"])))
    for attribute, text in attributes.items():
        if "[" not in text:
            continue
        for identifier in Overrides.parse(text).tuples:
            selected_hosts = set(groups.flatten((identifier,)))
            if not selected_hosts & hosts:
                settings.append(Detached(queue, attribute, identifier))
            elif not selected_hosts <= hosts:
                settings.append(Detached(queue, attribute, identifier, partly=True))
    return settings


def remarks(proposal: Proposal) -> Iterator[str]:
    """Settings that become detached or ambiguous by the proposal."""
    groups_change = any(kind == "host_group" for kind, _ in proposal.changed)
    queues = [name for kind, name, _ in proposal.sets() if kind == "cluster_queue"]
    if groups_change:
        queues = list(proposal.kind("cluster_queue"))
    groups = proposal.host_groups() if queues else proposal.state.groups
    for name in queues:
        attributes = proposal.get("cluster_queue", name)
        if attributes is None or not any("[" in text for text in attributes.values()):
            continue
        before = proposal.state.kind("cluster_queue").get(name)
        known = set(find_detached(name, before, proposal.state.groups)) if before else set()
        for setting in find_detached(name, attributes, groups):
            if not setting.partly and setting not in known:
                yield str(setting)
        yield from _ambiguous(proposal, name, attributes, groups)


def _ambiguous(proposal: Proposal, queue: str, attributes: Mapping[str, str], groups: HostGroups) -> Iterator[str]:
    """One line with the hosts for each attribute and set of groups between which it is newly ambiguous."""
    resolvable = ResolvableQueue(attributes)
    conflicts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for host in groups.flatten(split_names(attributes["hostlist"])):
        _, ambiguous = resolvable.resolve(host, groups.groups_of(host))
        known = proposal.state.ambiguous.get(f"{queue}@{host}", ())
        for conflict in ambiguous:
            if conflict not in known:
                conflicts.setdefault(conflict, []).append(host)
    for (attribute, between), hosts in conflicts.items():
        shown = " ".join(hosts[:_SHOWN_HOSTS]) + (f" and {len(hosts) - _SHOWN_HOSTS} more" if len(hosts) > _SHOWN_HOSTS else "")
        quoted = ", ".join(f'"{identifier}"' for identifier in between)
        yield f'warning: "{attribute}" of queue "{queue}" has ambiguous value ({quoted}) for hosts: {shown}'
