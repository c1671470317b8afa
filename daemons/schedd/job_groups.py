"""Job groups, kept over cycles: a job to which nothing has happened is not examined again.

Owns the groups: jobs of one category and one -p, which priorities cannot distinguish, in the order in which they are
served. The cost of a cycle follows from the changed jobs, the groups and the started tasks, not from the number of waiting
jobs. This requires jobs whose own record determines everything; all other jobs, `rechecked`, are examined in every cycle.
Called by the view, which passes on the jobs that events have changed, and by `daemons.schedd.survey`. Reason:
docs/adr/0156.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator

from daemons.schedd.reserved import AnyCategory
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State


class GroupMember:
    """A job in its group. `waits`: the job has a pending task to start; else all its tasks are dispatched."""

    __slots__ = ("time", "job_id", "group", "waits", "is_removed")

    def __init__(self, job: Job, group: JobGroup, waits: bool) -> None:
        self.time, self.job_id, self.group, self.waits, self.is_removed = job.submit_time, job.id, group, waits, False

    @property
    def rank(self) -> tuple[float, int]:
        return self.time, self.job_id


class JobGroup:
    """`sample`: a present or former member; priorities treat all members alike. `last_reported`: the priority that the qmaster
    knows for all members but `unreported`. `running`: members without pending tasks."""

    __slots__ = ("category", "sample", "unreported", "last_reported", "running", "_order", "_removed_count")

    def __init__(self, category: AnyCategory, sample: Job) -> None:
        self.category, self.sample = category, sample
        self.unreported: set[int] = set()
        self.last_reported: object = None
        self.running: set[int] = set()
        self._order: list[GroupMember] = []
        self._removed_count = 0

    def add(self, member: GroupMember) -> None:
        self.unreported.add(member.job_id)
        if not member.waits:
            self.running.add(member.job_id)
            return
        if not self._order or self._order[-1].rank < member.rank:
            self._order.append(member)
        else:
            insort(self._order, member, key=lambda each: each.rank)

    def drop(self, member: GroupMember) -> None:
        """Mark a member as removed. Members are deleted in batches, so removing the first of a long group is cheap."""
        self.unreported.discard(member.job_id)
        self.running.discard(member.job_id)
        member.is_removed = True
        self._removed_count += member.waits

    def waiting(self) -> Iterator[GroupMember]:
        """The members with pending tasks, in order."""
        if self._removed_count > 100 and self._removed_count * 8 > len(self._order):
            self._order, self._removed_count = [member for member in self._order if not member.is_removed], 0
        return (member for member in self._order if not member.is_removed)

    @property
    def waits(self) -> bool:
        """Whether any member has a pending task."""
        return len(self._order) > self._removed_count

    def job_ids(self) -> Iterator[int]:
        """The ids of all members."""
        yield from self.running
        yield from (member.job_id for member in self._order if not member.is_removed)


class JobGroups:
    """The groups of all jobs of a state. `idle_unreported`: jobs outside of all groups whose priority the qmaster may not know.
    `rechecked`: jobs that are examined in every cycle."""

    def __init__(self, state: State, categorise: Callable[[Job], AnyCategory]) -> None:
        self._state, self._categorise = state, categorise
        self.rechecked: set[int] = set()
        self._placed: set[int] = set()
        self._recent: set[int] = set()
        self._corrected_at = 0.0
        self.idle_unreported: set[int] = set()
        self._groups: dict[tuple[int, int], JobGroup] = {}
        self._members: dict[int, GroupMember] = {}
        self._written: set[int] | None = None  # all

    def note(self, jobs: Iterable[int]) -> None:
        """The records of these jobs have changed or are gone."""
        if self._written is not None:
            self._written.update(jobs)

    @property
    def groups(self) -> Iterable[JobGroup]:
        """The groups with members."""
        return self._groups.values()

    def category(self, job_id: int) -> AnyCategory | None:
        """The category of a job that is in a group."""
        member = self._members.get(job_id)
        return member.group.category if member is not None else None

    def started_lately(self, now: float, within_s: float) -> list[Task]:
        """Dispatched tasks that were started in the last `within_s` seconds, or later than `now`."""
        if now < self._corrected_at:
            self._recent |= self._placed  # the clock was set back
        self._corrected_at = now
        found = []
        for number in sorted(self._recent):
            tasks = self._state.jobs[number].tasks.values()
            lately = [task for task in tasks if task.granted and now - task.start_time < within_s]
            found += lately
            if not lately:
                self._recent.discard(number)
        return found

    def refresh(self) -> None:
        """Regroup all jobs whose records have changed."""
        jobs = self._state.jobs
        written = jobs if self._written is None else self._written
        for number in written:
            if (member := self._members.pop(number, None)) is not None:
                member.group.drop(member)
                if not (member.group.waits or member.group.running):
                    self._groups.pop((id(member.group.category), member.group.sample.priority), None)
            job = jobs.get(number)
            if job is not None:
                self._classify(job)
            else:
                for each in (self.rechecked, self._placed, self._recent, self.idle_unreported):
                    each.discard(number)
        self._written = set()

    def _classify(self, job: Job) -> None:
        self.rechecked.discard(job.id)
        self.idle_unreported.discard(job.id)
        runs = any(task.granted for task in job.tasks.values()) if job.tasks else False
        for each in (self._placed, self._recent):
            (each.add if runs else each.discard)(job.id)
        try:
            if _needs_recheck(job):
                self.rechecked.add(job.id)
            elif runs and not job.error or job.pending and not job.error and not _wholly_held(job):
                self._add_to_group(job, bool(job.pending) and not _wholly_held(job))
            else:
                self.idle_unreported.add(job.id)
        except Exception:  # noqa: BLE001 - the cycle examines the job and reports the fault
            self.rechecked.add(job.id)

    def _add_to_group(self, job: Job, waits: bool) -> None:
        category = self._categorise(job)
        key = (id(category), job.priority)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = JobGroup(category, job)
        member = self._members[job.id] = GroupMember(job, group, waits)
        group.add(member)


def _needs_recheck(job: Job) -> bool:
    """Whether time, other jobs or a reservation may affect the job while its own record stays the same."""
    if job.predecessors or job.array_predecessors or job.start_after or job.deadline:
        return True
    if job.ar or job.now or job.override_tickets:
        return True
    return any(not task.granted for task in job.tasks.values()) if job.tasks else False


def _wholly_held(job: Job) -> bool:
    """Whether all its pending tasks are held."""
    if not job.holds:
        return False
    ready = job.pending
    for held in job.holds.values():
        ready = ready - held
    return not ready
