"""Resource quotas: which rule of each set applies to a claimant and an instance, and the use under it.

Owns the matching of rules and the sums of use, which always equal the sum over the dispatched tasks outside of
reservations (RQ-8, RQ-9). `gridengine.placement.quotas` owns limits. Written only by `gridengine.state.apply`.
Source: sge_resource_quota(5); RQ-2 … RQ-4, RQ-8 … RQ-10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from gridengine.state.bookings import Amounts, Booking, Bookings, Holder, bookings_of
from gridengine.state.configured.objects import UserSet
from gridengine.state.configured.table import Table
from gridengine.state.groups import HostGroups
from gridengine.state.jobs import Grant, Job, Task
from gridengine.syntax.rqs import SCOPES, Filter, Rule
from gridengine.syntax.wildcard import compile_expression, is_pattern
from gridengine.values.instance_name import queue_and_host
from gridengine.values.units import parse_bool


class Claimant(NamedTuple):
    """Owner and unix group of a job, its project and PE, "" for none."""

    user: str
    group: str
    project: str
    pe: str


class Bucket(Holder, frozen=True, cache_hash=True):
    """The unit of counting of a rule: `name` is the name of its set, then `number`, the position of the rule in it (from 0), and
    the `consumers` that expanded filters count separately, in the order of SCOPES, "" for all other consumers."""

    number: int
    consumers: tuple[str, ...]


class QuotaSet(NamedTuple):
    """An enabled set: `rules` in order."""

    name: str
    rules: tuple[Rule, ...]


CandidateRules = list[tuple[int, Rule]]
"""Rules of one set, with their positions, that match a claimant in some instance, up to a rule that matches in every instance."""


class QuotaSource(Protocol):
    """The parts of the state that the sums of use depend on."""

    jobs: dict[int, Job]
    quota_rules: Table[tuple[Rule, ...]]
    usersets: Table[UserSet]
    groups: HostGroups

    def kind(self, kind: str) -> dict[str, dict[str, str]]: ...
    def amounts(self, resources: Mapping[str, str]) -> Amounts: ...


class QuotaBook:
    """The enabled sets and the use under them.

    used: bookings by bucket; by_user: at least one rule has a filter of users.
    """

    def __init__(self, state: QuotaSource) -> None:
        self._state = state
        self.sets: list[QuotaSet] = []
        self.by_user = False
        self.used = Bookings()
        self._candidates: dict[Claimant, list[CandidateRules]] = {}

    def rebuild(self) -> None:
        """Read the sets and count everything again: a rule, a list or a group has changed (RQ-10)."""
        state = self._state
        texts = state.kind("resource_quota").items()
        self.sets = [QuotaSet(name, state.quota_rules[name]) for name, text in texts if parse_bool(text["enabled"])]
        self.by_user = any("users" in rule.filters for each in self.sets for rule in each.rules)
        self.used.clear()
        self._candidates.clear()
        if self.sets:
            for job in state.jobs.values():
                for task in job.tasks.values():
                    if task.granted:
                        self.charge(job, task)

    def charge(self, job: Job, task: Task, sign: int = 1) -> None:
        """Book (`sign` 1) or release (-1) the resources of a dispatched task."""
        self.used.book(self.bookings_of(job, task.granted, task.pe, task.resources), sign)

    def bookings_of(self, job: Job, granted: list[Grant], pe: str, resources: Mapping[str, str]) -> Iterator[Booking]:
        """The bookings of grants of a job; resources: as in `Task.resources`."""
        if not self.sets or job.ar:
            return iter(())
        claimant = Claimant(job.owner, job.group, job.project, pe)
        return bookings_of(granted, self._state.amounts(resources), holders=lambda instance: self.buckets(claimant, instance))

    def buckets(self, claimant: Claimant, instance: str) -> list[Bucket]:
        """The buckets that count a claimant's use of an instance: at most one rule of each set (RQ-2)."""
        found = []
        for each, candidates in zip(self.sets, self.candidates(claimant), strict=True):
            bucket = self.bucket(each, candidates, claimant, instance)
            if bucket is not None:
                found.append(bucket)
        return found

    def candidates(self, claimant: Claimant) -> list[CandidateRules]:
        """For each set the rules that may be the first match, depending on the instance."""
        found = self._candidates.get(claimant)
        if found is None:
            if len(self._candidates) > 10_000:
                self._candidates.clear()
            found = self._candidates[claimant] = [self._candidates_of(each, claimant) for each in self.sets]
        return found

    def _candidates_of(self, quotas: QuotaSet, claimant: Claimant) -> CandidateRules:
        found: CandidateRules = []
        for number, rule in enumerate(quotas.rules):
            if self._applies_to(rule, claimant):
                found.append((number, rule))
                if is_everywhere(rule):
                    break
        return found

    def _applies_to(self, rule: Rule, claimant: Claimant) -> bool:
        filters = rule.filters
        return (
            admits(filters.get("users"), claimant.user, lambda name: self._in_list(name, claimant))
            and admits(filters.get("projects"), claimant.project)
            and admits(filters.get("pes"), claimant.pe)
        )

    def _in_list(self, name: str, claimant: Claimant) -> bool:
        userset = self._state.usersets.get(name[1:])
        return userset is not None and (claimant.user in userset.entries or f"@{claimant.group}" in userset.entries)

    def bucket(self, quotas: QuotaSet, candidates: CandidateRules, claimant: Claimant, instance: str) -> Bucket | None:
        """The bucket of the first of these rules that matches the instance, or None."""
        queue, host = queue_and_host(instance)
        groups = self._state.groups.groups_of(host)
        for number, rule in candidates:
            filters = rule.filters
            if admits(filters.get("queues"), queue) and admits(filters.get("hosts"), host, groups.__contains__):
                by_scope = zip(SCOPES, (claimant.user, claimant.project, claimant.pe, queue, host), strict=True)
                consumers = tuple(name if scope in filters and filters[scope].expanded else "" for scope, name in by_scope)
                return Bucket("quota", quotas.name, number, consumers)
        return None


def is_everywhere(rule: Rule) -> bool:
    """Return whether a rule applies to every instance: such a rule has no filter of queues and hosts."""
    return "queues" not in rule.filters and "hosts" not in rule.filters


def admits(found: Filter | None, name: str, in_group: Callable[[str], bool] | None = None) -> bool:
    """Whether a filter matches a name ("" for none); `in_group` decides about its `@` items. Source: RQ-4.

    `*` matches every name, so `!*` of projects and PEs matches jobs without a name.
    """
    if found is None:
        return True
    if any(_matches(item, name, in_group) for item in found.excluded):
        return False
    return not found.included or any(_matches(item, name, in_group) for item in found.included)


def _matches(item: str, name: str, in_group: Callable[[str], bool] | None) -> bool:
    if item == "*":
        return bool(name)
    if item.startswith("@") and in_group is not None:
        return in_group(item)
    return item == name or (is_pattern(item) and bool(name) and compile_expression(item)(name))
