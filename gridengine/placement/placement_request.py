"""Requests: the requests of a job, compiled once for all jobs with the same requests (a category).

Owns the typed form of -l, -soft, -q, -masterq, -pe and -ckpt, and the equality of jobs for placement.
Must not know hosts or queues. Called by the scheduler once a category, by the qmaster once a question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gridengine.errors import InvalidValueError
from gridengine.placement.access import user_sets_of
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.demand import Demand
from gridengine.placement.parallel import SlotRanges, matching_pes
from gridengine.placement.timeline import run_time
from gridengine.placement.unit_classes import NEAR, NO_DEMANDS, UnitDemands
from gridengine.state.bookings import Once
from gridengine.state.configured.objects import ComplexEntry
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.syntax.queue_expression import QueueExpressions
from gridengine.syntax.request_list import format_requests
from gridengine.syntax.resource_map import RSMAP
from gridengine.values.ranges import parse_slot_ranges

CategoryKey = tuple[object, ...]
ONE_A_SLOT: tuple[float, Once] = (1.0, "")
NOTHING: tuple[float, Once] = (0.0, "")
"""Amounts as in `Request.consumed`."""


MAX_REQUESTS = 1000
"""Requests that a configuration snapshot caches."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """The data of a job for placement; equal for all jobs of a category. Immutable: `replace` makes another request."""

    user: str
    group: str
    sets: frozenset[str]
    """The access lists that contain the owner."""
    project: str
    exempt: bool
    """Resource quotas do not apply."""
    #: -now y
    immediate: bool
    hard: tuple[Demand, ...]
    """Hard requests, without hostname and without the requests of the master alone."""
    master_only: tuple[Demand, ...]
    """Requests for JOB consumables; for a parallel job only the master's instance must satisfy them (CX-38)."""
    soft: tuple[Demand, ...]
    hosts: tuple[Demand, ...]
    #: names of the hard requests, `hostname` among them
    names: frozenset[str]
    consumed: dict[str, tuple[float, Once]]
    """Name -> (amount, how often it is booked), without slots."""
    exclusive: frozenset[str]
    """Names of requested EXCL attributes."""
    charged: dict[str, tuple[float, Once]]
    """`consumed` and `exclusive` together."""
    unit_demands: UnitDemands
    """What it demands of the named units that it gets."""
    hard_queues: QueueExpressions | None
    soft_queues: tuple[QueueExpressions, ...]
    master_queues: QueueExpressions | None
    pe: str
    pes: tuple[str, ...]
    """The PEs that match -pe."""
    rule: str
    """The rule of -alloc, or ""."""
    parallel: bool
    """The job may use several slots."""
    #: accepted numbers of slots, as (first, last) each, one slot for a job that is not parallel
    slot_ranges: SlotRanges
    checkpoint: str
    duration: float
    """Run time limit in seconds, infinite without a limit."""
    text: str
    """The requests of -l as they begin a sentence."""

    @classmethod
    def of(cls, config_snapshot: PlacementConfig, job: Job) -> Request:
        """The request of a job."""
        parallel = bool(job.pe or job.allocation_rule)
        demands = [Demand(entry, text) for name, text in job.hard.items() if (entry := config_snapshot.entry(name)) is not None]
        names = frozenset(demand.name for demand in demands)
        exclusive = frozenset(d.name for d in demands if d.is_exclusive and d.amount)
        of_hosts = tuple(demand for demand in demands if demand.name == "hostname")
        demands = [demand for demand in demands if demand.name != "hostname"]
        consumed = _consumed(config_snapshot, demands, names, exclusive)
        known = ((config_snapshot.entry(name), text) for name, text in job.soft.items())
        soft = [Demand(entry, text) for entry, text in known if entry is not None]
        unit_demands = NO_DEMANDS
        if config_snapshot.has_units:
            unit_demands, demands, soft = _unit_demands(config_snapshot, demands, soft)
        return cls(
            user=job.owner,
            group=job.group,
            sets=user_sets_of(config_snapshot.state, job.owner, job.group),
            project=job.project,
            exempt=bool(job.ar),
            immediate=job.now,
            hard=tuple(d for d in demands if not (parallel and d.entry.per_job)),
            master_only=tuple(d for d in demands if d.entry.per_job),
            soft=tuple(soft),
            hosts=of_hosts,
            names=names,
            consumed=consumed,
            exclusive=exclusive,
            charged={**consumed, **dict.fromkeys(exclusive, ONE_A_SLOT)},
            unit_demands=unit_demands,
            hard_queues=_queues(job.hard_queues),
            soft_queues=tuple(QueueExpressions.parse(text) for text in job.soft_queues),
            master_queues=_queues(job.master_queues),
            pe=job.pe,
            pes=tuple(matching_pes(config_snapshot.state, job.pe)) if job.pe else (),
            rule=job.allocation_rule,
            parallel=parallel,
            slot_ranges=parse_slot_ranges(job.pe_range) if parallel else ((1, 1),),
            checkpoint=job.checkpoint,
            duration=run_time(job.hard, config_snapshot.scheduler),
            text=f"(-l {format_requests(job.hard.items())}) " if job.hard else "",
        )

    def in_pe(self, pe: str) -> Request:
        """The same, restricted to one of the PEs that match -pe."""
        return replace(self, pes=tuple(name for name in self.pes if name == pe))

    def for_slots(self, slots: int, master: bool) -> Request:
        """The same for exactly `slots` slots; without the master, amounts once a job are left out: they are booked with the
        master."""
        exact = replace(self, slot_ranges=((slots, slots),))
        if master:
            return exact
        per_slot = {name: amount for name, amount in self.consumed.items() if amount[1] != "JOB"}
        return replace(exact, master_queues=None, consumed=per_slot)


