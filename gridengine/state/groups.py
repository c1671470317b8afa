"""The host groups of the cluster as an index: the hosts of a list, the groups of a host.

Owns only the index over the objects of kind `host_group`; `gridengine.config.host_groups` owns nesting. Built by
`gridengine.state.instances` whenever a host group changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gridengine.config.host_groups import groups_of_hosts, resolve_hosts

_NONE: frozenset[str] = frozenset()


class HostGroups:
    """`members`: hosts and groups of each group by its name with the @."""

    def __init__(self, members: Mapping[str, Sequence[str]]) -> None:
        self.members = members
        self.by_host = groups_of_hosts(members)

    def groups_of(self, host: str) -> frozenset[str]:
        """All groups that contain a host, also through other groups."""
        return self.by_host.get(host, _NONE)

    def flatten(self, members: Iterable[str]) -> list[str]:
        """The hosts of a host list, each once, in order."""
        return resolve_hosts(self.members, members)
