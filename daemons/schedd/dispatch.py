"""Dispatch: grants for the tasks of one cycle, job by job, and their bookings.

Owns the loop over jobs in order of priority, and the limits of arrays and users. Categories do the placement.
Called by `daemons.schedd.cycle`.
"""

from __future__ import annotations

from collections import Counter
from math import inf

from daemons.schedd.categories import Category
from daemons.schedd.look_ahead import LookAhead
from daemons.schedd.reserved import AnyCategory
from daemons.schedd.view import View
from gridengine.placement.ledger import Ledger
from gridengine.placement.pending import ready_tasks, task_limit
from gridengine.placement.quotas import bookings_of
from gridengine.placement.unit_bookings import bookings_of_choice, standing_for
from gridengine.protocols.orders import StartOrder
from gridengine.state.bookings import Booking
from gridengine.state.jobs import Job, Task


class Dispatch:
    """One cycle's grants: `starts`, and `give_up`, the jobs of `-now y` that cannot start. The grants of earlier jobs are
    booked in the ledger, the instance table and, in cycles that may reserve, the time line of `look_ahead`."""

    def __init__(self, view: View, ledger: Ledger, now: float, look_ahead: LookAhead | None = None) -> None:
        self.view, self.ledger, self.now, self.look_ahead = view, ledger, now, look_ahead
        self.starts: list[StartOrder] = []
        self.give_up: list[int] = []
        self._of_classes: dict[tuple[int, int], list[Booking]] = {}
        self.state = view.state
        self.user_limit = self.state.scheduler.maxujobs
        self.running: Counter[str] = Counter()
        if self.user_limit > 0:
            for job in self.state.jobs.values():
                self.running[job.owner] += len(job.placed)

    def run(self, job: Job, category: AnyCategory) -> None:
        """Start as many tasks of a job as capacity and limits allow; of a `-now y` job all or none (AJ-5).

        Tasks that cannot start may get a reservation, in the order of priority (SC-7).
        """
        if category.is_blocked and not (job.now or category.reserves):
            return
        allowed = task_limit(self.state, job)
        left = allowed - len(job.placed) if allowed else inf
        given: list[StartOrder] = []
        complete = True
        for task_id, task in ready_tasks(self.state, job, self.now):
            if left == 0 or (self.user_limit > 0 and self.running[job.owner] >= self.user_limit):
                complete = False
                break
            order = self._start(job, category, task_id, task)
            if order is not None:
                given.append(order)
            else:
                complete = False
                if not self._reserve(job, category, task_id):
                    break
            left -= 1
        if job.now and not complete:
            self._release(job, category, given)
            self.give_up.append(job.id)
        else:
            self.starts.extend(given)

    def _start(self, job: Job, category: AnyCategory, task_id: int, task: Task | None) -> StartOrder | None:
        granted, pe = ([], "") if category.is_blocked else category.place(self.ledger)
        if not granted:
            return None
        order = StartOrder(job.id, task_id, task.attempt + 1 if task else 1, job.version, granted, pe)
        bookings: list[Booking] = []
        if category.config_snapshot.has_units:
            ledger = self.ledger.within(job.ar) if job.ar else self.ledger
            if ledger.timeline is not None:  # else the qmaster makes the same choice
                order.units = standing_for(category.config_snapshot, ledger, category.request, granted)
            bookings = bookings_of_choice(category.config_snapshot, ledger, category.request, granted)
        if bookings and job.now:
            self._of_classes[job.id, task_id] = bookings  # which may be released
        self._book(job, category, order, bookings, 1)
        return order

    def _reserve(self, job: Job, category: AnyCategory, task_id: int) -> bool:
        if self.look_ahead is None or not isinstance(category, Category):
            return False
        return self.look_ahead.reserve(job.id, task_id, category)

    def _release(self, job: Job, category: AnyCategory, given: list[StartOrder]) -> None:
        for order in given:
            self._book(job, category, order, self._of_classes.get((order.job_id, order.task_id), []), -1)
        hosts = {grant.host for order in given for grant in order.granted}
        rows = [row for host in hosts for row in self.view.instance_table.hosts[host].rows]
        self.view.add_candidates(rows)
        self.view.unblock()

    def _book(self, job: Job, category: AnyCategory, order: StartOrder, of_classes: list[Booking], sign: int) -> None:
        instance_table, ledger = self.view.instance_table, self.ledger
        self.running[job.owner] += sign
        bookings = bookings_of(category.config_snapshot, category.request, order.granted, order.pe) + of_classes
        if job.ar:
            ledger.within(job.ar).charge(bookings, sign)
            return
        ledger.charge(bookings, sign)
        if self.look_ahead is not None:
            timeline = self.look_ahead.timeline
            timeline.add(timeline.now, timeline.now + timeline.run_for(category.request.duration), bookings, sign)
        for grant in order.granted:
            row = instance_table.rows[grant.instance]
            host = row.host
            row.free -= sign * grant.slots
            host.used += sign * grant.slots
            if instance_table.adjustments:
                ledger.corrections[host.name] = ledger.corrections.get(host.name, 0.0) + sign * grant.slots
            if instance_table.adjustments or host.watched:
                before = host.load
                instance_table.refresh_load(host, ledger)
                if host.load < before:
                    self.view.reorder(host.rows)
