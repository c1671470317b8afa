"""Match: why a job cannot run in a queue instance, level by level: cluster, host, queue.

Owns the rules. Static rules depend on configuration alone, so the scheduler may cache their results; `load_refusal` depends on
load and `free_slots` on use. States are not considered here: see
`gridengine.placement.obstacles`. Source: complex(5), CX-19 … CX-52; queue_conf(5), QC-14 … QC-18, QC-31 … QC-36.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridengine.placement.access import project_allowed, users_allowed
from gridengine.placement.config_snapshot import Capacity, PlacementConfig
from gridengine.placement.demand import Demand, demand_text
from gridengine.placement.ledger import Ledger
from gridengine.placement.placement_request import NOTHING, ONE_A_SLOT, Request
from gridengine.placement.quotas import claim_of
from gridengine.placement.reasons import Reason, ReservedFor, UnitsLeft
from gridengine.placement.unit_bookings import class_use
from gridengine.placement.unit_classes import NO_DEMANDS, Left, UnitClasses, UnitDemands
from gridengine.placement.values import ROUNDING, Offer, slots_in
from gridengine.state.bookings import CLUSTER, GLOBAL, Holder, Kind, holders_at
from gridengine.state.queues import InstanceConfig, QueueInstance
from gridengine.values.ranges import MAX_SLOTS

OFFERS = {"g": "cluster_offers", "h": "host_offers", "q": "queue_offers"}
EXCLUSIVES = {"g": "cluster_exclusive", "h": "host_exclusive", "q": "queue_exclusive"}
"""Codes of refusals by level."""
_LEVEL_CODES: dict[Kind, str] = {"cluster": "g", "host": "h", "instance": "q"}


def queue_refusal(request: Request, queue: str, config: InstanceConfig, capacity: Capacity) -> Reason | None:
    """Static, for all instances of a queue with equal configuration: `-q` by queue name, access, type, resources."""
    if not _queue_requested(request, queue):
        return Reason("not_requested", queue)
    if reason := _access_refusal(request, config, "q", queue):
        return reason
    if request.pe:
        if config.pe_list.isdisjoint(request.pes):
            return Reason("not_in_pe", queue, other=request.pe)
    elif not request.immediate and not config.batch and not (request.checkpoint and config.ckpt_list):
        return Reason("not_batch", queue)
    if request.immediate and not config.interactive:
        return Reason("not_interactive", queue)
    if request.checkpoint and request.checkpoint not in config.ckpt_list:
        return Reason("no_checkpoint", queue, other=request.checkpoint)
    return capacity_refusal(request, capacity, "q", queue)


def host_refusal(config_snapshot: PlacementConfig, request: Request, holder: Holder) -> Reason | None:
    """Static, for a host or the cluster: access and configured resources."""
    capacity = config_snapshot.capacities[holder]
    if capacity.access is not None and (reason := _access_refusal(request, capacity.access, "h", holder.name)):
        return reason
    return capacity_refusal(request, capacity, _LEVEL_CODES[holder.kind], holder.name)


def instance_refusal(
    config_snapshot: PlacementConfig, request: Request, instance: QueueInstance, config: InstanceConfig
) -> Reason | None:
    """Static, for one instance beyond its queue and host alone: `-q` with hosts, `-l h=`, unknown resources."""
    queue_requests = (request.hard_queues, request.master_queues)
    groups = config_snapshot.groups(instance.host)
    if request.hard_queues is not None and not any(
        queues is not None and queues.matches(instance.queue, instance.host, groups) for queues in queue_requests
    ):
        return Reason("not_requested", instance.name)
    for demand in request.hosts:
        if not demand.accepts(instance.host):
            return _offers(request, "h", instance.host, Offer(demand.entry, instance.host, "q", "f"))
    return None


def unknown_resources(
    config_snapshot: PlacementConfig, demands: Iterable[Demand], host: Capacity, queue: Capacity
) -> list[Demand]:
    """Demands without a configured value on any level: such demands need a load value of the host or the cluster. Source:
    CX-28."""
    capacities = (config_snapshot.capacities[CLUSTER].fixed, host.fixed, queue.fixed, queue.attributes)
    unknown = [demand for demand in demands if not any(demand.name in values for values in capacities)]
    return [demand for demand in unknown if not host.has_unit_attribute(demand.name)] if host.units else unknown


def is_reported(ledger: Ledger, host: str, demand: Demand) -> bool:
    """Whether the host or the cluster reports a load value of that name."""
    return ledger.load(host, demand.entry) is not None or ledger.load(GLOBAL, demand.entry) is not None


def master_lacks(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, instance: QueueInstance) -> bool:
    """Whether the instance of a master task lacks a JOB consumable that the job requests (CX-38)."""
    queue, host, _ = holders_at(instance.name)
    capacities = config_snapshot.capacities
    unknown = unknown_resources(config_snapshot, request.master_only, capacities[host], capacities[queue])
    return any(not is_reported(ledger, instance.host, demand) for demand in unknown)


def load_refusal(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, holder: Holder) -> Reason | None:
    """Refusal by the load values of a host or the cluster. A fixed value replaces the load value for == (CX-29, CX-33);
    with ordered relations both values must match, so the stricter value decides (CX-31, CX-32)."""
    host, level = holder.name, _LEVEL_CODES[holder.kind]
    fixed = config_snapshot.capacities[holder].fixed
    for demand in request.hard:
        if demand.name in fixed and (demand.entry.relop in ("==", "!=") or demand.entry.is_consumable):
            continue
        found = ledger.load(host, demand.entry)
        if found is not None and not demand.accepts(found[0]):
            return _offers(request, level, host, Offer(demand.entry, found[0], level, found[1]))
    return None


def capacity_refusal(request: Request, capacity: Capacity, level: str, name: str) -> Reason | None:
    """Refusal by the configuration of one level: forced attributes (CX-41), fixed values (CX-24), total capacities (CX-37)."""
    for forced in capacity.forced:
        if forced not in request.names:
            return Reason("forced", name, level, forced)
    if capacity.units and (reason := _units_refusal(request, capacity, name)):
        return reason
    for demand in request.hard:
        value = capacity.fixed.get(demand.name)
        if value is not None:
            if not demand.accepts(value):
                source = "c" if demand.entry.is_consumable else "f"
                return _offers(request, level, name, Offer(demand.entry, value, level, source))
        elif demand.name in capacity.attributes and not demand.accepts(capacity.attributes[demand.name]):
            return _offers(request, level, name, Offer(demand.entry, capacity.attributes[demand.name], level, "f"))
    return None


def _units_refusal(request: Request, capacity: Capacity, host: str) -> Reason | None:
    """Refusal by the properties of a host's named units: too few satisfy the request, even if all are free."""
    for resource, classes in capacity.units.items():
        amount, once = request.consumed.get(resource, NOTHING)
        if amount and (once != "JOB" or not request.parallel) and not classes.slots(request.unit_demands, _no_use, amount, True):
            return units_reason(request, host, classes, _no_use, amount, configured=True)
    for demand in request.unit_demands.hard:
        having = [classes for classes in capacity.units.values() if demand.name in classes.attributes]
        asked = any(classes.resource in request.consumed for classes in having)
        if having and not asked and not any(classes.free(UnitDemands.of([demand]), _no_use) for classes in having):
            return units_reason(request, host, having[0], _no_use, 1, configured=True)
    return None


