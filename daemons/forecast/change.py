"""Change: the effects of a change of the configuration on queue instances, jobs and reservations as they are now.

Owns the comparison of the state as it stays with the state after the change, and the bounds of the answer. Pure but for the
processor time that bounds two parts. Called by `answers`. Shapes: docs/gdi.md. Source: adr/0335.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from daemons.forecast.copies import OnCopy
from daemons.forecast.moment import Moment
from daemons.forecast.start import ForecastBasis, StartForecast
from daemons.qmaster.rules.following import FOLLOWERS
from daemons.simulator.virtual_master import VirtualMaster
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.state.state_codes import running_state_codes

Row = dict[str, Any]
FIRST = 10
"""Rows of each list in an answer; all rows are counted."""
_STARTS = ("expected", "earliest", "latest")
_TIMES = (*_STARTS, "later_than")
LONGEST_CPU_S = 2.0
"""Processor time for the question which pending jobs could ever start, in seconds."""


class ChangeEffects:
    """The effects of `events` at the time of the `basis`. `make_state()`: a new copy of the state without them."""

    def __init__(self, make_state: Callable[[], State], events: Sequence[AnyEvent], basis: ForecastBasis) -> None:
        self._basis, now, zone = basis, basis.now, basis.zone
        self.before = Moment(make_state(), now, zone)
        changed = VirtualMaster(make_state(), now, zone, FOLLOWERS)
        changed.record_events(*events)
        self.after = Moment(changed.state, now, zone)

    def all(self, copies_of: Callable[[State], OnCopy] | None = None) -> dict[str, Any]:
        """All effects, by kind: `count` and the `first` rows. `copies_of`: also forecast the starts of the first jobs, by runs on
        copies of both states."""
        could, never, examined = self._ever()
        data: dict[str, Any] = {"pending": sum(job.waits for job in self.before.state.jobs.values()), "examined": examined}
        data["instances"] = _bounded(self._instances())
        data["starting"] = _bounded(self._starts(1))
        data["waiting"] = _bounded(self._starts(-1), self._why_now)
        data["possible"], data["impossible"] = _bounded(could), _bounded(never, self._why_never)
        data["running"] = _bounded(self._running())
        data["reservations"], data["planned"] = _bounded(self._reservations()), _bounded(self._planned())
        data["order"] = _bounded(self._order())
        if copies_of is not None:
            data["expected"] = _bounded(self._expected(copies_of))
        return data

    # --- queue instances and reservations ------------------------------------------------------------------------

    def _instances(self) -> Iterator[Row]:
        """Queue instances by their state codes before and after (None: there is no such instance), with their tasks."""
        before, after = self.before.codes, self.after.codes
        groups: dict[tuple[str | None, str | None], list[str]] = {}
        for name in sorted({**before, **after}):
            codes = before.get(name), after.get(name)
            if codes[0] != codes[1]:
                groups.setdefault(codes, []).append(name)
        tasks_in = self.before.state.tasks_in
        for (old, new), names in groups.items():
            tasks = {task for name in names for task in tasks_in.get(name, ())}
            yield {"before": old, "after": new, "count": len(names), "names": names[:FIRST], "tasks": len(tasks)}

    def _reservations(self) -> Iterator[Row]:
        """Advance reservations with new faults (`broken`), or with instances that only serve them to their end."""
        for number, reservation in sorted(self.before.state.reservations.items()):
            known = self.before.faults(reservation)
            faults = [text for text in self.after.faults(reservation) if text not in known]
            lasting = [
                f"reserved queue {grant.instance} leaves the configuration, and serves the reservation to its end"
                for grant in reservation.granted
                if self._is_orphaned(grant.instance)
            ]
            if faults or lasting:
                row: Row = {"id": number, "name": reservation.name, "owner": reservation.owner, "broken": bool(faults)}
                yield row | {"texts": [*faults, *lasting][:FIRST]}

    def _is_orphaned(self, name: str) -> bool:
        """Whether the change makes an orphan of the instance, or removes it."""
        before, after = self.before.state.instances.get(name), self.after.state.instances.get(name)
        return before is not None and not before.orphaned and (after is None or after.orphaned)

    def _planned(self) -> Iterator[Row]:
        """Jobs for which the scheduler reserves another start than before (-R y); 0.0: none."""
        for number in self._in_order(self.before.planned.keys() | self.after.planned.keys()):
            old, new = self.before.planned.get(number, 0.0), self.after.planned.get(number, 0.0)
            if abs(old - new) >= 1.0:
                yield _head(self._job(number)) | {"before": old, "after": new}

    # --- jobs ------------------------------------------------------------------------------------------------------

    def _starts(self, sign: int) -> Iterator[Row]:
        """Jobs of which more tasks (`sign` 1) or fewer tasks (-1) would start now, with both numbers."""
        before, after = self.before.starts, self.after.starts
        for number in self._in_order(before.keys() | after.keys()):
            if (after[number] - before[number]) * sign > 0:
                yield _head(self._job(number)) | {"before": before[number], "after": after[number]}

    def _ever(self) -> tuple[list[Row], list[Row], int]:
        """Pending jobs that could run in an empty cluster only with the change, or only without, and the number of examined
        jobs."""
        could: list[Row] = []
        never: list[Row] = []
        until, examined = time.process_time() + LONGEST_CPU_S, 0
        for number in self._in_order(job.id for job in self.before.state.jobs.values() if job.waits):
            if time.process_time() > until:
                break
            examined += 1
            job = self._job(number)
            before, after = self.before.fits(job), self.after.fits(job)
            if before != after:
                (could if after else never).append(_head(job))
        return could, never, examined

    def _why_now(self, row: Row) -> Row:
        """The row with the reason that keeps the job from starting now, and was none before."""
        return row | {"text": self._new_reason(row["id"], False) or "jobs before it take what it needs"}

    def _why_never(self, row: Row) -> Row:
        """The row with the reason that keeps the job from ever starting, and was none before."""
        text = self._new_reason(row["id"], True) or self._new_reason(row["id"], False)
        return row | {"text": text or "no queue instance accepts it"}

    def _new_reason(self, number: int, in_empty_cluster: bool) -> str:
        """The first reason of an instance against the job that the change brings, "" for none."""
        known = set(self.before.reasons(self._job(number), in_empty_cluster))
        reasons = self.after.reasons(self.after.state.jobs[number], in_empty_cluster)
        return next((reason.clause for reason in reasons if reason not in known), "")

    def _running(self) -> Iterator[Row]:
        """Tasks that run where the changed configuration would not place them, or that change their state (suspended)."""
        for job in self.before.state.jobs.values():
            for task in job.placed:
                before, after = self._codes(self.before, job, task), self._codes(self.after, job, task)
                text = "" if job.ar else self._misplaced(job, task)
                if text or before != after:
                    row: Row = {"task": task.id, "instance": task.granted[0].instance if task.granted else ""}
                    yield _head(job) | row | {"before": before, "after": after, "text": text}

    def _codes(self, moment: Moment, job: Job, task: Task) -> str:
        return running_state_codes(moment.state, moment.state.jobs[job.id], moment.state.jobs[job.id].tasks[task.id])

    def _misplaced(self, job: Job, task: Task) -> str:
        """The reason why an instance of the task would not accept it any longer, "" for none."""
        for grant in task.granted:
            if self._is_orphaned(grant.instance):
                return f"queue instance {grant.instance} leaves the configuration, the task goes on"
            known = grant.instance in self.before.state.instances and grant.instance in self.after.state.instances
            if known and (text := self.after.refusal(job, grant.instance)) and not self.before.refusal(job, grant.instance):
                return text
        return ""

    # --- order and starts ----------------------------------------------------------------------------------------

    def _order(self) -> Iterator[Row]:
        """Jobs with another place among the pending jobs than before, by their new place; 0: none."""
        before, after = self.before.places, self.after.places
        for number in self._in_order(before.keys() | after.keys()):
            old, new = before.get(number, 0), after.get(number, 0)
            if old != new:
                yield _head(self._job(number)) | {"before": old, "after": new}

    def _expected(self, copies_of: Callable[[State], OnCopy]) -> Iterator[Row]:
        """The expected starts of the first jobs in the new order that differ, each as by the question `start`. How far the runs
        reach (`later_than`) is no difference."""
        numbers = [*self._in_order(self.before.places.keys() | self.after.places.keys())][:FIRST]
        before, after = (self._forecast(moment.state, copies_of, numbers) for moment in (self.before, self.after))
        for old, new in zip(before, after, strict=True):
            times = [[round(each[name]) for name in _STARTS] for each in (old, new)]
            if times[0] != times[1]:
                yield _head(self._job(old["id"])) | {"before": _times(old), "after": _times(new)}

    def _forecast(self, state: State, copies_of: Callable[[State], OnCopy], numbers: list[int]) -> list[Row]:
        forecast = StartForecast(state, copies_of(state), self._basis)
        return forecast.of_jobs([state.jobs[number] for number in numbers])

    def _in_order(self, numbers: Iterable[int]) -> list[int]:
        """Jobs by their place after the change, then jobs without a place."""
        after = self.after.places
        return sorted(numbers, key=lambda number: (after.get(number, len(after) + 1), number))

    def _job(self, number: int) -> Job:
        return self.before.state.jobs[number]


def _bounded(rows: Iterable[Row], finish: Callable[[Row], Row] | None = None) -> dict[str, Any]:
    """The number of rows, and the first of them, which `finish` completes."""
    found = [*rows]
    first = found[:FIRST]
    return {"count": len(found), "first": [finish(row) for row in first] if finish is not None else first}


def _head(job: Job) -> Row:
    return {"id": job.id, "name": job.name, "owner": job.owner}


def _times(forecast: Row) -> Row:
    """The times of a forecast; without any, the sentence why."""
    times = {name: forecast[name] for name in _TIMES}
    return times | {"text": "" if any(times.values()) else forecast["texts"][0]}
