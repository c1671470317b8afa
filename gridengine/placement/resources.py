"""Resources: the available value of each complex attribute, and the level and source that decide.

Owns the merge of levels and sources for `qstat -F`, `qhost -F`, thresholds and the load formula. Matching does not use it:
there each level is tested separately (CX-27). Source: qstat(1) -F, CX-23, CX-29 … CX-35, ST-8 … ST-10.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridengine.placement.config_snapshot import Capacity, PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.values import EXCLUSIVE, Offer, Value, stricter
from gridengine.state.bookings import CLUSTER, GLOBAL, Holder, holders_at, host_holder
from gridengine.state.configured.objects import ComplexEntry
from gridengine.values.instance_name import host_of


def available(config_snapshot: PlacementConfig, ledger: Ledger, instance: str, name: str) -> Offer | None:
    """The available value of an attribute in a queue instance, or None. For == the highest level counts (CX-29), for
    ordered relations the strictest value (CX-31); of equal values the highest level."""
    entry = config_snapshot.entries.get(name)
    if entry is None:
        return None
    queue, host, cluster = holders_at(instance)
    best = _stricter_of(_at_host(config_snapshot, ledger, cluster, entry), _at_host(config_snapshot, ledger, host, entry))
    return _stricter_of(best, _at_queue(config_snapshot, ledger, queue, entry))


def host_available(config_snapshot: PlacementConfig, ledger: Ledger, host: str, name: str) -> Offer | None:
    """The available value of an attribute on a host; "global" for the cluster alone. Source: qhost(1) -F."""
    entry = config_snapshot.entries.get(name)
    if entry is None:
        return None
    of_cluster, holder = _at_host(config_snapshot, ledger, CLUSTER, entry), host_holder(host)
    return of_cluster if holder is CLUSTER else _stricter_of(of_cluster, _at_host(config_snapshot, ledger, holder, entry))


def host_value(config_snapshot: PlacementConfig, ledger: Ledger, host: str, entry: ComplexEntry) -> Value | None:
    """The value of `host_available` without its source. The scheduler needs the load of many hosts in each run: mostly a load
    value that neither host nor cluster fixes."""
    capacities, name = config_snapshot.capacities, entry.name
    if name in capacities[CLUSTER].fixed or GLOBAL in ledger.state.hosts or name in capacities[host_holder(host)].fixed:
        offer = host_available(config_snapshot, ledger, host, name)
        return offer.value if offer is not None else None
    load = ledger.load(host, entry)
    return load[0] if load is not None else None


def all_resources(config_snapshot: PlacementConfig, ledger: Ledger, instance: str) -> Iterator[Offer]:
    """All resources of an instance: configured values of the cluster and its host, load values, queue attributes, the rest.

    Source: O (qstat -F).
    """
    host = host_of(instance)
    queue = config_snapshot.queue(instance)
    of_host = (*_configured_names(config_snapshot, host), *_reported(config_snapshot, host))
    for name in dict.fromkeys((*of_host, *_queue_names(queue), *sorted(config_snapshot.entries))):
        found = available(config_snapshot, ledger, instance, name)
        if found is not None:
            yield found


def host_resources(config_snapshot: PlacementConfig, ledger: Ledger, host: str) -> Iterator[Offer]:
    """All resources of a host (or "global"), configured values first, then load values. Source: O (qhost -F)."""
    for name in dict.fromkeys((*_configured_names(config_snapshot, host), *_reported(config_snapshot, host))):
        found = host_available(config_snapshot, ledger, host, name)
        if found is not None:
            yield found


def _configured_names(config_snapshot: PlacementConfig, host: str) -> list[str]:
    """Names of configured values, in the order of their configuration."""
    return [name for where in dict.fromkeys((GLOBAL, host)) for name in config_snapshot.host(where).fixed]


def _reported(config_snapshot: PlacementConfig, host: str) -> list[str]:
    """Names of reported values, first the cluster's."""
    found = [config_snapshot.state.hosts.get(where) for where in dict.fromkeys((GLOBAL, host))]
    return [name for reporting in found if reporting is not None for name in reporting.load]


def _queue_names(queue: Capacity) -> list[str]:
    """qname and hostname first, then slots, then the other attributes of the queue, as in qstat -F."""
    return ["qname", "hostname", "slots", *queue.attributes]


def _at_host(config_snapshot: PlacementConfig, ledger: Ledger, holder: Holder, entry: ComplexEntry) -> Offer | None:
    """The value of one level, a host or the cluster: fixed or consumable, and load, merged (CX-32 … CX-34)."""
    level = "h" if holder.kind == "host" else "g"
    value = config_snapshot.capacities[holder].fixed.get(entry.name)
    fixed = _configured(entry, value, level, ledger.of(holder, entry.name)) if value is not None else None
    load = ledger.load(holder.name, entry)
    return fixed if load is None else _stricter_of(fixed, Offer(entry, load[0], level, load[1]))


def _at_queue(config_snapshot: PlacementConfig, ledger: Ledger, holder: Holder, entry: ComplexEntry) -> Offer | None:
    queue = config_snapshot.capacities[holder]
    if entry.name == "hostname":
        return Offer(entry, holder.host, "q", "f")
    if entry.name in queue.attributes:
        return Offer(entry, queue.attributes[entry.name], "q", "f")
    value = queue.fixed.get(entry.name)
    return _configured(entry, value, "q", ledger.of(holder, entry.name)) if value is not None else None


def _configured(entry: ComplexEntry, value: Value, level: str, used: float) -> Offer:
    if entry.relop == EXCLUSIVE:
        return Offer(entry, 0.0 if used else value, level, "c")
    if entry.is_consumable and not isinstance(value, str):
        return Offer(entry, value - used, level, "c")
    return Offer(entry, value, level, "f")


def _stricter_of(upper: Offer | None, lower: Offer | None) -> Offer | None:
    if upper is None or lower is None:
        return upper or lower
    if isinstance(upper.value, str):
        return upper
    relop = "<=" if upper.entry.relop == EXCLUSIVE else upper.entry.relop
    return lower if stricter(relop, lower.value, upper.value) else upper  # type: ignore[arg-type]