def _no_use(name: str) -> float:
    return 0.0


def free_slots(
    config_snapshot: PlacementConfig, ledger: Ledger, request: Request, holder: Holder, master: bool = True
) -> tuple[int, str]:
    """Slots that the consumables of one holder, slots included, leave to the job, and the name of the limiting consumable.

    `master`: count JOB consumables too, which only the master's instance must have (CX-38). Source: CX-37, CX-48, CX-49, PE-2.
    """
    slots, limiting = MAX_SLOTS, ""
    capacity = config_snapshot.capacities[holder]
    for name in capacity.exclusives:
        what = "slots" if name in request.exclusive else name
        if ledger.of(holder, what) + ledger.reserved_ahead(holder, what, request.duration) > 0:
            return 0, name
    for name in capacity.consumables:
        amount, once = ONE_A_SLOT if name == "slots" else request.consumed.get(name, NOTHING)
        if (not amount and name not in request.names) or (once == "JOB" and not master):
            continue
        fitting = slots_in(_free_amount(ledger, request, capacity, holder, name), amount, once)
        if capacity.units and amount and fitting > 0 and name in capacity.units:
            used, enough = class_use(ledger, request, holder), bool(once) or not request.parallel
            fitting = min(fitting, capacity.units[name].slots(request.unit_demands, used, amount, enough))
        if fitting < slots:
            slots, limiting = max(0, fitting), name
    return slots, limiting


