"""Tickets: the entitlement of a job by the override, the functional and the share tree policy.

Owns the first two, the order of the three, and a job's part of its leaf of the tree. Must not know where jobs can run.
Called by the cycle for all pending and running jobs. Source: sge_sched_conf(5) weight_tickets_functional, weight_user …
weight_job, share_override_tickets, share_functional_shares, max_functional_jobs_to_schedule, policy_hierarchy;
sge_priority(5); PR-4, PR-5, PR-8, PR-9.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heapreplace
from math import inf
from typing import NamedTuple

from gridengine.placement.share_tree import Path, ShareTree
from gridengine.placement.urgency import finite
from gridengine.state.configured.objects import Project, User, UserSet
from gridengine.state.configured.table import Table
from gridengine.state.jobs import Job, Tickets
from gridengine.state.state import State

SCOPES = ("user", "project", "department", "job")
"""Owners of tickets and shares; each job belongs to one of each, but maybe to no project."""


class TicketHolder(NamedTuple):
    """A `job` in the policies: its number of `running` tasks, and whether another task may start (`is_pending`). At least one of
    both holds."""

    job: Job
    running: int
    is_pending: bool


def in_force(state: State) -> bool:
    """Whether any policy is active, apart from the override tickets of single jobs (-ot)."""
    scheduler = state.scheduler
    if scheduler.weight_tickets_functional or scheduler.weight_tickets_share:
        return True
    return any(all_of[name].oticket for all_of in _objects(state) for name in all_of)


def tickets(state: State, ticket_holders: Sequence[TicketHolder], now: float) -> list[Tickets]:
    """The tickets of a running task of each job, or of its next pending task: finite numbers. now: epoch seconds.

    The policies are applied in the order of policy_hierarchy: each sorts jobs of the same user, project and department by the
    tickets of the earlier policies. A policy outside policy_hierarchy also gives tickets, independent of the other policies (O).
    """
    policies: dict[str, Callable[[list[float]], list[float]]] = {
        "O": lambda before: _override(state, ticket_holders, before),
        "F": lambda before: _functional(state, ticket_holders, before),
        "S": lambda before: _share(state, ticket_holders, before, now),
    }
    total = nothing = [0.0] * len(ticket_holders)
    found = {}
    for policy_code in state.scheduler.policy_hierarchy:
        found[policy_code] = policies[policy_code](total)
        total = [before + more for before, more in zip(total, found[policy_code], strict=True)]
    found.update((policy_code, policies[policy_code](nothing)) for policy_code in policies if policy_code not in found)
    return [Tickets(*map(finite, each)) for each in zip(found["O"], found["F"], found["S"], strict=True)]


def _owners(job: Job) -> tuple[str, str, str, str]:
    """Names of the job's user, project, department and id, in the order of SCOPES."""
    return job.owner, job.project, job.department, str(job.id)


def _objects(state: State) -> tuple[Table[User], Table[Project], Table[UserSet]]:
    return state.users, state.projects, state.usersets


def _shares_of(objects: Table[User] | Table[Project] | Table[UserSet], name: str) -> float:
    found = objects.get(name)
    return float(found.fshare) if found is not None else 0.0


