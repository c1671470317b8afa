"""The resource time line: how much of a consumable is in use of a holder at any moment from now on.

Owns what running jobs, advance reservations and reservations of waiting jobs hold, and for how long: jobs until their run
time limit or for ever, reservations for their window; and what a cycle of the scheduler adds to that. Must not know
capacities. Called by the qmaster when it grants reservations, and through the ledger wherever a job is placed, so that both
keep away from each other in both directions: a job gets only what no reservation needs while it would run (backfilling).
Source: AR-38 … AR-43, AR-52; sge_sched_conf(5) DURATION_OFFSET, default_duration, max_reservation; SC-7 … SC-9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise

from gridengine.placement.values import typed_value
from gridengine.state.bookings import Booking, Holder, bookings_of, holders_at
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import Job, Task
from gridengine.state.reservations import AdvanceReservation, JobReservation, Span
from gridengine.state.state import State
from gridengine.units import INFINITY

LINGER_S = 60.0
"""How long a reservation that is ending is taken to hold its slots yet: its jobs are being killed."""

_NO_SPANS: dict[str, dict[int, Span]] = {}


def run_time_limit(hard: Mapping[str, str]) -> float:
    """Seconds that a job may run by its own -l h_rt or s_rt; infinite without them."""
    limits = [float(typed_value("TIME", hard[name])) for name in ("h_rt", "s_rt") if hard.get(name)]
    return min(limits, default=INFINITY)


def run_time(hard: Mapping[str, str], scheduler: SchedulerConfiguration) -> float:
    """Seconds after which a job with these requests has surely ended: its limit, else default_duration (AR-42)."""
    limit = run_time_limit(hard)
    return limit if limit != INFINITY else scheduler.default_duration_s


class Timeline:
    """What is in use from `now` (epoch s) on. `tasks=False`: as if nothing ran (-w e|v). `without`: a reservation to leave out.

    `planned`: also what the last run of the scheduler keeps free for waiting jobs (AR-52), but for that of `but`, a job; its
    own runs plan that anew.
    """

    def __init__(
        self, state: State, now: float, tasks: bool = True, without: int = 0, planned: bool = False, but: int = 0
    ) -> None:
        self.state = state
        self.now = now
        self.offset = state.scheduler.duration_offset_s
        self._default = state.scheduler.default_duration_s
        self._tasks = tasks
        self._without = without
        self._spans: dict[Holder, dict[str, list[Span]]] = {}
        self._added: dict[Holder, dict[str, list[Span]]] = {}
        self._under_quotas: dict[Holder, list[tuple[float, str, float]]] | None = None
        self._reserved: dict[Holder, list[tuple[float, float, str]]] = {}
        self._reserved_names: set[tuple[Holder, str]] = set()
        self._ends: set[float] | None = None
        self._added_ends: set[float] = set()
        self._irregular = {number for number, one in state.reservations.items() if one.ending} | {without}
        for one in state.job_reservations if planned else ():
            if one.job_id != but and is_still_waiting(state, one):
                self.reserve(*_planned(state, one))

    # --- what is to come ---------------------------------------------------------------------------------

    def run_for(self, duration: float) -> float:
        """Seconds that a job of this duration keeps its slots."""
        return duration + self.offset

    def add(self, begin: float, end: float, bookings: Iterable[Booking], sign: int = 1) -> None:
        """Somebody has these from `begin` to `end` (epoch s), or (`sign` -1) has them no more."""
        for holder, amounts in bookings:
            spans = (self._spans if holder in self._spans else self._added).setdefault(holder, {})
            for name, amount in amounts.items():
                spans.setdefault(name, []).append((begin, end, sign * amount))
        if end < INFINITY:
            self._added_ends.add(end)

    def reserve(self, label: str, begin: float, end: float, bookings: Iterable[Booking]) -> None:
        """These are kept for a waiting job (`label`)."""
        bookings = list(bookings)
        self.add(begin, end, bookings)
        self._reserved_names.update((holder, name) for holder, amounts in bookings for name in amounts)
        for holder in dict.fromkeys(holder for holder, _ in bookings):
            self._reserved.setdefault(holder, []).append((begin, end, label))

    # --- what is asked -----------------------------------------------------------------------------------

    def peak(self, holder: Holder, name: str, start: float, end: float) -> float:
        """The most that is in use of a consumable at any moment from `start` until before `end`."""
        return peak(self._at(holder).get(name, ()), start, end)

    def above(self, holder: Holder, name: str, capacity: float) -> list[Span]:
        """When more than a capacity is in use, and how much: spans of one amount each."""
        return above(self._at(holder).get(name, ()), capacity)

    def is_reserved(self, holder: Holder, name: str = "slots") -> bool:
        """Whether a reservation of any kind holds anything of a consumable; wherever it holds something it holds slots."""
        return name in self.state.reserved.spans.get(holder, _NO_SPANS) or (holder, name) in self._reserved_names

    def reservations_of(self, holder: Holder) -> Iterator[tuple[float, float, str]]:
        """(begin, end, who) of what is kept for later of a holder; in epoch seconds."""
        for number in self.state.reserved.slots(holder):
            yield *self.window(self.state.reservations[number]), f"advance reservation {number}"
        yield from self._reserved.get(holder, ())

    def window(self, reservation: AdvanceReservation) -> tuple[float, float]:
        """When a reservation holds its slots."""
        end = self.now + LINGER_S if reservation.ending else reservation.end_time
        return reservation.holds_from, end

    def end_of(self, job: Job, task: Task) -> float:
        """When a running task has surely given back its slots; infinite without a limit. Overdue ones end next."""
        limit = run_time_limit(job.hard)
        end = task.start_time + (self._default if limit == INFINITY else limit) + self.offset
        return max(end, self.now + 1.0)

    def ends(self) -> set[float]:
        """When anything ends that has an end: running jobs with a limit, reservations, what was added."""
        if self._ends is None:
            running = (self.end_of(job, task) for job, task in self._tasks_outside_reservations())
            windows = (self.window(one)[1] for one in self.state.reservations.values())
            self._ends = {end for end in chain(running, windows) if end < INFINITY}
        return self._ends | self._added_ends

    def occupants(self, instance: str, start: float, end: float) -> list[tuple[str, float]]:
        """Who holds anything of a queue instance within a window, and until when (epoch s, infinite for no limit)."""
        state, found = self.state, list[tuple[str, float]]()
        for number in sorted(state.reserved.of_instance.get(instance, ())):
            begin, over = self.window(state.reservations[number])
            if begin < end and over > start:
                found.append((f"advance reservation {number}", over))
        for job_id, task_id in sorted(state.tasks_in.get(instance, ())):
            job = state.jobs[job_id]
            over = self.end_of(job, job.tasks[task_id])
            if job.ar not in state.reservations and over > start:
                found.append((f"job {job.label(task_id)}", over))
        for begin, over, label in self._reserved.get(holders_at(instance)[0], ()):
            if begin < end and over > start:
                found.append((f"waiting {label} (-R y)", over))
        return found

    # --- spans -------------------------------------------------------------------------------------------

    def _at(self, holder: Holder) -> dict[str, list[Span]]:
        found = self._spans.get(holder)
        if found is None:
            held = self.state.reserved.spans.get(holder, _NO_SPANS)
            found = self._spans[holder] = {name: list(self._in_force(spans)) for name, spans in held.items()}
            for name, added in self._added.pop(holder, {}).items():
                found.setdefault(name, []).extend(added)
            if self._tasks and self.state.jobs:
                for end, name, amount in self._running(holder):
                    found.setdefault(name, []).append((self.now, end, amount))
        return found

    def _in_force(self, spans: dict[int, Span]) -> Iterable[Span]:
        """Without the reservation that is left out, and those that are ending as long as their jobs may linger."""
        if self._irregular.isdisjoint(spans):
            return spans.values()
        windows = {number: self.window(self.state.reservations[number]) for number in spans if number != self._without}
        return [(*window, spans[number][2]) for number, window in windows.items()]

    def _running(self, holder: Holder) -> Iterable[tuple[float, str, float]]:
        """(end, consumable, amount) of what running tasks hold of a holder."""
        if holder.kind != "quota":
            return self._of_tasks(holder)
        if self._under_quotas is None:  # one look at each task tells about all rules
            self._under_quotas = {}
            for job, task in self._tasks_outside_reservations() if self.state.quotas.sets else ():
                end = self.end_of(job, task)
                for bucket, amounts in self.state.quotas.bookings_of(job, task.granted, task.pe, task.resources):
                    spans = self._under_quotas.setdefault(bucket, [])
                    spans += ((end, name, amount) for name, amount in amounts.items())
        return self._under_quotas.get(holder, ())

    def _of_tasks(self, holder: Holder) -> Iterator[tuple[float, str, float]]:
        for job, task in self._tasks_outside_reservations(holder):
            sums: dict[str, float] = {}
            for of, amounts in self.state.bookings_of(task):
                if of == holder:
                    for name, amount in amounts.items():
                        sums[name] = sums.get(name, 0.0) + amount
            if sums:
                end = self.end_of(job, task)
                yield from ((end, name, amount) for name, amount in sums.items())

    def _tasks_outside_reservations(self, holder: Holder | None = None) -> Iterator[tuple[Job, Task]]:
        """Tasks outside of reservations, of those that may hold something of a holder: those inside are covered by what the
        reservation holds."""
        state = self.state
        keys: Iterable[tuple[int, int]]
        if holder is not None and holder.kind in ("instance", "host"):
            keys = (state.tasks_in if holder.kind == "instance" else state.tasks_on).get(holder.name, ())
        else:
            keys = ((job.id, task_id) for job in state.jobs.values() for task_id in job.tasks)
        for job_id, task_id in keys:
            job = state.jobs[job_id]
            if job.ar not in state.reservations and job.tasks[task_id].granted:
                yield job, job.tasks[task_id]


def is_still_waiting(state: State, planned: JobReservation) -> bool:
    """Whether the task that this is meant for is still to be started."""
    job = state.jobs.get(planned.job_id)
    if job is None:
        return False
    task = job.tasks.get(planned.task_id)
    return task.waits if task is not None else planned.task_id in job.pending


def _planned(state: State, one: JobReservation) -> tuple[str, float, float, Iterator[Booking]]:
    """For whom it is, from when to when, and all that it keeps."""
    job = state.jobs[one.job_id]
    of_instances = bookings_of(one.granted, state.amounts(one.resources), one.pe)
    under_quotas = state.quotas.bookings_of(job, one.granted, one.pe, one.resources)
    return f"job {job.label(one.task_id)}", one.start_time, one.end_time, chain(of_instances, under_quotas)


def peak(spans: Iterable[Span], start: float, end: float) -> float:
    """The largest sum of amounts at any moment from `start` until before `end`."""
    level = 0.0
    steps: list[tuple[float, float]] = []
    for begin, over, amount in spans:
        if begin >= end or over <= start:
            continue
        if begin <= start:
            level += amount
        else:
            steps.append((begin, amount))
        if over < end:
            steps.append((over, -amount))
    most = level
    for _, change in sorted(steps):  # at one moment what ends goes before what begins: its amount is negative
        level += change
        most = max(most, level)
    return most


def above(spans: Iterable[Span], capacity: float) -> list[Span]:
    """When the sum of amounts is larger than a capacity, and the sum: spans in order."""
    steps = sorted(step for begin, over, amount in spans for step in ((begin, amount), (over, -amount)))
    found: list[Span] = []
    level = 0.0
    for (moment, change), (following, _) in pairwise(steps):
        level += change
        if level > capacity and following > moment:
            found.append((moment, following, level))
    return found