def _free_amount(ledger: Ledger, request: Request, capacity: Capacity, holder: Holder, name: str) -> float:
    """The free amount of a consumable of one holder: by the bookings, or the load value of its host or the cluster if that is
    stricter, also for the capacity of a queue (CX-34, QC-35)."""
    left = capacity.consumables[name] - ledger.of(holder, name) - ledger.reserved_ahead(holder, name, request.duration)
    if name != "slots":
        load = ledger.load(holder.host, ledger.state.complexes[name])
        if load is not None:
            left = min(left, load[0])  # type: ignore[assignment]
    return left


def shortage_reason(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, holder: Holder, name: str) -> Reason:
    """The reason why `free_slots` is 0: the exclusive resource in use, or the free amount of a consumable."""
    level = _LEVEL_CODES[holder.kind]
    if config_snapshot.entries[name].relop == "EXCL":
        return Reason(EXCLUSIVES[level], holder.name, level, name, asked=request.text)
    capacity = config_snapshot.capacities[holder]
    left = _free_amount(ledger, request, capacity, holder, name)
    amount = request.consumed.get(name, NOTHING)[0]
    if name in capacity.units and amount and left + ROUNDING >= amount:
        return units_reason(request, holder.name, capacity.units[name], class_use(ledger, request, holder), amount)
    return _offers(request, level, holder.name, Offer(config_snapshot.entries[name], left, level, "c"))


def static_refusal(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, name: str) -> Reason | None:
    """Return the reason why the job cannot run in an instance with its configuration and load, even if nothing else runs.
    None: the job might run."""
    instance, config = config_snapshot.state.instances[name], config_snapshot.state.configs.get(name)
    if config is None:
        return Reason("orphaned", name)
    queue, host, cluster = holders_at(name)
    capacities = config_snapshot.capacities
    for reason in (
        queue_refusal(request, instance.queue, config, capacities[queue]),
        instance_refusal(config_snapshot, request, instance, config),
        host_refusal(config_snapshot, request, cluster),
        load_refusal(config_snapshot, ledger, request, cluster),
        host_refusal(config_snapshot, request, host),
        load_refusal(config_snapshot, ledger, request, host),
    ):
        if reason is not None:
            return reason
    for demand in unknown_resources(config_snapshot, request.hard, capacities[host], capacities[queue]):
        if not is_reported(ledger, instance.host, demand):
            return Reason("unknown", name, resource=demand.name, asked=request.text)
    return None


def use_refusal(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, name: str) -> Reason | None:
    """Return the reason why an instance has not even one free slot for the run time of the job: resources in use or reserved."""
    reason = _shortage(config_snapshot, ledger, request, name)
    timeline = ledger.timeline
    if reason is None or timeline is None or _shortage(config_snapshot, ledger.looking_ahead(None), request, name) is not None:
        return reason
    now, (_, host, cluster) = timeline.now, holders_at(name)
    # resources of the cluster, a PE or a quota may be reserved by a reservation on other hosts
    for begin, end, label in sorted(timeline.reservations_of(host)) or sorted(timeline.reservations_of(cluster)):
        if begin > now:
            return Reason("kept", name, left=ReservedFor(label, False, round(begin - now)))
        if end > now:
            return Reason("kept", name, left=ReservedFor(label, True, round(end - now)))
    return reason


