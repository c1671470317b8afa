"""Quotas in force: how much the resource quota sets leave to a job, everywhere or in an instance, and the reason of a refusal.

Owns limits and their free amounts. `gridengine.state.quotas` owns which rule applies where. Checked before cluster, host and
queue (RQ-2). Jobs and requests of advance reservations are exempt from quotas (RQ-8). Source:
sge_resource_quota(5); RQ-2 … RQ-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.parallel import HostCapacity
from gridengine.placement.placement_request import NOTHING, ONE_A_SLOT, Request
from gridengine.placement.reasons import Exceeded, Reason
from gridengine.placement.resources import host_available
from gridengine.placement.values import Value, slots_in, typed_value
from gridengine.state import bookings
from gridengine.state.bookings import Booking
from gridengine.state.configured.objects import ComplexEntry
from gridengine.state.jobs import Grant
from gridengine.state.quotas import Bucket, CandidateRules, Claimant, QuotaSet, is_everywhere
from gridengine.syntax.rqs import Rule
from gridengine.values.ranges import MAX_SLOTS

MISSING = 1e9
"""The value of an attribute in a dynamic limit that no level has. Source: sge_resource_quota(5) dynamic limits."""
MAX_CLAIMS = 1000
"""Claims that a configuration snapshot caches: each may cache the buckets of every queue instance."""


def claim_of(config_snapshot: PlacementConfig, request: Request, pe: str = "") -> Claim | None:
    """The quotas that apply to a request in a PE; None if there are none. Requests of one claimant share them."""
    if not config_snapshot.state.quotas.sets or request.exempt:
        return None
    claimant = Claimant(request.user, request.group, request.project, pe)
    claims: dict[Claimant, Claim] = config_snapshot.claims
    found = claims.get(claimant)
    if found is None:
        if len(claims) >= MAX_CLAIMS:
            claims.clear()
        found = claims[claimant] = Claim(config_snapshot, claimant)
    return found


def bookings_of(config_snapshot: PlacementConfig, request: Request, granted: list[Grant], pe: str) -> list[Booking]:
    """All bookings of grants of a request: of their instances, of the PE and of quotas."""
    found = [*bookings.bookings_of(granted, request.charged, pe)]
    claim = claim_of(config_snapshot, request, pe)
    if claim is not None:
        found += bookings.bookings_of(granted, request.charged, holders=claim.all_buckets)
    return found


def rule_of(config_snapshot: PlacementConfig, bucket: Bucket) -> Rule:
    """The rule of a bucket."""
    rules: tuple[Rule, ...] = config_snapshot.state.quota_rules[bucket.name]
    return rules[bucket.number]


def rule_name(config_snapshot: PlacementConfig, bucket: Bucket) -> str:
    """`set/rule`, the rule by its name or its number from 1."""
    return f"{bucket.name}/{rule_of(config_snapshot, bucket).name or bucket.number + 1}"


def limit_value(config_snapshot: PlacementConfig, ledger: Ledger, bucket: Bucket, entry: ComplexEntry, text: str) -> Value:
    """The current value of a limit; a limit with `$attributes` is computed from the values of the rule's host (RQ-5)."""
    if "$" not in text:
        return typed_value(entry.type, text)
    rule = rule_of(config_snapshot, bucket)
    host = bucket.consumers[-1] or rule.filters["hosts"].included[0]
    formula = rule.dynamic_limit(next(name for name, limit in rule.limits.items() if limit == text))
    assert formula is not None
    values: dict[str, float] = {}
    for given in formula.names():
        known = config_snapshot.entry(given)
        offer = host_available(config_snapshot, ledger, host, known.name) if known is not None else None
        if offer is not None and not isinstance(offer.value, str):
            values[given] = offer.value
    return formula.evaluate(values, MISSING)


def quota_attributes(config_snapshot: PlacementConfig) -> set[str]:
    """The attributes in dynamic limits: a load report of such an attribute may change the free amounts."""
    found: set[str] = set()
    for quotas in config_snapshot.state.quotas.sets:
        for rule in quotas.rules:
            for name in rule.limits:
                formula = rule.dynamic_limit(name)
                names = formula.names() if formula is not None else ()
                found.update(entry.name for given in names if (entry := config_snapshot.entry(given)) is not None)
    return found


