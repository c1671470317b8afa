"""Match: why a job cannot run at a place, level by level: cluster, host, queue.

Owns the rules. Static ones look at configuration alone, so that the scheduler may keep their outcome; `load_refusal`
looks at load and `room` at what is in use. `refusal` is all of them in order. Nothing here looks at states: see
`gridengine.placement.obstacles`. Source: complex(5), CX-19 … CX-52; queue_conf(5), QC-14 … QC-18, QC-31 … QC-36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gridengine.placement.access import project_allowed, users_allowed
from gridengine.placement.ledger import Ledger
from gridengine.placement.quotas import claim_of
from gridengine.placement.reasons import Kept, Reason
from gridengine.placement.requests import Demand, Request
from gridengine.placement.site import Level, Site
from gridengine.placement.values import Offer, Value, slots_in
from gridengine.ranges import MAX_SLOTS
from gridengine.state.bookings import GLOBAL
from gridengine.state.queues import InstanceConfig, QueueInstance

OFFERS = {"g": "cluster_offers", "h": "host_offers", "q": "queue_offers"}
EXCLUSIVES = {"g": "cluster_exclusive", "h": "host_exclusive", "q": "queue_exclusive"}
"""Codes of refusals by level."""


def queue_refusal(site: Site, request: Request, queue: str, config: InstanceConfig) -> Reason | None:
    """Static, of all instances of a queue that share a configuration: `-q` by queue name, access, type, resources."""
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
    return level_refusal(request, site.queue(queue, config), "q", queue)


def host_refusal(site: Site, request: Request, host: str) -> Reason | None:
    """Static, of a host or of the cluster ("global"): access and what is configured there."""
    level = site.host(host)
    if level.access is not None and (reason := _access_refusal(request, level.access, "h", host)):
        return reason
    return level_refusal(request, level, "g" if host == GLOBAL else "h", host)


def instance_refusal(site: Site, request: Request, instance: QueueInstance, config: InstanceConfig) -> Reason | None:
    """Static, of one instance beyond what its queue and host say alone: `-q` with hosts, `-l h=`, unknown resources."""
    wanted = (request.hard_queues, request.master_queues)
    groups = site.groups(instance.host)
    if request.hard_queues is not None and not any(
        queues is not None and queues.matches(instance.queue, instance.host, groups) for queues in wanted
    ):
        return Reason("not_requested", instance.name)
    for demand in request.hosts:
        if not demand.accepts(instance.host):
            return _offers(request, "h", instance.host, Offer(demand.entry, instance.host, "q", "f"))
    return None


def unknown_resources(site: Site, demands: Iterable[Demand], host: str, queue: Level) -> list[Demand]:
    """Demands that no level is configured for: they need a load value, of the host or of the cluster. Source: CX-28."""
    levels = (site.cluster.fixed, site.host(host).fixed, queue.fixed, queue.attributes)
    return [demand for demand in demands if not any(demand.name in values for values in levels)]


def is_reported(ledger: Ledger, host: str, demand: Demand) -> bool:
    """Whether the host or the cluster reports a load value of that name."""
    return ledger.load(host, demand.entry) is not None or ledger.load(GLOBAL, demand.entry) is not None


def master_lacks(site: Site, ledger: Ledger, request: Request, instance: QueueInstance) -> bool:
    """Whether the place of a master task lacks a JOB consumable that the job asks for (CX-38)."""
    queue = site.queue(instance.queue, site.state.configs[instance.name])
    unknown = unknown_resources(site, request.master_only, instance.host, queue)
    return any(not is_reported(ledger, instance.host, demand) for demand in unknown)


def load_refusal(site: Site, ledger: Ledger, request: Request, host: str) -> Reason | None:
    """Of the load values of a host, or of the cluster ("global"). A fixed value replaces that of == (CX-29, CX-33);
    with ordered relations both must suit, which is the stricter one (CX-31, CX-32)."""
    fixed = site.host(host).fixed
    letter = "g" if host == GLOBAL else "h"
    for demand in request.hard:
        if demand.name in fixed and (demand.entry.relop in ("==", "!=") or demand.entry.is_consumable):
            continue
        found = ledger.load(host, demand.entry)
        if found is not None and not demand.accepts(found[0]):
            return _offers(request, letter, host, Offer(demand.entry, found[0], letter, found[1]))
    return None


def level_refusal(request: Request, level: Level, letter: str, name: str) -> Reason | None:
    """Of what is configured on one level: forced attributes (CX-41), fixed values (CX-24), whole capacities (CX-37)."""
    for forced in level.forced:
        if forced not in request.names:
            return Reason("forced", name, letter, forced)
    for demand in request.hard:
        value = level.fixed.get(demand.name)
        if value is not None:
            if not demand.accepts(value):
                source = "c" if demand.entry.is_consumable else "f"
                return _offers(request, letter, name, Offer(demand.entry, value, letter, source))
        elif demand.name in level.attributes and not demand.accepts(level.attributes[demand.name]):
            return _offers(request, letter, name, Offer(demand.entry, level.attributes[demand.name], letter, "f"))
    return None


def room(
    ledger: Ledger, request: Request, level: Level, where: str, used: Callable[[str, str], float], master: bool
) -> tuple[int, str]:
    """Slots that the consumables of one object leave to the job, and the name of the one that leaves least.

    `used(where, name)`: what is in use there. `master`: count JOB consumables too, which only the master's place must
    have (CX-38). Source: CX-37, CX-48, CX-49.
    """
    slots, limiting = MAX_SLOTS, ""
    for name in level.exclusives:
        what = "slots" if name in request.exclusive else name
        if used(where, what) + ledger.ahead(where, what, request.duration) > 0:
            return 0, name
    for name in level.consumables:
        amount, once = (1.0, False) if name == "slots" else request.consumed.get(name, (0.0, False))
        if (not amount and name not in request.names) or (once and not master):
            continue
        fitting = slots_in(_left(ledger, request, level, where, used, name), amount, once)
        if fitting < slots:
            slots, limiting = max(0, fitting), name
    return slots, limiting


def _left(ledger: Ledger, request: Request, level: Level, where: str, used: Callable[[str, str], float], name: str) -> float:
    """What is left of a consumable of one object: the own count, or the load value of its host or of the cluster if that
    is stricter, also than the capacity of a queue there (CX-34, QC-35)."""
    left = level.consumables[name] - used(where, name) - ledger.ahead(where, name, request.duration)
    if name != "slots":
        load = ledger.load(where.partition("@")[2] or where, ledger.state.complexes[name])
        if load is not None and not isinstance(load[0], str):
            left = min(left, load[0])
    return left


def room_of_host(site: Site, ledger: Ledger, request: Request, host: str, master: bool = True) -> tuple[int, str]:
    """`room` of a host, or of the cluster ("global")."""
    return room(ledger, request, site.host(host), host, ledger.of_host, master)


def room_of_instance(
    site: Site, ledger: Ledger, request: Request, instance: QueueInstance, config: InstanceConfig, master: bool = True
) -> tuple[int, str]:
    """`room` of a queue instance, its slots included."""
    level = site.queue(instance.queue, config)
    return room(ledger, request, level, instance.name, ledger.of_instance, master)


def room_reason(site: Site, ledger: Ledger, request: Request, letter: str, where: str, name: str) -> Reason:
    """The reason why `room` is 0: the exclusive resource in use, or what is left of a consumable."""
    if name and site.entries[name].relop == "EXCL":
        return Reason(EXCLUSIVES[letter], where, letter, name, asked=request.text)
    queue, _, host = where.partition("@")
    level = site.host(where) if letter != "q" else site.queue(queue, site.state.configs[where])
    used = ledger.of_instance if letter == "q" else ledger.of_host
    left: Value = _left(ledger, request, level, where, used, name)
    return _offers(request, letter, where, Offer(site.entries[name], left, letter, "c"))


def static_refusal(site: Site, ledger: Ledger, request: Request, name: str) -> Reason | None:
    """Why the job can never run at an instance as configured and loaded, whatever else runs. None: it might."""
    instance, config = site.state.instances[name], site.state.configs.get(name)
    if config is None:
        return Reason("orphaned", name)
    for reason in (
        queue_refusal(site, request, instance.queue, config),
        instance_refusal(site, request, instance, config),
        host_refusal(site, request, GLOBAL),
        load_refusal(site, ledger, request, GLOBAL),
        host_refusal(site, request, instance.host),
        load_refusal(site, ledger, request, instance.host),
    ):
        if reason is not None:
            return reason
    for demand in unknown_resources(site, request.hard, instance.host, site.queue(instance.queue, config)):
        if not is_reported(ledger, instance.host, demand):
            return Reason("unknown", name, resource=demand.name, asked=request.text)
    return None


def use_refusal(site: Site, ledger: Ledger, request: Request, name: str) -> Reason | None:
    """Why not even one slot is left for the job at an instance as long as it may run: what is in use, or kept for later."""
    reason = _lack(site, ledger, request, name)
    if reason is None or ledger.timeline is None or _lack(site, ledger.without_future(), request, name) is not None:
        return reason
    line, now = ledger.timeline, ledger.timeline.now
    # what belongs to the cluster, a PE or a quota may be kept for somebody at other hosts
    for begin, end, who in sorted(line.keepers(name.partition("@")[2])) or sorted(line.keepers("")):
        if begin > now:
            return Reason("kept", name, left=Kept(who, False, round(begin - now)))
        if end > now:
            return Reason("kept", name, left=Kept(who, True, round(end - now)))
    return reason


def _lack(site: Site, ledger: Ledger, request: Request, name: str) -> Reason | None:
    """What is missing for one slot at an instance: of quotas, then of consumables of cluster, host and queue."""
    instance = site.state.instances[name]
    claim = claim_of(site, request)
    if claim is not None and (reason := claim.refusal(ledger, request, claim.all_buckets(name))):
        return reason
    for letter, where in (("g", GLOBAL), ("h", instance.host)):
        slots, limiting = room_of_host(site, ledger, request, where)
        if not slots:
            return room_reason(site, ledger, request, letter, where, limiting)
    slots, limiting = room_of_instance(site, ledger, request, instance, site.state.configs[name])
    if not slots:
        if limiting == "slots" and site.state.configs[name].slots > 0:
            return Reason("full", name)
        return room_reason(site, ledger, request, "q", name, limiting)
    return None


def soft_violations(site: Site, ledger: Ledger, request: Request, name: str) -> int:
    """How many soft requests an instance does not satisfy. Source: CX-60, sge_submit(1) -soft."""
    instance = site.state.instances[name]
    count = 0
    for queues in request.soft_queues:
        count += not queues.matches(instance.queue, instance.host, site.groups(instance.host))
    return count + sum(not suits(site, ledger, demand, instance) for demand in request.soft)


def suits(site: Site, ledger: Ledger, demand: Demand, instance: QueueInstance) -> bool:
    """Whether an instance, its host and the cluster satisfy a single request; consumables by what was configured."""
    if demand.name == "hostname":
        return demand.accepts(instance.host)
    cluster, host = host_suits(site, ledger, demand, GLOBAL), host_suits(site, ledger, demand, instance.host)
    if cluster is False or host is False:
        return False
    queue = site.queue(instance.queue, site.state.configs[instance.name])
    value = queue.fixed.get(demand.name, queue.attributes.get(demand.name))
    return demand.accepts(value) if value is not None else bool(cluster or host)


def host_suits(site: Site, ledger: Ledger, demand: Demand, host: str) -> bool | None:
    """The same of a host alone, or of the cluster ("global"); None: it does not have the attribute."""
    fixed = site.host(host).fixed.get(demand.name)
    load = ledger.load(host, demand.entry)
    if fixed is not None and (load is None or demand.entry.relop in ("==", "!=")):
        return demand.accepts(fixed)
    if load is None:
        return None
    return demand.accepts(load[0]) and (fixed is None or demand.accepts(fixed))


def _queue_requested(request: Request, queue: str) -> bool:
    """Whether -q, or -masterq for the master task, names the queue; without -q every queue will do."""
    if request.hard_queues is None or request.hard_queues.matches_queue(queue):
        return True
    return request.master_queues is not None and request.master_queues.matches_queue(queue)


def _access_refusal(request: Request, access: object, letter: str, name: str) -> Reason | None:
    user_lists, xuser_lists = access.user_lists, access.xuser_lists  # type: ignore[attr-defined]
    if (user_lists or xuser_lists) and not users_allowed(request.sets, user_lists, xuser_lists):
        return Reason("no_permission", name, letter)
    projects, xprojects = access.projects, access.xprojects  # type: ignore[attr-defined]
    if (projects or xprojects) and not project_allowed(request.project, projects, xprojects):
        if not request.project:
            return Reason("no_project", name, letter)
        return Reason("wrong_project", name, letter, other=request.project)
    return None


def _offers(request: Request, letter: str, name: str, left: Offer) -> Reason:
    return Reason(OFFERS[letter], name, letter, left.entry.name, left, request.text)