def _override(state: State, ticket_holders: Sequence[TicketHolder], before: list[float]) -> list[float]:
    """Override tickets of user, project and department, divided among their jobs if shared, plus the job's own.

    The running jobs share them; a pending job gets the part that it would have if it and all ranked before it ran.
    """
    objects = _objects(state)
    worth = [{name: float(each[name].oticket) for name in each if each[name].oticket} for each in objects]
    if not any(worth):
        return [float(each.job.override_tickets) for each in ticket_holders]
    shared = state.scheduler.share_override_tickets
    counts: list[Counter[str]] = [Counter() for _ in objects]
    found = [0.0] * len(ticket_holders)

    def tickets_of(job: Job, more: int) -> float:
        owned = zip(worth, counts, _owners(job)[:3], strict=True)
        divided = (values[name] / (count[name] + more if shared else 1) for values, count, name in owned if name in values)
        return job.override_tickets + sum(divided)

    def add(job: Job, tasks: int) -> None:
        for count, name in zip(counts, _owners(job)[:3], strict=True):
            count[name] += tasks

    def take(index: int) -> None:
        found[index] = tickets_of(ticket_holders[index].job, 1)
        add(ticket_holders[index].job, 1)

    for each in ticket_holders:
        add(each.job, each.running)
    for index, each in enumerate(ticket_holders):
        if not each.is_pending:
            found[index] = tickets_of(each.job, 0)
    _rank_pending(
        ticket_holders,
        before,
        lambda job: (*_owners(job)[:3], job.override_tickets),
        lambda job: tickets_of(job, 1),
        take,
    )
    return found


class _Shares:
    """Functional shares of users, projects, departments and jobs, and the number of their tasks so far.

    With share_functional_shares an owner's shares are divided among the owner's jobs, else each job counts with all of them.
    Jobs are ranked by their part of the shares of all owners with jobs (`worth`); a job's tickets are its part of the shares of
    the owners whose jobs run or were ranked before it (`tickets_of`). For running jobs, a scope without any shares leaves
    its weight to the other scopes (`of_running`). Source: O.
    """

    def __init__(self, state: State, ticket_holders: Sequence[TicketHolder]) -> None:
        scheduler = state.scheduler
        self.tickets = float(scheduler.weight_tickets_functional)
        self.weights = [
            scheduler.weight_user,
            scheduler.weight_project,
            scheduler.weight_department,
            scheduler.weight_job,
        ]
        self.shared = scheduler.share_functional_shares
        self._objects = _objects(state)
        self.counts: list[Counter[str]] = [Counter() for _ in SCOPES]
        self._values: list[dict[str, float]] = [{} for _ in SCOPES]
        self._all = [0.0] * len(SCOPES)
        self._active = [0.0] * len(SCOPES)
        for each in ticket_holders:
            values = self._of(each.job)
            for index, name in enumerate(_owners(each.job)):
                if not self.shared:
                    self._all[index] += values[index] * (each.running + each.is_pending)
                elif name not in self._values[index]:
                    self._all[index] += values[index]
                self._values[index][name] = values[index]
            self.take(each.job, each.running)

    def _of(self, job: Job) -> list[float]:
        owners = _owners(job)
        users, projects, departments = self._objects
        values = [_shares_of(users, owners[0]), _shares_of(projects, owners[1]), _shares_of(departments, owners[2])]
        return [*values, float(job.job_share)]

    def worth(self, job: Job) -> float:
        """The rank of the job: the tickets of one more of its tasks, if all owners with jobs had their parts."""
        return self._part(job, 1, self._all)

    def tickets_of(self, job: Job) -> float:
        """The tickets of one of the job's tasks that have been taken."""
        return self._part(job, 0, self._active)

    def of_running(self, job: Job) -> float:
        """The tickets of one of the job's tasks, before any pending task is taken."""
        in_use = sum(weight for weight, active in zip(self.weights, self._active, strict=True) if active)
        return self.tickets_of(job) / in_use if in_use else 0.0

    def _part(self, job: Job, more: int, sums: list[float]) -> float:
        total = 0.0
        for index, name in enumerate(_owners(job)):
            if sums[index]:
                share = self._values[index][name]
                share /= (self.counts[index][name] + more or 1) if self.shared else 1
                total += self.weights[index] * share / sums[index]
        return self.tickets * total

    def take(self, job: Job, tasks: int = 1) -> None:
        """Tasks of the job count as running from now on."""
        if not tasks:
            return
        for index, name in enumerate(_owners(job)):
            if not self.shared:
                self._active[index] += self._values[index][name] * tasks
            elif not self.counts[index][name]:
                self._active[index] += self._values[index][name]
            self.counts[index][name] += tasks


