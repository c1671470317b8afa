"""Choice of a queue instance's value for each queue attribute.

Owns the resolution of tuples over hosts and host groups, and the search for detached tuples. Called by the qmaster and by state
for every instance of a queue: `ResolvableQueue` reads the tuples once, hosts of the same groups share the result.
Source: CQ-9..15, CQ-18, CQ-19, CQ-32.
"""

from collections.abc import Iterable, Mapping

from gridengine.syntax.overrides import Overrides

#: attributes without tuples
_PLAIN = frozenset(("qname", "hostlist"))


class ResolvableQueue:
    """A cluster queue prepared for resolution. attributes: of a valid cluster queue, by name."""

    __slots__ = ("_defaults", "_overridden", "_own_hosts", "_by_groups")

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self._defaults = dict(attributes)
        self._overridden: dict[str, Overrides] = {}
        self._by_groups: dict[frozenset[str], tuple[dict[str, str], tuple[tuple[str, tuple[str, ...]], ...]]] = {}
        for name, text in attributes.items():
            if name in _PLAIN or "[" not in text:
                continue
            overrides = Overrides.parse(text)
            self._defaults[name] = overrides.default
            if overrides.tuples:
                self._overridden[name] = overrides
        hosts_own = {
            identifier
            for overrides in self._overridden.values()
            for identifier in overrides.tuples
            if not identifier.startswith("@")
        }
        self._own_hosts = frozenset(hosts_own)

    def changed_hosts(self, other: "ResolvableQueue") -> frozenset[str] | None:
        """Hosts and host groups whose tuples differ from `other`; None if a default differs, and so every host.

        The host list does not count: it determines the instances, not their attributes.
        """
        if any(self._defaults[name] != text for name, text in other._defaults.items() if name != "hostlist"):
            return None
        changed: set[str] = set()
        for name in self._overridden.keys() | other._overridden.keys():
            mine = self._overridden[name].tuples if name in self._overridden else {}
            theirs = other._overridden[name].tuples if name in other._overridden else {}
            changed.update(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
        return frozenset(changed)

    def resolve(self, host: str, groups: frozenset[str]) -> tuple[dict[str, str], list[tuple[str, tuple[str, ...]]]]:
        """(attributes of the instance, [(attribute, identifiers between which it is ambiguous)]).

        groups: all groups that hold the host, also through other groups. An ambiguous attribute has the default of the
        cluster queue (CQ-14). The dictionary is a copy; hostlist in it is the host.
        """
        if host in self._own_hosts:
            shared, ambiguous = self._resolve(host, groups)
        else:
            cached = self._by_groups.get(groups)
            if cached is None:
                cached = self._by_groups[groups] = self._resolve(host, groups)
            shared, ambiguous = cached
        resolved = dict(shared)
        if "hostlist" in resolved:
            resolved["hostlist"] = host
        return resolved, list(ambiguous)

    def _resolve(
        self, host: str, groups: frozenset[str]
    ) -> tuple[dict[str, str], tuple[tuple[str, tuple[str, ...]], ...]]:
        resolved = dict(self._defaults)
        ambiguous: list[tuple[str, tuple[str, ...]]] = []
        for name, overrides in self._overridden.items():
            resolved[name], between = overrides.value_for(host, groups)
            if between:
                ambiguous.append((name, between))
        return resolved, tuple(ambiguous)

    def detached(self, hosts: Iterable[str], groups_of_host: Mapping[str, frozenset[str]]) -> dict[str, dict[str, str]]:
        """Tuples that no instance uses: {attribute: {identifier: value}}. hosts: of the resolved host list.

        A tuple counts as used when its host, or a host of its group, is in the host list (CQ-18, CQ-19).
        """
        used = set(hosts)
        for host in list(used):
            used |= groups_of_host.get(host, frozenset())
        found: dict[str, dict[str, str]] = {}
        for name, overrides in self._overridden.items():
            loose = {identifier: value for identifier, value in overrides.tuples.items() if identifier not in used}
            if loose:
                found[name] = loose
        return found


def resolve(
    attributes: Mapping[str, str], host: str, groups: frozenset[str]
) -> tuple[dict[str, str], list[tuple[str, tuple[str, ...]]]]:
    """`ResolvableQueue.resolve` for a single instance."""
    return ResolvableQueue(attributes).resolve(host, groups)
