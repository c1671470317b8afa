"""Order: the priority of a job term by term, the jobs before it, and changes of its place.

Owns the terms of sge_priority(5) with the numbers put in. The figures are the scheduler's (`daemons.schedd.survey.ranked_jobs`).
Pure. Called by `answers`. Source: sge_priority(5); PR-1 … PR-9.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import Any

from msgspec.structs import replace

from daemons.forecast.tickets_explained import ticket_texts
from daemons.schedd.priorities import Weights, prioritise
from daemons.schedd.survey import RankedJob
from gridengine.placement.urgency import assumed_slots, deadline_urgency, demand_urgency, finite, waiting_urgency
from gridengine.state.jobs import Job
from gridengine.state.state import State

NEAREST = 3
"""Jobs before a job that are shown, the nearest."""
FIRST = 20
"""Jobs of the whole order that are shown."""
HIGHEST_OF_USERS, HIGHEST = 0, 1023
TERMS = ("priority", "urgency", "tickets")


class Order:
    """The jobs of one moment (`ranked_jobs`, pending jobs first) with their figures. now: epoch seconds."""

    def __init__(self, state: State, ranked_jobs: list[RankedJob], now: float) -> None:
        self.state, self.now, self.weights = state, now, Weights(state.scheduler)
        self.ranked_jobs = ranked_jobs
        self.pending = [each for each in ranked_jobs if each.is_pending]
        self._at = {each.job.id: index for index, each in enumerate(ranked_jobs)}
        urgencies = [self._total_urgency(each) for each in ranked_jobs]
        self._least, self._greatest = min(urgencies, default=0.0), max(urgencies, default=0.0)
        self._most_tickets = max((sum(each.tickets) for each in ranked_jobs), default=0.0)

    def overview(self) -> dict[str, Any]:
        """The weights, and the first pending jobs in order."""
        scheduler = self.state.scheduler
        weights = {"priority": self.weights.priority, "urgency": self.weights.urgency, "tickets": self.weights.ticket}
        rows = [self._row(each, place) for place, each in enumerate(self.pending[:FIRST], start=1)]
        policies: dict[str, Any] = {"functional": scheduler.weight_tickets_functional, "share": scheduler.weight_tickets_share}
        policies |= {"hierarchy": scheduler.policy_hierarchy}
        return {"weights": weights, "tickets": policies, "pending": len(self.pending), "first": rows}

    def of_job(self, number: int) -> dict[str, Any] | None:
        """The figures of a job; None for a job that takes no part."""
        if number not in self._at:
            return None
        ranked = self.ranked_jobs[self._at[number]]
        place = self._at[number] + 1 if ranked.is_pending else 0
        urgency = self._total_urgency(ranked)
        before = self.pending[: place - 1] if place else []
        return {
            **self._row(ranked, place),
            "of": len(self.pending),
            "terms": [*self._terms(ranked, urgency)],
            "urgency": {"total": urgency, "texts": [*self._urgency_texts(ranked)]},
            "tickets": {**ranked.tickets._asdict(), "total": sum(ranked.tickets)}
            | {"texts": ticket_texts(self.state, ranked, self.ranked_jobs, self.now)},
            "before": [self._before(ranked, other) for other in reversed(before[-NEAREST:])],
            "before_count": len(before),
            "changes": [*self._changes(ranked, place)] if place else [],
        }

    def _row(self, ranked: RankedJob, place: int) -> dict[str, Any]:
        job, priority = ranked.job, ranked.priority
        parts = dict(zip(TERMS, self._parts(ranked), strict=True))
        return {"id": job.id, "name": job.name, "owner": job.owner, "place": place, "priority": priority[0], "parts": parts}

    def _parts(self, ranked: RankedJob) -> tuple[float, float, float]:
        _, npprior, nurg, ntckts = ranked.priority
        return self.weights.priority * npprior, self.weights.urgency * nurg, self.weights.ticket * ntckts

    def _terms(self, ranked: RankedJob, urgency: float) -> Iterator[dict[str, Any]]:
        """The three terms, each with its formula."""
        _, npprior, nurg, ntckts = ranked.priority
        tickets, equal = sum(ranked.tickets), "0.5, since all jobs have the same"
        by_urgency = f"({urgency:g} - {self._least:g}) / ({self._greatest:g} - {self._least:g})"
        formulas = (
            f"({ranked.job.priority} + 1024) / 2048",
            by_urgency if self._greatest > self._least else equal,
            f"{tickets:g} / {self._most_tickets:g}" if self._most_tickets > 0 else "0.5, since no job has tickets",
        )
        weights = (self.weights.priority, self.weights.urgency, self.weights.ticket)
        rows = zip(TERMS, (npprior, nurg, ntckts), weights, self._parts(ranked), formulas, strict=True)
        names = ("term", "value", "weight", "part", "formula")
        yield from (dict(zip(names, row, strict=True)) for row in rows)

    def _total_urgency(self, ranked: RankedJob) -> float:
        return finite(ranked.category.urgency + self._waiting(ranked.job) + self._deadline(ranked.job))

    def _waiting(self, job: Job) -> float:
        return waiting_urgency(self.weights.waiting_time, job.submit_time, self.now)

    def _deadline(self, job: Job) -> float:
        return deadline_urgency(self.weights.deadline, job.deadline, self.now)

    def _urgency_texts(self, ranked: RankedJob) -> Iterator[str]:
        """A text for each contribution to the urgency of a job."""
        job, request, weights = ranked.job, ranked.category.request, self.weights
        slots = assumed_slots(self.state, request)
        entry = self.state.complexes.get("slots")
        if entry is not None and entry.urgency:
            yield f"slots: {entry.urgency:g} x {slots} slots = {finite(entry.urgency * slots):g}"
        for demand in (*request.hard, *request.hosts):
            amount = demand_urgency(demand, slots)
            if amount and demand.name != "slots":
                yield f"{demand.name}={demand.text}: urgency {demand.entry.urgency:g} of the resource = {amount:g}"
        if waiting := self._waiting(job):
            waited = self.now - job.submit_time
            yield f"waiting time: weight_waiting_time {weights.waiting_time:g} x {waited:.0f} s = {waiting:g}"
        if deadline := self._deadline(job):
            left = max(1.0, job.deadline - self.now)
            yield f"deadline: weight_deadline {weights.deadline:g} / {left:.0f} s = {deadline:g}"

    def _before(self, own: RankedJob, other: RankedJob) -> dict[str, Any]:
        """A job before the own job, and the term that makes the difference."""
        differences = [theirs - mine for theirs, mine in zip(self._parts(other), self._parts(own), strict=True)]
        most = max(differences)
        is_equal = other.priority[0] == own.priority[0]
        term = "submission" if is_equal else TERMS[differences.index(most)]
        row = {"id": other.job.id, "name": other.job.name, "owner": other.job.owner, "priority": other.priority[0]}
        return row | {"term": term, "difference": 0.0 if is_equal else most}

    # --- what would change it ------------------------------------------------------------------------------------

    def _changes(self, own: RankedJob, place: int) -> Iterator[dict[str, Any]]:
        """Values of -p that give a better place. An owner may set at most 0, an operator each value."""
        tried: set[int] = set()
        candidates = [(HIGHEST_OF_USERS, "owner"), *((value, "operator") for value in self._enough(own))]
        for value, by in candidates:
            if value <= own.job.priority or value in tried:
                continue
            tried.add(value)
            then = self._place_by(own, value)
            if then < place:
                yield {"options": f"-p {value}", "place": then, "by": by}

    def _enough(self, own: RankedJob) -> Iterator[int]:
        """The least -p by which the job is first, if any."""
        if self.weights.priority > 0 and self.pending[0].job.id != own.job.id:
            gap = (self.pending[0].priority[0] - own.priority[0]) * 2048 / self.weights.priority
            value = floor(own.job.priority + gap) + 1
            if HIGHEST_OF_USERS < value <= HIGHEST:
                yield value

    def _place_by(self, own: RankedJob, value: int) -> int:
        """The place of the job with a different -p, by the scheduler's own computation over all jobs."""
        jobs = [each.job if each is not own else replace(own.job, priority=value) for each in self.ranked_jobs]
        pairs = [(job, each.category) for job, each in zip(jobs, self.ranked_jobs, strict=True)]
        priorities = prioritise(self.weights, pairs, [sum(each.tickets) for each in self.ranked_jobs], self.now)
        changed = [each._replace(priority=priority) for each, priority in zip(self.ranked_jobs, priorities, strict=True)]
        pending = sorted((each for each in changed if each.is_pending), key=lambda each: each.rank)
        return next(place for place, each in enumerate(pending, start=1) if each.job.id == own.job.id)