def _shortage(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, name: str) -> Reason | None:
    """The shortage for one slot of an instance: by quotas, then by consumables of cluster, host and queue."""
    claim = claim_of(config_snapshot, request)
    if claim is not None and (reason := claim.refusal(ledger, request, claim.all_buckets(name))):
        return reason
    for holder in reversed(holders_at(name)):
        slots, limiting = free_slots(config_snapshot, ledger, request, holder)
        if not slots:
            if holder.kind == "instance" and limiting == "slots" and config_snapshot.state.configs[name].slots > 0:
                return Reason("full", name)
            return shortage_reason(config_snapshot, ledger, request, holder, limiting)
    return None


def soft_violations(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, name: str) -> int:
    """The number of soft requests that an instance does not satisfy. Source: CX-60, sge_submit(1) -soft."""
    instance = config_snapshot.state.instances[name]
    count = 0
    for queues in request.soft_queues:
        count += not queues.matches(instance.queue, instance.host, config_snapshot.groups(instance.host))
    return count + sum(not suits(config_snapshot, ledger, demand, instance) for demand in request.soft)


def suits(config_snapshot: PlacementConfig, ledger: Ledger, demand: Demand, instance: QueueInstance) -> bool:
    """Whether an instance, its host and the cluster satisfy a single request; of consumables the configured amount counts."""
    if demand.name == "hostname":
        return demand.accepts(instance.host)
    queue, *above = holders_at(instance.name)
    suiting = [_host_suits(config_snapshot, ledger, demand, holder) for holder in above]
    if False in suiting:
        return False
    capacity = config_snapshot.capacities[queue]
    value = capacity.fixed.get(demand.name, capacity.attributes.get(demand.name))
    return demand.accepts(value) if value is not None else True in suiting


def _host_suits(config_snapshot: PlacementConfig, ledger: Ledger, demand: Demand, holder: Holder) -> bool | None:
    """The same for a host or the cluster alone; None if it does not have the attribute."""
    capacity = config_snapshot.capacities[holder]
    fixed = capacity.fixed.get(demand.name)
    load = ledger.load(holder.name, demand.entry)
    if fixed is None and load is None and capacity.units and capacity.has_unit_attribute(demand.name):
        demands = UnitDemands.of([demand])
        having = (classes for classes in capacity.units.values() if demand.name in classes.attributes)
        return any(classes.matching(demands) for classes in having)
    if fixed is not None and (load is None or demand.entry.relop in ("==", "!=")):
        return demand.accepts(fixed)
    if load is None:
        return None
    return demand.accepts(load[0]) and (fixed is None or demand.accepts(fixed))


def _queue_requested(request: Request, queue: str) -> bool:
    """Whether -q, or -masterq for the master task, names the queue; without -q every queue matches."""
    if request.hard_queues is None or request.hard_queues.matches_queue(queue):
        return True
    return request.master_queues is not None and request.master_queues.matches_queue(queue)


def _access_refusal(request: Request, access: object, level: str, name: str) -> Reason | None:
    user_lists, xuser_lists = access.user_lists, access.xuser_lists  # type: ignore[attr-defined]
    if (user_lists or xuser_lists) and not users_allowed(request.sets, user_lists, xuser_lists):
        return Reason("no_permission", name, level)
    projects, xprojects = access.projects, access.xprojects  # type: ignore[attr-defined]
    if (projects or xprojects) and not project_allowed(request.project, projects, xprojects):
        if not request.project:
            return Reason("no_project", name, level)
        return Reason("wrong_project", name, level, other=request.project)
    return None


def units_reason(
    request: Request, host: str, classes: UnitClasses, used: Left, amount: float, configured: bool = False
) -> Reason:
    """The reason why the named units of a host do not suffice. `configured`: all of them do not, in use or not."""
    everything = sum(number for _, number in classes.free(NO_DEMANDS, used))
    matching = UnitDemands.of(request.unit_demands.hard)
    fitting = sum(number for _, number in classes.free(matching, used))
    demands = [demand_text(each) for each in request.unit_demands.hard if each.name in classes.attributes]
    is_near = classes.resource in request.unit_demands.near and fitting >= amount
    left = UnitsLeft(classes.resource, everything, fitting, " and ".join(demands), configured, is_near)
    return Reason("units", host, "h", classes.resource, left, request.text)


def _offers(request: Request, level: str, name: str, left: Offer) -> Reason:
    return Reason(OFFERS[level], name, level, left.entry.name, left, request.text)
