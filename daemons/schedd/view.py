"""The scheduler's view: the mirrored state and what is derived from it for dispatch, kept up to date by events.

Owns the derived parts and when they are stale. `observe` must be told what all events touched.
Called by the mirror and by `daemons.schedd.cycle`.
"""

from __future__ import annotations

from daemons.schedd.board import Board, BoardPlace
from daemons.schedd.categories import Category, PoolKey
from daemons.schedd.job_lines import JobLines
from daemons.schedd.load_corrections import LoadCorrections
from daemons.schedd.pool import Pool
from daemons.schedd.reserved import AnyCategory, ReservedCategory
from gridengine.placement.access import user_sets_of
from gridengine.placement.ledger import Ledger
from gridengine.placement.quotas import quota_attributes
from gridengine.placement.requests import CategoryKey, category_key
from gridengine.placement.site import Site
from gridengine.state.bookings import GLOBAL
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.state.touched import Touched

UNCONCERNED = frozenset(("manager", "operator", "admin_host", "submit_host", "share_tree", "user", "checkpoint"))
"""Kinds of objects that places and categories do not depend on."""


class View:
    """A state with board and categories. `cached=False` derives all anew in each cycle: the same outcome, slowly.

    changed: hosts whose figures are to be taken from the state anew.
    suspended_at: instance -> epoch s of the last suspension or resumption by a suspend threshold.
    """

    def __init__(self, state: State, cached: bool = True) -> None:
        self.state = state
        self.cached = cached
        self.suspended_at: dict[str, float] = {}
        self._suspended_in = set(state.tasks_in)  # more than there are: the first look takes out those that are not
        self._derive()

    def _derive(self) -> None:
        self.site = Site.of(self.state)
        self.board = Board(self.site)
        self.categories: dict[CategoryKey, AnyCategory] = {}
        self.pools: dict[PoolKey, Pool] = {}
        self.job_lines = JobLines(self.state, self._categorise)
        self.corrections = LoadCorrections(self.state, self.job_lines)
        self._of_job: dict[int, tuple[int, AnyCategory]] = {}
        self._sets: dict[tuple[str, str], frozenset[str]] = {}
        self.changed: set[str] = set(self.board.hosts)
        self._reloaded: set[str] = set()
        self._demanded = {entry.name for entry in self.site.entries.values() if entry.is_consumable}
        self._demanded |= quota_attributes(self.site)
        self._released = False
        self._stale = False

    def observe(self, touched: Touched) -> None:
        """Note what events that were applied have made stale."""
        self._stale = self._stale or touched.members or bool(touched.reservations) or not touched.kinds <= UNCONCERNED
        self.changed |= touched.hosts | touched.lost | touched.returned - {GLOBAL}
        self._suspended_in |= touched.stopped
        self.job_lines.note(touched.written)
        self._released = self._released or touched.released
        for host, values in touched.heard.items():
            if host == GLOBAL:
                self.changed.update(self.board.hosts)
            elif not self._demanded.isdisjoint(values):
                self.changed.add(host)
            elif values:
                self._reloaded.add(host)

    def refresh(self, ledger: Ledger) -> None:
        """Bring board and categories up to date with the state. `ledger`: that of the cycle, nothing given away yet."""
        self.changed |= self.corrections.moved
        closed = {place.name for name in self._reloaded for place in self.board.places_of(name) if not place.open}
        free = self.board.refresh(self.changed, ledger)
        reloaded = self.board.refresh(self._reloaded - self.changed, ledger)
        if free or reloaded:
            self.offer(free + reloaded)
        if free or self._released or any(place.name in closed for place in reloaded):
            self.unstick()
        self.changed, self._reloaded, self._released = set(), set(), False

    def unstick(self) -> None:
        """Something happened that may help categories that could not place anything."""
        for category in self.categories.values():
            category.unstick()

    def offer(self, places: list[BoardPlace]) -> None:
        """Let every pool know of places that may have room."""
        for pool in self.pools.values():
            pool.offer(places)
        for category in self.categories.values():
            category.offer(places)

    def reorder(self, places: list[BoardPlace]) -> None:
        """These places have come to be preferred without having more room, as with a load formula that packs."""
        for pool in self.pools.values():
            pool.offer(places)
        for category in self.categories.values():
            category.reorder(places)

    def begin(self) -> None:
        """Start of a cycle: derive anew what a change of configuration made stale."""
        if self._stale or not self.cached or any(name not in self.state.instances for name in self.board.places):
            self._derive()
        for category in self.categories.values():
            if category.reserves or isinstance(category, ReservedCategory):
                category.stuck = False
        self.job_lines.settle()

    def category(self, job: Job) -> AnyCategory:
        """The category of a job. Keeps it by job and version, of those that stand in no line."""
        if (settled := self.job_lines.category(job.id)) is not None:
            return settled
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
            return ReservedCategory(self.site, job)
        return Category(self.site, self.board, job, self.pools)

    def distrust(self) -> None:
        """A placement broke off half-way: derive all of this anew for the next cycle."""
        self._stale = True

    def thresholds_matter(self) -> set[str]:
        """The instances on the board that have suspend thresholds, or tasks that one has suspended."""
        state = self.state
        for name in list(self._suspended_in):
            tasks = (state.jobs[job_id].tasks[task_id] for job_id, task_id in state.tasks_in.get(name, ()))
            if not any(task.threshold_suspended for task in tasks):
                self._suspended_in.remove(name)
        return {*self.board.thresholds, *(name for name in self._suspended_in if name in self.board.places)}

    def touched(self, hosts: set[str]) -> None:
        """The cycle gave away something there: take the figures from the state next time."""
        self.changed |= hosts

    def look_again(self) -> None:
        """What was refused in this cycle may do in the next: it was kept free for reservations, which are made anew."""
        self.changed.update(self.board.hosts)

    def forget_jobs(self) -> None:
        """Drop what is kept for jobs and categories that are gone."""
        if len(self._of_job) > 2 * len(self.job_lines.restless) + 1000:
            self._of_job = {job_id: kept for job_id, kept in self._of_job.items() if job_id in self.job_lines.restless}
        used = {id(line.category) for line in self.job_lines.lines}
        if len(self.categories) > 2 * (len(used) + len(self._of_job)) + 1000:
            used |= {id(category) for _, category in self._of_job.values()}
            self.categories = {key: category for key, category in self.categories.items() if id(category) in used}