def _functional(state: State, ticket_holders: Sequence[TicketHolder], before: list[float]) -> list[float]:
    """weight_tickets_functional divided by functional shares; at most max_functional_jobs_to_schedule pending jobs get any."""
    found = [0.0] * len(ticket_holders)
    shares = _Shares(state, ticket_holders)
    if not shares.tickets:
        return found

    def take(index: int) -> None:
        shares.take(ticket_holders[index].job)
        found[index] = shares.tickets_of(ticket_holders[index].job)

    for index, each in enumerate(ticket_holders):
        if not each.is_pending:
            found[index] = shares.of_running(each.job)
    most = state.scheduler.max_functional_jobs_to_schedule
    _rank_pending(ticket_holders, before, lambda job: (*_owners(job)[:3], job.job_share), shares.worth, take, most)
    return found


def _rank_pending(
    ticket_holders: Sequence[TicketHolder],
    before: list[float],
    kind: Callable[[Job], tuple[str | int, ...]],
    worth: Callable[[Job], float],
    take: Callable[[int], None],
    most: float = inf,
) -> None:
    """Rank the pending jobs in sequence, at most `most`: the job with the greatest worth is taken and counts for the next
    jobs, so jobs of equal users alternate. Jobs of one `kind` have the same worth; earlier policies give their order."""
    queues: dict[tuple[str | int, ...], list[int]] = defaultdict(list)
    for index, each in enumerate(ticket_holders):
        if each.is_pending:
            queues[kind(each.job)].append(index)
    for queue in queues.values():
        queue.sort(key=lambda index: _rank_key(ticket_holders[index], before[index]), reverse=True)
    # worth only decreases while other jobs are ranked: a top entry with unchanged worth is the best
    heap = [(-worth(ticket_holders[queue[-1]].job), queue[-1], queue) for queue in queues.values()]
    heapify(heap)
    while heap and most > 0:
        known, index, queue = heap[0]
        now_worth = worth(ticket_holders[index].job)
        if now_worth < -known:
            heapreplace(heap, (-now_worth, index, queue))
            continue
        take(index)
        most -= 1
        queue.pop()
        if queue:
            heapreplace(heap, (-worth(ticket_holders[queue[-1]].job), queue[-1], queue))
        else:
            heappop(heap)


def _share(state: State, ticket_holders: Sequence[TicketHolder], before: list[float], now: float) -> list[float]:
    """The tickets of each leaf divided among its jobs: of leaves with running jobs among the running jobs.

    Pending jobs get the tickets that they would get if all leaves with jobs counted: the next job of a leaf as if it ran,
    the job after it as if both jobs ran, and so on.
    """
    found = [0.0] * len(ticket_holders)
    if not state.scheduler.weight_tickets_share or not state.has("share_tree", ""):
        return found
    in_use = ShareTree(state, (each.job for each in ticket_holders if each.running), now)
    with_pending = ShareTree(state, (each.job for each in ticket_holders), now)
    leaves: dict[Path, list[int]] = defaultdict(list)
    for index, each in enumerate(ticket_holders):
        leaves[with_pending.leaf(each.job)].append(index)
    for path, members in leaves.items():
        if not path:
            continue
        running = sum(ticket_holders[index].running for index in members)
        for index in members:
            if ticket_holders[index].running:
                found[index] = in_use.tickets[path] / running
        waiting = [index for index in members if ticket_holders[index].is_pending]
        waiting.sort(key=lambda index: _rank_key(ticket_holders[index], before[index]))
        for position, index in enumerate(waiting, 1):
            found[index] = with_pending.tickets[path] / (running + position)
    return found


def _rank_key(ticket_holder: TicketHolder, before: float) -> tuple[float, float, int]:
    """Sort key of pending jobs of the same owner: tickets of earlier policies, then submission."""
    return -before, ticket_holder.job.submit_time, ticket_holder.job.id
