"""Nesting of host groups: resolution of their members, and refusal of cycles.

Owns the resolution of host lists. Called by the qmaster (instances of cluster queues, refusal of cycles), by state's
index and by `qconf -shgrp_tree` and `-shgrp_resolved`. A mapping `groups` gives the members of each group by its name
with the @; members are hosts and groups. Unknown groups have no members. Source: HG-3, HG-5; CQ-6, CQ-9.
"""

from collections.abc import Iterable, Mapping, Sequence

Groups = Mapping[str, Sequence[str]]


def find_cycle(groups: Groups, start: str) -> list[str] | None:
    """The groups along a cycle through `start`, first and last being `start`; None if there is none."""
    path: list[str] = [start]
    visited: set[str] = set()
    pending: list[list[str]] = [_subgroups(groups, start)]
    while pending:
        if not pending[-1]:
            pending.pop()
            path.pop()
            continue
        group = pending[-1].pop(0)
        if group == start:
            return [*path, start]
        if group not in visited:
            visited.add(group)
            path.append(group)
            pending.append(_subgroups(groups, group))
    return None


def _subgroups(groups: Groups, group: str) -> list[str]:
    return [member for member in groups.get(group, ()) if member.startswith("@")]


def resolve_hosts(groups: Groups, members: Iterable[str]) -> list[str]:
    """The hosts of a host list, each once, in the order of their first appearance."""
    hosts: dict[str, None] = {}
    seen: set[str] = set()
    pending = list(members)[::-1]
    while pending:
        member = pending.pop()
        if not member.startswith("@"):
            hosts[member] = None
        elif member not in seen:
            seen.add(member)
            pending.extend(list(groups.get(member, ()))[::-1])
    return list(hosts)


def groups_of_hosts(groups: Groups) -> dict[str, frozenset[str]]:
    """For each host that is in any group, all groups that hold it, also through other groups."""
    holders: dict[str, set[str]] = {}
    for group in groups:
        for host in resolve_hosts(groups, (group,)):
            holders.setdefault(host, set()).add(group)
    shared: dict[frozenset[str], frozenset[str]] = {}
    return {host: shared.setdefault(frozenset(names), frozenset(names)) for host, names in holders.items()}
