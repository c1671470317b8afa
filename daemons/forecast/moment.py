"""Moment: a state at one time with one run of the scheduler on it, in the figures by which two states are compared.

Owns these figures, each computed when it is first read. Pure. Called by `change` and the comparisons. Source: adr/0335.
"""

from __future__ import annotations

from collections import Counter
from datetime import tzinfo
from functools import cached_property

from daemons.qmaster.queries.selection import Listing
from daemons.qmaster.rules.reservation_states import errors_of, instance_faults
from daemons.schedd.cycle import schedule
from daemons.schedd.survey import ranked_jobs
from daemons.schedd.view import View
from gridengine.placement.access import user_sets_of
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import static_refusal
from gridengine.placement.pending import waiting_reason
from gridengine.placement.placement_request import CategoryKey, category_key
from gridengine.placement.reasons import Reason
from gridengine.placement.smallest_change import without_requests
from gridengine.placement.verify import Verifier
from gridengine.state.jobs import Job
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.values.load_values import STATIC_LOAD


class Moment:
    """A `state` at `now` (epoch s), which must not change any more. zone: of calendars and texts.

    `starts`: job -> number of its tasks that the scheduler would start now. `places`: job -> place among pending jobs, from 1.
    `planned`: job -> the start that the scheduler reserves for it (-R y), epoch s.
    """

    def __init__(self, state: State, now: float, zone: tzinfo) -> None:
        self.state, self.now, self.zone = state, now, zone
        self._listing = Listing(state, zone)
        view = View(state)
        orders = schedule(view, now, zone)
        self.starts = Counter(order.job_id for order in orders.starts)
        pending = (each.job.id for each in ranked_jobs(view, now) if each.is_pending)
        self.places = {number: place for place, number in enumerate(pending, start=1)}
        self.planned: dict[int, float] = {}
        for each in orders.job_reservations:
            self.planned[each.job_id] = min(each.start_time, self.planned.get(each.job_id, each.start_time))
        self._fitting: dict[CategoryKey, bool] = {}
        self._refusals: dict[tuple[CategoryKey, str], str] = {}

    @cached_property
    def codes(self) -> dict[str, str]:
        """State codes by queue instance, alarms included."""
        return {name: self._listing.state_codes(instance) for name, instance in self.state.instances.items()}

    @cached_property
    def _faults(self) -> dict[str, list[str]]:
        return instance_faults(self.state, self.state.reserved.of_instance, self.now, 0.0)

    @cached_property
    def _empty(self) -> Verifier:
        return Verifier(self.state, True, self.now, self.zone)

    @cached_property
    def _occupied(self) -> Verifier:
        return Verifier(self.state, False, self.now, self.zone)

    @cached_property
    def _lasting(self) -> frozenset[str] | None:
        """The instances that are no orphans, which get no further jobs; None if there are no orphans."""
        instances = self.state.instances
        lasting = frozenset(name for name, instance in instances.items() if not instance.orphaned)
        return lasting if len(lasting) < len(instances) else None

    @cached_property
    def _empty_ledger(self) -> Ledger:
        return Ledger(self.state, empty=True)

    @cached_property
    def _load_values(self) -> frozenset[str]:
        """Names of the load values that change, of which an empty cluster knows none."""
        return frozenset(name for host in self.state.hosts.values() for name in host.load) - STATIC_LOAD

    def faults(self, reservation: AdvanceReservation) -> list[str]:
        """The faults of the instances of an advance reservation: its errors after the next tick."""
        return errors_of(reservation, self._faults)

    def fits(self, job: Job) -> bool:
        """Whether the job could run in an empty cluster; requests for load values that change do not count."""
        key = self._key(job)
        if key not in self._fitting:
            unknown = [("hard", name) for name in job.hard if name in self._load_values]
            asked = without_requests(job, unknown) if unknown else job
            if self._lasting is None:
                self._fitting[key] = self._empty.fits(asked)
            else:
                self._fitting[key] = bool(self._empty.verify(asked, among=self._lasting)[0])
        return self._fitting[key]

    def refusal(self, job: Job, instance: str) -> str:
        """The reason why an instance of this state would not accept the job, by its configuration; "" for none."""
        key = (self._key(job), instance)
        if key not in self._refusals:
            request = self._listing.request(job)
            reason = static_refusal(self._listing.config_snapshot, self._empty_ledger, request, instance)
            self._refusals[key] = reason.clause if reason is not None else ""
        return self._refusals[key]

    def reasons(self, job: Job, in_empty_cluster: bool) -> list[Reason]:
        """Why instances refuse the job, now or in an empty cluster; now also the reason why a job waits as a whole."""
        if in_empty_cluster:
            return self._empty.verify(job)[1]
        waiting = waiting_reason(self.state, job, self.now)
        return [waiting] if waiting is not None else self._occupied.verify(job)[1]

    def _key(self, job: Job) -> CategoryKey:
        return category_key(self.state, user_sets_of(self.state, job.owner, job.group), job)
