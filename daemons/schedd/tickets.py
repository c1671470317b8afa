"""Tickets: how much a job is entitled to by the override, the functional and the share tree policy.

Owns the first two, the order of the three, and what a job gets of its leaf of the tree. Must not know where jobs can run.
Called by the cycle for all jobs that want to run or run. Source: sge_sched_conf(5) weight_tickets_functional, weight_user …
weight_job, share_override_tickets, share_functional_shares, max_functional_jobs_to_schedule, policy_hierarchy;
sge_priority(5); PR-4, PR-5, PR-8, PR-9.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from gridengine.placement.share_tree import Path, ShareTree
from gridengine.state.jobs import Job, Tickets
from gridengine.state.state import Attributes, State

SCOPES = ("user", "project", "department", "job")
"""What tickets and shares belong to; each job belongs to one of each, but maybe to no project."""


class Entrant(NamedTuple):
    """A job in the policies: its running tasks, and whether it wants to run another one."""

    job: Job
    running: int
    wants: bool



def in_force(state: State) -> bool:
    """Whether any policy gives out tickets, but for those that single jobs are given (-ot)."""
    weights = (state.scheduler.get(f"weight_tickets_{policy}", "0") for policy in ("functional", "share"))
    return any(map(int, weights)) or any(_number(all_of, name, "oticket") for all_of in _objects(state) for name in all_of)


def tickets(state: State, entrants: Sequence[Entrant], now: float) -> list[Tickets]:
    """The tickets of a running task of each job, or of the next one if it wants to run one. now: epoch seconds.

    The policies come in the order of policy_hierarchy: jobs of the same user, project and department are served by what the
    earlier ones gave them.
    """
    scheduler = state.scheduler
    order = scheduler.get("policy_hierarchy", "OFS").upper()
    policies: dict[str, Callable[[list[float]], list[float]]] = {
        "O": lambda before: _override(state, entrants),
        "F": lambda before: _functional(state, entrants, before),
        "S": lambda before: _share(state, entrants, before, now),
    }
    found = {letter: [0.0] * len(entrants) for letter in policies}
    total = [0.0] * len(entrants)
    for letter in order if order != "NONE" else "":
        found[letter] = policies[letter](total)
        total = [before + more for before, more in zip(total, found[letter], strict=True)]
    return [Tickets(*each) for each in zip(found["O"], found["F"], found["S"], strict=True)]


def _owners(job: Job) -> tuple[str, str, str, str]:
    """Names of what the job belongs to, in the order of SCOPES."""
    return job.owner, job.project, job.department, str(job.id)


def _number(objects: dict[str, Attributes], name: str, attribute: str) -> float:
    found = objects.get(name)
    return float(found.get(attribute, "0")) if found is not None else 0.0


def _objects(state: State) -> list[dict[str, Attributes]]:
    return [state.kind("user"), state.kind("project"), state.kind("userset")]


def _override(state: State, entrants: Sequence[Entrant]) -> list[float]:
    """Those of user, project and department, divided among their running jobs if they are shared, and the job's own.

    A pending job gets what it would get if it ran.
    """
    objects = _objects(state)
    worth = [{n: v for n in each if (v := _number(each, n, "oticket"))} for each in objects]
    if not any(worth):
        return [float(each.job.override_tickets) for each in entrants]
    shared = _is_true(state.scheduler.get("share_override_tickets", "TRUE"))
    running: list[Counter[str]] = [Counter() for _ in objects]
    for each in entrants:
        for counts, name in zip(running, _owners(each.job)[:3], strict=True):
            counts[name] += each.running
    found = []
    for each in entrants:
        total = float(each.job.override_tickets)
        for values, counts, name in zip(worth, running, _owners(each.job)[:3], strict=True):
            if name in values:
                total += values[name] / ((counts[name] + each.wants or 1) if shared else 1)
        found.append(total)
    return found


class _Shares:
    """Functional shares of users, projects, departments and jobs, and how many tasks each has so far.

    With share_functional_shares what somebody has is divided among his jobs, else each of them counts with all of it.
    """

    def __init__(self, state: State, entrants: Sequence[Entrant]) -> None:
        scheduler = state.scheduler
        self.tickets = float(scheduler.get("weight_tickets_functional", "0"))
        self.weights = [float(scheduler.get(f"weight_{scope}", "0.25")) for scope in SCOPES]
        self.shared = _is_true(scheduler.get("share_functional_shares", "TRUE"))
        self._objects = _objects(state)
        self.counts: list[Counter[str]] = [Counter() for _ in SCOPES]
        self._values: list[dict[str, float]] = [{} for _ in SCOPES]
        sums = [0.0] * len(SCOPES)
        for each in entrants:
            values = self._of(each.job)
            for index, name in enumerate(_owners(each.job)):
                self.counts[index][name] += each.running
                if not self.shared:
                    sums[index] += values[index] * (each.running + each.wants)
                elif name not in self._values[index]:
                    sums[index] += values[index]
                self._values[index][name] = values[index]
        self._sums = sums

    def _of(self, job: Job) -> list[float]:
        owners = _owners(job)
        values = [_number(objects, name, "fshare") for objects, name in zip(self._objects, owners[:3], strict=True)]
        return [*values, float(job.job_share)]

    def worth(self, job: Job, more: int) -> float:
        """The tickets of one of a job's tasks, if `more` tasks ran."""
        total = 0.0
        for index, name in enumerate(_owners(job)):
            if self._sums[index]:
                share = self._values[index][name]
                share /= (self.counts[index][name] + more or 1) if self.shared else 1
                total += self.weights[index] * share / self._sums[index]
        return self.tickets * total

    def take(self, job: Job) -> None:
        """A task of the job counts as running from now on."""
        for index, name in enumerate(_owners(job)):
            self.counts[index][name] += 1