class Claim:
    """The rules for one claimant. `everywhere`: buckets that count its use in all instances together."""

    __slots__ = ("config_snapshot", "everywhere", "has_instance_rules", "_claimant", "_sets", "_known")

    def __init__(self, config_snapshot: PlacementConfig, claimant: Claimant) -> None:
        self.config_snapshot = config_snapshot
        self._claimant = claimant
        self.everywhere: list[Bucket] = []
        self._sets: list[tuple[QuotaSet, CandidateRules]] = []
        self._known: dict[str, list[Bucket]] = {}
        book = config_snapshot.state.quotas
        for quotas, candidates in zip(book.sets, book.candidates(self._claimant), strict=True):
            if candidates and is_everywhere(candidates[0][1]):
                bucket = book.bucket(quotas, candidates, self._claimant, "@")
                assert bucket is not None
                self.everywhere.append(bucket)
            elif candidates:
                self._sets.append((quotas, candidates))
        self.has_instance_rules = bool(self._sets)

    def buckets(self, instance: str) -> list[Bucket]:
        """The buckets that count the use of an instance, without `everywhere`."""
        found = self._known.get(instance)
        if found is None:
            book = self.config_snapshot.state.quotas
            buckets = (book.bucket(quotas, candidates, self._claimant, instance) for quotas, candidates in self._sets)
            found = self._known[instance] = [bucket for bucket in buckets if bucket is not None]
        return found

    def all_buckets(self, instance: str) -> list[Bucket]:
        return self.everywhere + self.buckets(instance)

    def free_slots(self, ledger: Ledger, request: Request, buckets: Iterable[Bucket], master: bool = True) -> int:
        """Slots that these buckets leave to a request. `master`: count JOB consumables too, as in the master's instance."""
        return min((self._free_slots(ledger, request, bucket, master)[0] for bucket in buckets), default=MAX_SLOTS)

    def refusal(self, ledger: Ledger, request: Request, buckets: Iterable[Bucket], slots: int = 1) -> Reason | None:
        """Return the reason why these buckets leave fewer than `slots` slots to a request; None if they leave enough."""
        for bucket in buckets:
            left, name = self._free_slots(ledger, request, bucket, True)
            if left < slots:
                return Reason("quota", resource=name, left=self._exceeded(ledger, bucket, name))
        return None

    def _free_slots(self, ledger: Ledger, request: Request, bucket: Bucket, master: bool) -> tuple[int, str]:
        """Slots that one bucket leaves, and the name of the strictest limit. A fixed attribute leaves all or none."""
        config_snapshot = self.config_snapshot
        slots, limiting = MAX_SLOTS, ""
        for given, text in rule_of(config_snapshot, bucket).limits.items():
            entry = config_snapshot.entry(given)
            if entry is None:
                continue
            name = entry.name
            if not entry.is_consumable:
                demands = (demand for demand in request.hard if demand.name == name)
                if any(not demand.accepts(limit_value(config_snapshot, ledger, bucket, entry, text)) for demand in demands):
                    return 0, name
                continue
            amount, once = ONE_A_SLOT if name == "slots" else request.charged.get(name, NOTHING)
            if not amount or (once == "JOB" and not master):
                continue
            left = float(limit_value(config_snapshot, ledger, bucket, entry, text))
            left -= ledger.of(bucket, name) + ledger.reserved_ahead(bucket, name, request.duration)
            fitting = slots_in(left, amount, once)
            if fitting < slots:
                slots, limiting = max(0, fitting), name
        return slots, limiting

    def _exceeded(self, ledger: Ledger, bucket: Bucket, name: str) -> Exceeded:
        config_snapshot = self.config_snapshot
        entry = config_snapshot.entries[name]
        limits = rule_of(config_snapshot, bucket).limits
        text = next(text for given, text in limits.items() if config_snapshot.entry(given) is entry)
        limit = limit_value(config_snapshot, ledger, bucket, entry, text)
        used = ledger.of(bucket, name) if entry.is_consumable else None
        return Exceeded(_consumers(bucket), rule_name(config_snapshot, bucket), entry, limit, used)

    def fits(self, ledger: Ledger, request: Request, granted: list[Grant]) -> bool:
        """Whether earlier computed grants are still within all limits."""
        requested: dict[Bucket, int] = {}
        for position, grant in enumerate(granted):
            for bucket in self.all_buckets(grant.instance):
                requested[bucket] = requested.get(bucket, 0) + grant.slots
                if self._free_slots(ledger, request, bucket, position == 0)[0] < requested[bucket]:
                    return False
        return True


def _consumers(bucket: Bucket) -> str:
    return "/".join((*bucket.consumers, ""))


class Allowance:
    """The slots that quotas with instance rules leave to one task while its slots are distributed: slots taken here are not
    left there."""

    __slots__ = ("claim", "request", "ledger", "_left")

    def __init__(self, claim: Claim, request: Request, ledger: Ledger, left: dict[Bucket, int] | None = None) -> None:
        self.claim, self.request, self.ledger = claim, request, ledger
        self._left = left if left is not None else {}

    def fork(self) -> Allowance:
        """A copy for a trial."""
        return Allowance(self.claim, self.request, self.ledger, dict(self._left))

    def take(self, instance: str, slots: int) -> int:
        """Take up to that many slots of an instance. Returns the number taken."""
        buckets = self.claim.buckets(instance)
        for bucket in buckets:
            if bucket not in self._left:
                self._left[bucket] = self.claim.free_slots(self.ledger, self.request, (bucket,), master=False)
            slots = min(slots, self._left[bucket])
        for bucket in buckets:
            self._left[bucket] -= slots
        return slots

    def within(self, host_capacities: Iterable[HostCapacity], most: int, kept: bool) -> Iterator[HostCapacity]:
        """Limit each capacity to at most `most` slots, in order. `kept`: slots of one host are not available to the next
        hosts, unless the host is useless because it has fewer than `most`."""
        for host_capacity in host_capacities:
            trial = self.fork()
            left = min(host_capacity.slots, most)
            instances: list[tuple[str, int]] = []
            for instance, slots in host_capacity.instances:
                taken = trial.take(instance, min(slots, left))
                left -= taken
                if taken:
                    instances.append((instance, taken))
            total = sum(slots for _, slots in instances)
            if kept and (most == MAX_SLOTS or total == most):
                self._left = trial._left
            if total:
                yield HostCapacity(host_capacity.host, total, instances)
