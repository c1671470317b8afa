"""The scheduler's view: the mirrored state and the data that dispatch derives from it, updated by events.

Owns the derived data and its invalidation. `observe` must get everything that events affected. Called by the mirror and by
`daemons.schedd.cycle`.
"""

from __future__ import annotations

from daemons.schedd.candidate_heap import CandidateHeap
from daemons.schedd.categories import CandidateHeapKey, Category
from daemons.schedd.instance_table import InstanceRow, InstanceTable
from daemons.schedd.job_groups import JobGroups
from daemons.schedd.load_corrections import LoadCorrections
from daemons.schedd.reserved import AnyCategory, ReservedCategory
from gridengine.placement.access import user_sets_of
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.placement_request import CategoryKey, category_key
from gridengine.placement.quotas import quota_attributes
from gridengine.state.affected import Affected
from gridengine.state.bookings import GLOBAL
from gridengine.state.jobs import Job
from gridengine.state.state import State

UNCONCERNED = frozenset(("manager", "operator", "admin_host", "submit_host", "share_tree", "user", "checkpoint"))
"""Kinds of objects on which queue instances and categories do not depend."""


class View:
    """A state with instance table and categories. `cached=False` derives everything in each cycle: the same outcome, slowly.

    changed: hosts whose figures have to be read from the state again.
    suspended_at: instance -> epoch s of the last suspension or resumption by a suspend threshold.
    """

    def __init__(self, state: State, cached: bool = True) -> None:
        self.state = state
        self.cached = cached
        self.suspended_at: dict[str, float] = {}
        self._suspended_in = set(state.tasks_in)  # a superset: the first use removes the other tasks
        self._derive()

    def _derive(self) -> None:
        self.config_snapshot = PlacementConfig.of(self.state)
        self.instance_table = InstanceTable(self.config_snapshot)
        self.categories: dict[CategoryKey, AnyCategory] = {}
        self.candidate_heaps: dict[CandidateHeapKey, CandidateHeap] = {}
        self.job_groups = JobGroups(self.state, self._categorise)
        self.corrections = LoadCorrections(self.state, self.job_groups)
        self._of_job: dict[int, tuple[int, AnyCategory]] = {}
        self._sets: dict[tuple[str, str], frozenset[str]] = {}
        self.changed: set[str] = set(self.instance_table.hosts)
        self._load_changed: set[str] = set()
        self._demanded = {entry.name for entry in self.config_snapshot.entries.values() if entry.is_consumable}
        self._demanded |= quota_attributes(self.config_snapshot)
        self._released = False
        self._stale = False

    def observe(self, affected: Affected) -> None:
        """Note the data that applied events have made stale."""
        self._stale = self._stale or affected.members or bool(affected.reservations) or not affected.kinds <= UNCONCERNED
        self.changed |= affected.hosts | affected.lost | affected.returned - {GLOBAL}
        self._suspended_in |= affected.stopped
        self.job_groups.note(affected.written)
        self._released = self._released or affected.released
        for host, values in affected.heard.items():
            if not self.instance_table.decided.isdisjoint(values):
                self._stale = True
            if host == GLOBAL:
                self.changed.update(self.instance_table.hosts)
            elif not self._demanded.isdisjoint(values):
                self.changed.add(host)
            elif values:
                self._load_changed.add(host)

    def refresh(self, ledger: Ledger) -> None:
        """Update instance table and categories from the state. `ledger`: of the cycle, without grants yet."""
        (self._load_changed if self.corrections_only_rank() else self.changed).update(self.corrections.moved)
        closed = {row.name for name in self._load_changed for row in self.instance_table.rows_of(name) if not row.open}
        free = self.instance_table.refresh(self.changed, ledger)
        reloaded = self.instance_table.refresh(self._load_changed - self.changed, ledger)
        if free or reloaded:
            self.add_candidates(free + reloaded)
        if free or self._released or any(row.name in closed for row in reloaded):
            self.unblock()
        self.changed, self._load_changed, self._released = set(), set(), False

    def corrections_only_rank(self) -> bool:
        """Whether no request or quota reads a load value that corrections change: apart from alarms they decide on the order of
        instances alone."""
        return self._demanded.isdisjoint(self.instance_table.adjustments)

    def unblock(self) -> None:
        """Retry blocked categories: something happened that may help them."""
        for category in self.categories.values():
            category.unblock()

    def add_candidates(self, rows: list[InstanceRow]) -> None:
        """Add rows that may have free slots to every heap."""
        for candidate_heap in self.candidate_heaps.values():
            candidate_heap.add_candidates(rows)
        for category in self.categories.values():
            category.add_candidates(rows)

    def reorder(self, rows: list[InstanceRow]) -> None:
        """Update rows whose rank improved without more free slots, as with a load formula that packs."""
        for candidate_heap in self.candidate_heaps.values():
            candidate_heap.add_candidates(rows)
        for category in self.categories.values():
            category.reorder(rows)

    def begin(self) -> None:
        """Start a cycle: derive the data again that a change of configuration made stale."""
        if self._stale or not self.cached or not self.instance_table.rows.keys() <= self.state.instances.keys():
            self._derive()
        for category in self.categories.values():
            if category.reserves or isinstance(category, ReservedCategory):
                category.is_blocked = False
        self.job_groups.refresh()

    @property
    def has_work(self) -> bool:
        """Whether a run of the scheduler may start, suspend or resume a task, or delete a job. Valid after `begin`."""
        groups = self.job_groups
        waits = groups.rechecked or any(group.waits for group in groups.groups)
        return bool(waits) or bool(self.instances_with_thresholds())

    def category(self, job: Job) -> AnyCategory:
        """The category of a job. For jobs outside of groups it is kept by job and version."""
        if (of_group := self.job_groups.category(job.id)) is not None:
            return of_group
        known = self._of_job.get(job.id)
        if known is not None and known[0] == job.version:
            return known[1]
        category = self._categorise(job)
        self._of_job[job.id] = (job.version, category)
        return category

    def _categorise(self, job: Job) -> AnyCategory:
        owner = (job.owner, job.group)
        sets = self._sets.get(owner)
        if sets is None:
            sets = self._sets[owner] = user_sets_of(self.state, *owner)
        key = category_key(self.state, sets, job)
        category = self.categories.get(key)
        if category is None:
            category = self.categories[key] = self._new_category(job)
            self._demanded |= category.request.names
        return category

    def _new_category(self, job: Job) -> AnyCategory:
        if job.ar in self.state.reservations:
            return ReservedCategory(self.config_snapshot, job)
        return Category(self.config_snapshot, self.instance_table, job, self.candidate_heaps)

    def invalidate(self) -> None:
        """A placement failed half-way: derive everything again for the next cycle."""
        self._stale = True

    def instances_with_thresholds(self) -> set[str]:
        """The configured instances that have suspend thresholds, or tasks that a threshold has suspended."""
        state = self.state
        for name in list(self._suspended_in):
            tasks = (state.jobs[job_id].tasks[task_id] for job_id, task_id in state.tasks_in.get(name, ()))
            if not any("threshold_suspended" in task.conditions for task in tasks):
                self._suspended_in.remove(name)
        return {*self.instance_table.thresholds, *(name for name in self._suspended_in if name in self.instance_table.rows)}

    def mark_changed(self, hosts: set[str]) -> None:
        """The cycle made grants on these hosts: read their figures from the state next time."""
        self.changed |= hosts

    def mark_all_changed(self) -> None:
        """A refusal of this cycle may not hold in the next: reservations, which are made again, kept slots free."""
        self.changed.update(self.instance_table.hosts)

    def forget_jobs(self) -> None:
        """Drop cached data of jobs and categories that are gone."""
        if len(self._of_job) > 2 * len(self.job_groups.rechecked) + 1000:
            self._of_job = {job_id: kept for job_id, kept in self._of_job.items() if job_id in self.job_groups.rechecked}
        used = {id(group.category) for group in self.job_groups.groups}
        if len(self.categories) > 2 * (len(used) + len(self._of_job)) + 1000:
            used |= {id(category) for _, category in self._of_job.values()}
            self.categories = {key: category for key, category in self.categories.items() if id(category) in used}
            in_use = {id(category.candidate_heap) for category in self.categories.values() if isinstance(category, Category)}
            for candidate_heap in self.candidate_heaps.values():
                candidate_heap.forget_copies(in_use)