def _functional(state: State, entrants: Sequence[Entrant], before: list[float]) -> list[float]:
    """weight_tickets_functional divided by functional shares.

    Pending jobs are ranked one by one, the one with most tickets next, and each counts for those behind it, so that jobs
    of equal users alternate; at most max_functional_jobs_to_schedule of them get any.
    """
    found = [0.0] * len(entrants)
    shares = _Shares(state, entrants)
    if not shares.tickets:
        return found
    queues: dict[tuple[str | int, ...], list[int]] = defaultdict(list)
    for index, each in enumerate(entrants):
        if each.wants:
            queues[*_owners(each.job)[:3], each.job.job_share].append(index)
        else:
            found[index] = shares.worth(each.job, 0)
    for queue in queues.values():
        queue.sort(key=lambda index: _turn(entrants[index], before[index]), reverse=True)
    # tickets only become fewer while jobs are ranked: what is on top and still worth as much is the best
    heap = [(-shares.worth(entrants[queue[-1]].job, 1), queue[-1], queue) for queue in queues.values()]
    heapify(heap)
    left = int(state.scheduler.get("max_functional_jobs_to_schedule", "200"))
    while heap and left > 0:
        known, index, queue = heap[0]
        worth = shares.worth(entrants[index].job, 1)
        if worth < -known:
            heapreplace(heap, (-worth, index, queue))
            continue
        found[index] = worth
        shares.take(entrants[index].job)
        left -= 1
        queue.pop()
        if queue:
            heapreplace(heap, (-shares.worth(entrants[queue[-1]].job, 1), queue[-1], queue))
        else:
            heappop(heap)
    return found


def _share(state: State, entrants: Sequence[Entrant], before: list[float], now: float) -> list[float]:
    """The tickets of each leaf divided among its running jobs; of those that wait, the next gets what it would get if it
    ran, the one behind it as if both ran, and so on."""
    found = [0.0] * len(entrants)
    if not int(state.scheduler.get("weight_tickets_share", "0")) or not state.has("share_tree", ""):
        return found
    tree = ShareTree(state, (each.job for each in entrants), now)
    leaves: dict[Path, list[int]] = defaultdict(list)
    for index, each in enumerate(entrants):
        leaves[tree.leaf(each.job)].append(index)
    for path, members in leaves.items():
        if not path:
            continue
        running = sum(entrants[index].running for index in members)
        waiting = [index for index in members if entrants[index].wants]
        waiting.sort(key=lambda index: _turn(entrants[index], before[index]))
        for index in members:
            found[index] = tree.tickets[path] / (running or 1)
        for place, index in enumerate(waiting, 1):
            found[index] = tree.tickets[path] / (running + place)
    return found


def _turn(entrant: Entrant, before: float) -> tuple[float, float, int]:
    """Sorts waiting jobs of the same owner: by what earlier policies gave them, then as they came."""
    return -before, entrant.job.submit_time, entrant.job.id


def _is_true(text: str) -> bool:
    return text.upper() in ("TRUE", "1")
