"""The resource time line: the amount of a consumable of a holder in use at any moment from now on.

Owns the bookings over time of running jobs, advance reservations and reservations of pending jobs: jobs until their run time
limit or forever, reservations for their window; and the additions of a scheduling cycle. Must not know capacities. Called by
the qmaster when it grants reservations, and through the ledger wherever a job is placed, so that neither overbooks the other:
a job gets only resources that no reservation needs while it would run (backfilling).
Source: AR-38 … AR-43, AR-52; sge_sched_conf(5) DURATION_OFFSET, default_duration, max_reservation; SC-7 … SC-9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise

from gridengine.placement.config_snapshot import PlacementConfig, bookings_of_units
from gridengine.placement.unit_classes import MARK
from gridengine.placement.values import typed_value
from gridengine.state.bookings import Booking, Holder, bookings_of, holders_at
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import Job, Task
from gridengine.state.reservations import AdvanceReservation, JobReservation, Span
from gridengine.state.state import State
from gridengine.values.units import INFINITY

LINGER_S = 60.0
"""Time for which an ending reservation is assumed to hold its slots: its jobs are being killed."""

_NO_SPANS: dict[str, dict[int, Span]] = {}


def run_time_limit(hard: Mapping[str, str]) -> float:
    """Seconds that a job may run by its own -l h_rt or s_rt; infinite without them."""
    limits = [float(typed_value("TIME", hard[name])) for name in ("h_rt", "s_rt") if hard.get(name)]
    return min(limits, default=INFINITY)


def run_time(hard: Mapping[str, str], scheduler: SchedulerConfiguration) -> float:
    """Assumed maximum run time in seconds of a job with these requests: its limit, else default_duration (AR-42)."""
    limit = run_time_limit(hard)
    return limit if limit != INFINITY else scheduler.default_duration_s


class Timeline:
    """Use from `now` (epoch s) on. `tasks=False`: as if nothing ran (-w e|v). `without`: a reservation to leave out.

    `planned`: include the job reservations of the last scheduling run (AR-52), except the reservations of the job `but`;
    the scheduler itself plans them again in each run.
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
        self._irregular = {number for number, each in state.reservations.items() if each.ending} | {without}
        for each in state.job_reservations if planned else ():
            if each.job_id != but and is_still_waiting(state, each):
                self.reserve(*_planned(state, each))

    # --- additions -----------------------------------------------------------------------------------------

    def run_for(self, duration: float) -> float:
        """Seconds that a job of this duration holds its slots."""
        return duration + self.offset

    def add(self, begin: float, end: float, bookings: Iterable[Booking], sign: int = 1) -> None:
        """Add bookings from `begin` to `end` (epoch s), or (`sign` -1) remove them."""
        for holder, amounts in bookings:
            spans = (self._spans if holder in self._spans else self._added).setdefault(holder, {})
            for name, amount in amounts.items():
                spans.setdefault(name, []).append((begin, end, sign * amount))
        if end < INFINITY:
            self._added_ends.add(end)

    def reserve(self, label: str, begin: float, end: float, bookings: Iterable[Booking]) -> None:
        """Reserve these bookings for a pending job (`label`)."""
        bookings = list(bookings)
        self.add(begin, end, bookings)
        self._reserved_names.update((holder, name) for holder, amounts in bookings for name in amounts)
        for holder in dict.fromkeys(holder for holder, _ in bookings):
            self._reserved.setdefault(holder, []).append((begin, end, label))

    # --- queries -------------------------------------------------------------------------------------------

    def peak(self, holder: Holder, name: str, start: float, end: float) -> float:
        """The greatest amount of a consumable in use at any moment from `start` until before `end`."""
        return peak(self._at(holder).get(name, ()), start, end)

    def above(self, holder: Holder, name: str, capacity: float) -> list[Span]:
        """Spans in which more than a capacity is in use, with the amount."""
        return above(self._at(holder).get(name, ()), capacity)

    def is_reserved(self, holder: Holder, name: str = "slots") -> bool:
        """Return whether a reservation of any kind holds some of a consumable; a reservation always holds slots, too."""
        held = self.state.reserved.spans.get(holder, _NO_SPANS)
        return name in held or (holder, name) in self._reserved_names or (MARK in name and bool(held))

    def reservations_of(self, holder: Holder) -> Iterator[tuple[float, float, str]]:
        """Yield (begin, end, label) of the reservations of a holder; times in epoch seconds."""
        for number in self.state.reserved.slots(holder):
            yield *self.window(self.state.reservations[number]), f"advance reservation {number}"
        yield from self._reserved.get(holder, ())

    def window(self, reservation: AdvanceReservation) -> tuple[float, float]:
        """Begin and end (epoch s) of the time in which a reservation holds its slots."""
        end = self.now + LINGER_S if reservation.ending else reservation.end_time
        return reservation.holds_from, end

    def end_of(self, job: Job, task: Task) -> float:
        """The latest end of a running task (epoch s); infinite without a limit. Overdue tasks end in a second."""
        limit = run_time_limit(job.hard)
        end = task.start_time + (self._default if limit == INFINITY else limit) + self.offset
        return max(end, self.now + 1.0)

    def ends(self) -> set[float]:
        """The end times of running jobs with a limit, reservations and additions."""
        if self._ends is None:
            running = (self.end_of(job, task) for job, task in self._tasks_outside_reservations())
            windows = (self.window(each)[1] for each in self.state.reservations.values())
            self._ends = {end for end in chain(running, windows) if end < INFINITY}
        return self._ends | self._added_ends

    def occupants(self, instance: str, start: float, end: float) -> list[tuple[str, float]]:
        """Reservations and jobs with slots of a queue instance within a window, and their ends (epoch s, or infinite)."""
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
            if held and self.state.kind("host_units"):
                self._add_reserved_units(holder, found)
            for name, added in self._added.pop(holder, {}).items():
                found.setdefault(name, []).extend(added)
            if self._tasks and self.state.jobs:
                for end, name, amount in self._running(holder):
                    found.setdefault(name, []).append((self.now, end, amount))
        return found

    def _add_reserved_units(self, holder: Holder, found: dict[str, list[Span]]) -> None:
        """Add the units that reservations hold, by class."""
        config_snapshot = PlacementConfig.of(self.state)
        for number in self.state.reserved.slots(holder):
            reservation = self.state.reservations[number]
            for of, amounts in bookings_of_units(config_snapshot, reservation.units if number != self._without else ()):
                for name, amount in amounts.items() if of == holder else ():
                    found.setdefault(name, []).append((*self.window(reservation), amount))

    def _in_force(self, spans: dict[int, Span]) -> Iterable[Span]:
        """The spans without the excluded reservation; the spans of an ending reservation last until its jobs are killed."""
        if self._irregular.isdisjoint(spans):
            return spans.values()
        windows = {number: self.window(self.state.reservations[number]) for number in spans if number != self._without}
        return [(*window, spans[number][2]) for number, window in windows.items()]

    def _running(self, holder: Holder) -> Iterable[tuple[float, str, float]]:
        """(end, consumable, amount) of the bookings of running tasks in a holder."""
        if holder.kind != "quota":
            return self._of_tasks(holder)
        if self._under_quotas is None:  # one pass over the tasks serves all rules
            self._under_quotas = {}
            for job, task in self._tasks_outside_reservations() if self.state.quotas.sets else ():
                end = self.end_of(job, task)
                for bucket, amounts in self.state.quotas.bookings_of(job, task.granted, task.pe, task.resources):
                    spans = self._under_quotas.setdefault(bucket, [])
                    spans += ((end, name, amount) for name, amount in amounts.items())
        return self._under_quotas.get(holder, ())

    def _of_tasks(self, holder: Holder) -> Iterator[tuple[float, str, float]]:
        config_snapshot = PlacementConfig.of(self.state)
        for job, task in self._tasks_outside_reservations(holder):
            sums: dict[str, float] = {}
            for of, amounts in chain(self.state.bookings_of(task), bookings_of_units(config_snapshot, task.units)):
                if of == holder:
                    for name, amount in amounts.items():
                        sums[name] = sums.get(name, 0.0) + amount
            if sums:
                end = self.end_of(job, task)
                yield from ((end, name, amount) for name, amount in sums.items())

    def _tasks_outside_reservations(self, holder: Holder | None = None) -> Iterator[tuple[Job, Task]]:
        """Tasks outside of reservations that may have bookings in a holder: those inside are covered by the bookings of the
        reservation."""
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
    """Whether the task of a job reservation is still pending."""
    job = state.jobs.get(planned.job_id)
    if job is None:
        return False
    task = job.tasks.get(planned.task_id)
    return task.waits if task is not None else planned.task_id in job.pending


def _planned(state: State, planned: JobReservation) -> tuple[str, float, float, Iterator[Booking]]:
    """Label, begin, end and bookings of a job reservation."""
    job = state.jobs[planned.job_id]
    of_instances = chain(
        bookings_of(planned.granted, state.amounts(planned.resources), planned.pe),
        bookings_of_units(PlacementConfig.of(state), planned.units),
    )
    under_quotas = state.quotas.bookings_of(job, planned.granted, planned.pe, planned.resources)
    return f"job {job.label(planned.task_id)}", planned.start_time, planned.end_time, chain(of_instances, under_quotas)


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
    for _, change in sorted(steps):  # at one moment ends come before begins: their amount is negative
        level += change
        most = max(most, level)
    return most


def above(spans: Iterable[Span], capacity: float) -> list[Span]:
    """Spans in which the sum of amounts exceeds a capacity, with the sum, in order."""
    steps = sorted(step for begin, over, amount in spans for step in ((begin, amount), (over, -amount)))
    found: list[Span] = []
    level = 0.0
    for (moment, change), (following, _) in pairwise(steps):
        level += change
        if level > capacity and following > moment:
            found.append((moment, following, level))
    return found
