"""Verify: can a job run at all (-w e|w|v), can it run now (-w p), and why is it pending (qstat -j)?

Owns these three questions for one job; the scheduler applies the same rules to all jobs at once. Source:
sge_submit(1) -w, SO-41; qstat(1) -j.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, tzinfo

from gridengine.placement.access import user_sets_of
from gridengine.placement.calendar_windows import CalendarWindows
from gridengine.placement.config_snapshot import PlacementConfig, bookings_of_units
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import static_refusal, use_refusal
from gridengine.placement.obstacles import obstacle
from gridengine.placement.pending import waiting_reason
from gridengine.placement.placement_request import CategoryKey, Request, category_key
from gridengine.placement.reasons import Reason
from gridengine.placement.reserved import place_reserved, reservation_waits, reserved_request
from gridengine.placement.spread import Candidates, place_parallel
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import Grant, Job, Task
from gridengine.state.state import State

FOUND = "verification: found suitable queue(s)"
NOT_FOUND = "verification: no suitable queues"


class Verifier:
    """Answers for any number of jobs at one moment: configuration and time line are read once.

    assume_empty: nothing runs, every instance is open, only static load values are known (-w e|w|v); else the cluster as it
    is (-w p). now: epoch seconds, from when on reservations count; zone: of calendars. reservations: whether they count.
    """

    def __init__(
        self, state: State, assume_empty: bool, now: float = 0.0, zone: tzinfo = UTC, reservations: bool = True
    ) -> None:
        self.state, self.assume_empty, self.now = state, assume_empty, now
        self.config_snapshot = PlacementConfig.of(state)
        self._timeline = Timeline(state, now, tasks=not assume_empty) if state.reservations and reservations else None
        looks_ahead = not assume_empty and state.scheduler.max_reservation > 0
        self._windows = CalendarWindows(state, now, zone, state.scheduler.duration_offset_s) if looks_ahead else None
        self._plan: tuple[int, Timeline] | None = None
        self._closed: dict[str, Reason | None] = {}

    def verify(
        self, job: Job, ended: Iterable[tuple[Job, Task]] = (), among: Container[str] | None = None
    ) -> tuple[list[Grant], list[Reason]]:
        """The grants for a task of the job ([] if none), and the refusals of other instances.

        Holds, dependencies and times are not checked. A job in a reservation has to fit inside it (AR-87).
        `ended`: running tasks, each with its job, that are assumed to have ended. `among`: only these instances are checked.
        """
        config_snapshot, state = self.config_snapshot, self.state
        ledger = Ledger(state, empty=self.assume_empty)
        for other, task in ended:
            self._release(ledger, other, task)
        if job.ar in state.reservations:
            reservation = state.reservations[job.ar]
            inside = config_snapshot.within(reservation)
            request = reserved_request(inside, reservation, job)
            granted, _, refusals = place_reserved(inside, reservation, ledger.within(job.ar), request)
            return granted, refusals
        ledger = ledger.looking_ahead(self._reserved_for_others(job))
        request = Request.of(config_snapshot, job)
        suiting: list[str] = []
        reasons: dict[Reason, None] = {}
        for name in sorted(state.instances):
            if among is not None and name not in among:
                continue
            refusal = self._static_refusal(ledger, request, name)
            if refusal is None:
                suiting.append(name)
            else:
                reasons[refusal] = None
        if request.parallel:
            why_not: list[Reason] = []
            granted, _ = place_parallel(config_snapshot, ledger, request, Candidates.of(suiting), why_not)
            return granted, [*reasons, *why_not]
        granted = []
        for name in suiting:
            refusal = use_refusal(config_snapshot, ledger, request, name)
            if refusal is None:
                granted = granted or [Grant(name, 1)]
            else:
                reasons[refusal] = None
        return granted, list(reasons)

    def suiting(self, job: Job) -> set[str]:
        """The instances that could run the job by configuration and load, even if in use."""
        ledger, request = Ledger(self.state, empty=self.assume_empty), Request.of(self.config_snapshot, job)
        return {name for name in self.state.instances if static_refusal(self.config_snapshot, ledger, request, name) is None}

    def fits(self, job: Job) -> bool:
        """Whether a task of the job could run at all. Stops at the first suitable instance if a single instance is enough."""
        if job.ar in self.state.reservations or job.pe or job.allocation_rule:
            return bool(self.verify(job)[0])
        ledger = Ledger(self.state, empty=self.assume_empty).looking_ahead(self._reserved_for_others(job))
        request = Request.of(self.config_snapshot, job)
        return any(
            self._static_refusal(ledger, request, name) is None
            and use_refusal(self.config_snapshot, ledger, request, name) is None
            for name in self.state.instances
        )

    def _static_refusal(self, ledger: Ledger, request: Request, name: str) -> Reason | None:
        """Return the reason why an instance does not match the request, even if nothing else runs there."""
        refusal = self._obstacle(name) or static_refusal(self.config_snapshot, ledger, request, name)
        return refusal or self._off_time(name, request)

    def _release(self, ledger: Ledger, job: Job, task: Task) -> None:
        ledger.charge(self.state.bookings_of(task), -1)
        ledger.charge(bookings_of_units(self.config_snapshot, task.units), -1)
        ledger.charge(self.state.quotas.bookings_of(job, task.granted, task.pe, task.resources), -1)

    def _reserved_for_others(self, job: Job) -> Timeline | None:
        """The time line with all reservations that block the job; with -w v without the reservations of pending jobs."""
        if self.assume_empty or not self.state.job_reservations:
            return self._timeline
        if self._plan is None or self._plan[0] != job.id:
            self._plan = job.id, Timeline(self.state, self.now, planned=True, but=job.id)
        return self._plan[1]

    def _off_time(self, name: str, request: Request) -> Reason | None:
        """The refusal if the calendar closes an instance before the job would end (CA-8)."""
        config = self.state.configs[name]
        if self._windows is None or self._windows.is_on_during(config, request.duration):
            return None
        return Reason("off_time", name, other=config.calendar)

    def _obstacle(self, name: str) -> Reason | None:
        """Return the reason why an instance is closed for all jobs; cached."""
        if self.assume_empty:
            return None
        if name not in self._closed:
            self._closed[name] = obstacle(self.config_snapshot, Ledger(self.state), self.state.instances[name])
        return self._closed[name]

    def explain(self, job: Job) -> list[Reason]:
        """Explain why a job is pending now: the `scheduling info` of qstat -j. [] if it could start.

        Computed on request, so it is never older than the state.
        """
        waiting = waiting_reason(self.state, job, self.now)
        if waiting is None and job.ar:
            waiting = reservation_waits(self.state, job)
        if waiting is not None:
            return [waiting]
        granted, reasons = self.verify(job)
        return [] if granted else reasons


def verify(
    state: State, job: Job, assume_empty: bool, now: float = 0.0, zone: tzinfo = UTC
) -> tuple[list[Grant], list[Reason]]:
    """One question of a `Verifier`."""
    return Verifier(state, assume_empty, now, zone).verify(job)


def verification(
    state: State, job: Job, assume_empty: bool, now: float = 0.0, zone: tzinfo = UTC
) -> tuple[bool, list[str]]:
    """Whether a suitable instance exists, and the lines to print for -w v or p: the reasons if there is none, and the verdict."""
    granted, reasons = verify(state, job, assume_empty, now, zone)
    return bool(granted), [FOUND] if granted else [*(f"Job {job.id} {reason.text}" for reason in reasons), NOT_FOUND]


def explain(state: State, job: Job, now: float, zone: tzinfo = UTC) -> list[Reason]:
    """One explanation of a `Verifier`."""
    return Verifier(state, False, now, zone).explain(job)


def explain_all(state: State, now: float, zone: tzinfo) -> dict[Reason, list[int]]:
    """Explain why jobs are pending: each reason with the numbers of its jobs.

    Jobs that placement cannot distinguish have the same reasons, so these are computed once.
    """
    verifier = Verifier(state, False, now, zone)
    known: dict[CategoryKey, list[Reason]] = {}
    found: dict[Reason, list[int]] = {}
    for job in state.jobs.values():
        if not job.waits:
            continue
        waiting = waiting_reason(state, job, now)
        reasons = [waiting] if waiting is not None else None
        if reasons is None:
            key = category_key(state, user_sets_of(state, job.owner, job.group), job)
            reasons = known.get(key)
            if reasons is None:
                reasons = known[key] = verifier.explain(job)
        for reason in reasons:
            found.setdefault(reason, []).append(job.id)
    return found