def _consumed(
    config_snapshot: PlacementConfig, demands: list[Demand], names: frozenset[str], exclusive: frozenset[str]
) -> dict[str, tuple[float, Once]]:
    """Amounts of consumables, the defaults for consumables without a request (CX-40)."""
    entries, defaults = config_snapshot.entries, config_snapshot.defaults
    found = {name: (amount, entries[name].once) for name, amount in defaults.items() if name not in names}
    for demand in demands:
        if demand.entry.is_consumable and demand.name not in ("slots", *exclusive) and demand.amount:
            found[demand.name] = (demand.amount, demand.entry.once)
    return found


def _unit_demands(
    config_snapshot: PlacementConfig, hard: list[Demand], soft: list[Demand]
) -> tuple[UnitDemands, list[Demand], list[Demand]]:
    """The demands on units; and the demands without those for units near each other, which concern nothing else."""
    entries, of_units = config_snapshot.entries, config_snapshot.unit_attributes

    def is_near(demand: Demand) -> bool:
        resource = entries.get(demand.name.removesuffix(NEAR)) if demand.name.endswith(NEAR) else None
        return resource is not None and resource.type == RSMAP and demand.entry.type == "BOOL"

    near = [demand.name.removesuffix(NEAR) for demand in hard if is_near(demand) and demand.amount]
    asked, liked = ([demand for demand in demands if not is_near(demand)] for demands in (hard, soft))
    of_asked, of_liked = ([demand for demand in demands if demand.name in of_units] for demands in (asked, liked))
    return UnitDemands.of(of_asked, of_liked, near), asked, liked


def _queues(texts: tuple[str, ...]) -> QueueExpressions | None:
    return QueueExpressions.parse(",".join(texts)) if texts else None


def category_key(state: State, sets: frozenset[str], job: Job) -> CategoryKey:
    """Equal for jobs that placement cannot distinguish. `sets`: the access lists of the owner. Source: CX-61."""
    return (
        job.owner if state.quotas.by_user else "",
        sets,
        job.project,
        job.department,
        job.now,
        tuple(sorted(job.hard.items())) if job.hard else (),
        tuple(sorted(job.soft.items())) if job.soft else (),
        tuple(job.hard_queues),
        tuple(job.soft_queues),
        tuple(job.master_queues),
        job.pe,
        job.pe_range,
        job.allocation_rule,
        job.checkpoint,
        job.ar,
        job.reserve,
    )


def request_of(config_snapshot: PlacementConfig, job: Job, sets: frozenset[str]) -> Request:
    """The request of a job, cached with the configuration: jobs of a category share it. `sets`: as in `category_key`."""
    requests: dict[CategoryKey, Request] = config_snapshot.requests
    key = category_key(config_snapshot.state, sets, job)
    found = requests.get(key)
    if found is None:
        if len(requests) >= MAX_REQUESTS:
            requests.clear()
        found = requests[key] = Request.of(config_snapshot, job)
    return found


def request_fault(entry: ComplexEntry, value: str, soft: bool) -> str:
    """The fault of a request for an attribute, "" if there is none. Source: CX-42, CX-44, CX-45; O for slots."""
    if entry.name == "slots":
        return "slots are not requested with -l: use a parallel environment (-pe) or -alloc"
    if entry.requestable == "NO":
        return f'the resource "{entry.name}" is not requestable'
    if soft and entry.is_consumable:
        return f'a soft request for the consumable resource "{entry.name}" is not possible'
    if not value and entry.type != "BOOL":
        return f'the value for the resource "{entry.name}" is missing'
    try:
        demand = Demand(entry, value)
    except InvalidValueError as fault:
        return f'the value for the resource "{entry.name}" is wrong: {fault}'
    if entry.is_consumable and demand.amount < 0:
        return f'the resource "{entry.name}" is consumable: {value} is negative'
    if math.isinf(demand.amount) and (entry.is_consumable or entry.type == "INT"):
        return f'the value for the resource "{entry.name}" is wrong: there is never as much as {value}'
    if entry.type == RSMAP and not value.isdecimal():
        return f'the value for the resource "{entry.name}" is wrong: "{value}" is not a number of units'
    if entry.type == "INT" and "/" not in value and demand.amount != int(demand.amount):
        return f'the value for the resource "{entry.name}" is wrong: "{value}" is not an integer'
    return ""
