"""The resource time line: how much of a consumable is in use at an object at any moment from now on.

Owns what running jobs, advance reservations and, if asked for, reservations of waiting jobs hold, and for how long: jobs
until their run time limit or for ever, reservations for their window. Objects are queue instances, hosts, the cluster
("global") and parallel environments. Must not know capacities. Called by the qmaster when it grants reservations, and
through the ledger wherever a job is placed, so that both keep away from each other in both directions.
Source: AR-38 … AR-43, AR-52; sge_sched_conf(5) DURATION_OFFSET, default_duration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from gridengine.placement.values import typed_value
from gridengine.state.bookings import GLOBAL, Bookings, pe_key, pe_of
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import Job, Task
from gridengine.state.quotas import Bucket
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
    """What is in use from `now` on. `tasks=False`: as if nothing ran (-w e|v). `without`: a reservation to leave out.
    `planned`: also what the scheduler keeps free for waiting jobs (AR-52); its own runs plan that anew."""

    def __init__(
        self, state: State, now: float, tasks: bool = True, without: int = 0, planned: bool = False
    ) -> None:
        self.state = state
        self.now = now
        self.offset = state.scheduler.duration_offset_s
        self._default = state.scheduler.default_duration_s
        self._tasks = tasks
        self._without = without
        self._spans: dict[str, dict[str, list[Span]]] = {}
        self.planned = [one for one in state.job_reservations if still_waits(state, one)] if planned else []
        self._planned: dict[str, dict[str, list[Span]]] = {}
        for one in self.planned:
            held = Bookings()
            held.book(one.granted, one.resources, one.pe, state.per_job)
            for where, name, amount in held.amounts():
                span = (one.start_time, one.end_time, amount)
                self._planned.setdefault(where, {}).setdefault(name, []).append(span)
        self._quotas: dict[Bucket, dict[str, list[Span]]] | None = None
        self._irregular = {number for number, one in state.reservations.items() if one.ending} | {without}

    def peak(self, where: str, name: str, start: float, end: float) -> float:
        """The most that is in use of a consumable at an object at any moment from `start` until before `end`."""
        return peak(self._at(where).get(name, ()), start, end)

    def pe_peak(self, pe: str, start: float, end: float) -> float:
        """The same for the slots of a parallel environment."""
        return self.peak(pe_key(pe), "slots", start, end)

    def above(self, where: str, name: str, capacity: float) -> list[Span]:
        """When more than a capacity is in use, and how much: spans of one amount each."""
        return above(self._at(where).get(name, ()), capacity)

    def ahead(self, where: str, name: str, duration: float, used: float) -> float:
        """How much more than `used` now a job of this duration has to leave alone while it would run."""
        if not (self.touches(where) if where != GLOBAL else self.touches_cluster(name)):
            return 0.0  # running jobs only ever give back
        return max(0.0, self.peak(where, name, self.now, self.now + duration + self.offset) - used)

    def pe_ahead(self, pe: str, duration: float, used: float) -> float:
        """The same for the slots of a parallel environment."""
        if not self.touches(pe_key(pe)):
            return 0.0
        return max(0.0, self.pe_peak(pe, self.now, self.now + duration + self.offset) - used)

    def quota_peak(self, bucket: Bucket, name: str, start: float, end: float) -> float:
        """As `peak`, under a rule of a resource quota set."""
        return peak(self._under_quotas().get(bucket, {}).get(name, ()), start, end)

    def quota_ahead(self, bucket: Bucket, name: str, duration: float, used: float) -> float:
        """As `ahead`, under a rule of a resource quota set: reservations are outside of them (RQ-8)."""
        return 0.0

    def keepers(self, host: str) -> Iterator[tuple[float, float, str]]:
        """(begin, end, who) of what is kept for later on a host, "" for anywhere; in epoch seconds."""
        for number in self.state.reserved.of_host.get(host, ()) if host else self.state.reservations:
            yield *self.window(self.state.reservations[number]), f"advance reservation {number}"

    def touches(self, where: str) -> bool:
        """Whether a reservation holds anything at an instance or a host."""
        return where in self.state.reserved.spans

    def touches_cluster(self, name: str) -> bool:
        """Whether a reservation holds anything of a consumable of the cluster."""
        return name in self.state.reserved.spans.get(GLOBAL, _NO_SPANS)

    def window(self, reservation: AdvanceReservation) -> tuple[float, float]:
        """When a reservation holds its slots."""
        end = self.now + LINGER_S if reservation.ending else reservation.end_time
        return reservation.holds_from, end

    def end_of(self, job: Job, task: Task) -> float:
        """When a running task has surely given back its slots; infinite without a limit. Overdue ones end next."""
        limit = run_time_limit(job.hard)
        end = task.start_time + (self._default if limit == INFINITY else limit) + self.offset
        return max(end, self.now + 1.0)

    def ends(self) -> Iterator[float]:
        """When running jobs with a limit and reservations end."""
        state = self.state
        for reservation in state.reservations.values():
            yield self.window(reservation)[1]
        yield from (one.end_time for one in self.planned)
        for job in state.jobs.values():
            if job.ar not in state.reservations:
                yield from (self.end_of(job, task) for task in job.tasks.values() if task.granted)

    def holders(self, where: str, start: float, end: float) -> list[tuple[str, float]]:
        """Who holds anything at an instance within a window, and until when (epoch s, infinite for no limit)."""
        state, found = self.state, list[tuple[str, float]]()
        for number in sorted(state.reserved.of_instance.get(where, ())):
            begin, over = self.window(state.reservations[number])
            if begin < end and over > start:
                found.append((f"advance reservation {number}", over))
        for job_id, task_id in sorted(state.tasks_in.get(where, ())):
            job = state.jobs[job_id]
            over = self.end_of(job, job.tasks[task_id])
            if job.ar not in state.reservations and over > start:
                found.append((f"job {job.label(task_id)}", over))
        for one in self.planned:
            if any(grant.instance == where for grant in one.granted) and one.start_time < end and one.end_time > start:
                found.append((f"waiting job {state.jobs[one.job_id].label(one.task_id)} (-R y)", one.end_time))
        return found

    # --- spans -------------------------------------------------------------------------------------------

    def _at(self, where: str) -> dict[str, list[Span]]:
        found = self._spans.get(where)
        if found is None:
            held = self.state.reserved.spans.get(where, _NO_SPANS)
            found = self._spans[where] = {name: list(self._in_force(spans)) for name, spans in held.items()}
            if where in self._planned:
                for name, planned in self._planned[where].items():
                    found.setdefault(name, []).extend(planned)
            if self._tasks and self.state.jobs:
                for end, amounts in self._running(where):
                    for name, amount in amounts:
                        found.setdefault(name, []).append((self.now, end, amount))
        return found

    def _under_quotas(self) -> dict[Bucket, dict[str, list[Span]]]:
        """What running tasks use under resource quotas, and until when; read once."""
        if self._quotas is None:
            self._quotas = {}
            book = self.state.quotas
            for job in self.state.jobs.values() if book.sets and self._tasks else ():
                for task in job.tasks.values():
                    for bucket, name, amount in book.uses(job, task.granted, task.pe, task.resources):
                        span = (self.now, self.end_of(job, task), amount)
                        self._quotas.setdefault(bucket, {}).setdefault(name, []).append(span)
        return self._quotas

    def _in_force(self, spans: dict[int, Span]) -> Iterable[Span]:
        """Without the reservation that is left out, and those that are ending as long as their jobs may linger."""
        if self._irregular.isdisjoint(spans):
            return spans.values()
        windows = {number: self.window(self.state.reservations[number]) for number in spans if number != self._without}
        return [(*window, spans[number][2]) for number, window in windows.items()]

    def _running(self, where: str) -> Iterator[tuple[float, Iterator[tuple[str, float]]]]:
        """(end, amounts) of tasks outside of reservations: those inside are covered by what the reservation holds."""
        state = self.state
        pe = pe_of(where)
        if where == GLOBAL or pe:
            keys: Iterable[tuple[int, int]] = (
                (job.id, task.id)
                for job in state.jobs.values()
                for task in job.tasks.values()
                if task.granted and (not pe or task.pe == pe)
            )
        else:
            keys = (state.tasks_in if "@" in where else state.tasks_on).get(where, ())
        for job_id, task_id in keys:
            job = state.jobs[job_id]
            if job.ar not in state.reservations:
                task = job.tasks[task_id]
                yield self.end_of(job, task), _amounts(state, task, where)


def still_waits(state: State, planned: JobReservation) -> bool:
    """Whether the task that this is meant for is still to be started."""
    job = state.jobs.get(planned.job_id)
    if job is None:
        return False
    task = job.tasks.get(planned.task_id)
    return task.status == "pending" if task is not None else planned.task_id in job.pending


def _amounts(state: State, task: Task, where: str) -> Iterator[tuple[str, float]]:
    """What a task holds of an object; a JOB consumable is held where its master runs."""
    pe = pe_of(where)
    slots, has_master = 0, False
    for position, grant in enumerate(task.granted):
        if pe or where in (GLOBAL, grant.instance, grant.host):
            slots += grant.slots
            has_master = has_master or not position
    yield "slots", float(slots)
    for name, text in () if pe else task.resources.items():
        if state.per_job(name):
            if has_master:
                yield name, float(text)
        else:
            yield name, float(text) * slots


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
