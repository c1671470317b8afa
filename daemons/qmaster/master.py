"""Master: the state, its spool and the path between them, without Ray, HTTP or threads.

Owns the order of steps: a decision is applied to the state at once, its transaction is queued, one commit writes all queued
transactions, and only then are answers given and events passed on. The actor calls it; scenario tests call it as well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from daemons.qmaster.admit import admit
from daemons.qmaster.decide import decide
from daemons.qmaster.decide.hosts.reports import host_reports
from daemons.qmaster.decide.jobs.share_usage import usage_charges
from daemons.qmaster.decide.jobs.submission import MAX_JOB_ID
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.effects import acknowledgement_events
from daemons.qmaster.notifications import job_history
from daemons.qmaster.notifications.configuration_log import configuration_changes
from daemons.qmaster.notifications.held_slots import Held, held, held_slots
from daemons.qmaster.notifications.interventions import interventions
from daemons.qmaster.notifications.job_history import Line, as_text, lines
from daemons.qmaster.notifications.job_log import Occasion
from daemons.qmaster.notifications.mail import mail_messages
from daemons.qmaster.notifications.reporting import Records
from daemons.qmaster.notifications.share_log import ShareLog
from daemons.qmaster.replication_queue import ReplicationQueue
from daemons.qmaster.rules.following import FOLLOWERS
from daemons.qmaster.rules.initial_states import execd_started
from daemons.qmaster.rules.reservation_states import may_affect_reservations, next_healing, reservation_changes
from daemons.qmaster.rules.timers import TIMERS, clock_step
from daemons.qmaster.spooling.followed_file import AccountingRows, CarryOut, FollowedFile, ReportingRows
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.transaction import Transaction
from gridengine.mail import Mail
from gridengine.protocols.delivery import Acknowledgement, Instruction, Origin, Report, Stamp, Verdict
from gridengine.protocols.gdi.requests import Answer, Caller, RequestBody
from gridengine.protocols.orders import Orders
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.hosts import OrphanTask
from gridengine.state.machines.event import InvalidTransitionError
from gridengine.state.machines.host import ClockStepped, HostLost
from gridengine.state.state import State
from gridengine.state.volatile import carry_over
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)
MOST_HEALINGS = 50
"""Reservations that one tick tries to heal."""
_LINES_OF_A_BUG = 50
"""Lines of a job's history that are logged with an invalid event of the job."""

DAEMON = Caller(job_history.DAEMON, 0, "", 0, "", daemon=True)


class Master:
    """State and spool of a cell.

    `subscribers` get every transaction after its commit; `post` sends its mail messages. `committed` is the last revision that
    is on disk and announced. `state.revision` may be higher until `flush()`, and in a cell with shadows until the shadows have
    it as well. `incarnation` grows with every start on a spool.
    """

    def __init__(self, spool: Spool, accounting: Path, world: Callable[[], World]) -> None:
        self.spool = spool
        self.state: State = spool.load()
        self.committed = self.state.revision
        self.accounting = FollowedFile(accounting, spool, AccountingRows(spool), self._accounts)
        self.reporting = FollowedFile(accounting.with_name("reporting"), spool, ReportingRows(spool))
        self.accounting.follow()
        self.reporting.follow()
        self._facts = world
        self.subscribers: list[Callable[[Transaction], None]] = []
        self.post: Callable[[list[Mail]], None] = lambda messages: None
        self._mail: dict[int, list[Mail]] = {}
        self._records = Records()
        self._share_log = ShareLog()
        self._queued: list[Transaction] = []
        self._replication_queue: ReplicationQueue | None = None
        self._last_look = world()
        self._started = self._last_look.steady
        self.incarnation = spool.begin(int(self._last_look.now * 1000))

    # --- requests ----------------------------------------------------------------------------------------

    def handle(self, name: str, request: RequestBody, caller: Caller) -> Answer:
        """Decide on a changing request. The answer may be given once `committed` reaches `state.revision`."""
        decision = self.decide(name, request, caller)
        self.record(decision, caller)
        return decision.answer

    def decide(
        self, name: str, request: RequestBody, caller: Caller, looked_up: Mapping[str, list[int]] | None = None
    ) -> Decision:
        """The decision on a changing request; `record` carries it out. `looked_up`: as in `World`."""
        world = self.world()
        world.payload, world.outcome, world.looked_up = self.payload, self.outcome, looked_up or {}
        world.accounted = self.spool.accounted.of_task
        decision = decide(self.state, name, request, caller, world)
        decision.world = world
        return decision

    def reports(self, host: str, reports: list[Report]) -> list[Verdict]:
        """Take a batch of reports of a host. The verdicts may be given once committed."""
        world = self.world()
        outcome = host_reports(self.state, host, reports, world, self._has_ended_here)
        known = self.state.hosts.get(host)
        before = known.orphans if known is not None else []
        self._record_at(world, outcome)
        self._log_new_orphans(host, before)
        return outcome.verdicts

    def _has_ended_here(self, key: TaskKey, origin: Origin) -> bool:
        """Whether the accounting index has an end of this task; records in the queue count, too."""
        waiting = (record for t in self._queued for job_id, _, record in t.accounting if job_id == key.job)
        return any(
            record.task_number in ("0", str(key.task))
            and (not origin.owner or (record.owner, record.submission_time) == (origin.owner, str(int(origin.submit_time))))
            for record in (*waiting, *(record for _, record in self.spool.accounted.records([key.job])))
        )

    def _log_new_orphans(self, host: str, before: list[OrphanTask]) -> None:
        """Log the orphan tasks of a host that were not there `before`."""
        known = self.state.hosts.get(host)
        for orphan in known.orphans if known is not None and known.orphans is not before else ():
            if orphan not in before:
                _log.warning(
                    'host %s has task %s of user "%s", which this cell does not know: it is left alone (qdel -f %d ends it)',
                    host,
                    ".".join(map(str, orphan.key[:2])),
                    orphan.owner or "?",
                    orphan.key[0],
                )

    def acknowledgements(self, host: str, sent: Sequence[Instruction], answers: list[Acknowledgement]) -> None:
        """Take the answers of a host to instructions."""
        world = self.world()
        events, failures = acknowledgement_events(self.state, host, sent, answers, world.now)
        self._record_at(world, Decision(events=events))
        if failures:
            self.reports(host, list(failures))

    def orders(self, orders: Orders) -> int:
        """Take the scheduler's orders. Returns the number of their events."""
        world = self.world()
        events = admit(self.state, orders, world.now)
        self._record_at(world, Decision(events=events))
        return len(events)

    def tick(self) -> None:
        """Do everything that is due by the clock."""
        world = self._look_at_clock()
        for rule in TIMERS:
            self._record_at(world, rule(self.state, world))
        if self.state.reservations:
            self._tend_reservations(world)
        self._record_at(world, Decision(records=self._share_log.due(self.state, world)))
        self.accounting.tend(world.steady)
        self.reporting.tend(world.steady)

    def _look_at_clock(self) -> World:
        """The world now. If the clock was set meanwhile, moments that measure a time span move with it."""
        before, world = self._last_look, self.world()
        self._last_look = world
        if step := clock_step(before, world):
            self._record_at(world, Decision(events=[ClockStepped(step)]))
        return world

    def _tend_reservations(self, world: World) -> None:
        """Heal reservations in sequence, since each takes capacity; then apply starts, ends and errors."""
        tried: set[int] = set()
        while len(tried) < MOST_HEALINGS:
            change = next_healing(self.state, world.now, world.started, world.zone, tried)
            if change is None:
                break
            tried.add(change.ar_id)
            self._record_at(world, Decision(events=[change]))
        self._record_at(world, reservation_changes(self.state, world.now, world.started))

    def execd_started(self, host: str, process: str) -> None:
        """Note the sge_execd process of a host; a new process applies the initial states of its queues."""
        self.record(Decision(events=execd_started(self.state, host, process)), DAEMON)

    def lose_host(self, host: str, *, orderly: bool = False) -> None:
        """Mark a host as lost before its timeout, since its node is dead. `orderly`: its daemon was stopped."""
        world = self.world()
        self._record_at(world, Decision(events=[HostLost(host, world.now, orderly)]))

    # --- facts outside the state --------------------------------------------------------------------------

    def world(self) -> World:
        """The facts of this moment, without facts about single jobs."""
        world = self._facts()
        world.started = world.now - (world.steady - self._started)  # by a clock that may have been set since
        return world

    def payload(self, job_id: int) -> Payload:
        """Script and environment of a job, also before they are on disk."""
        for transaction in reversed(self._queued):
            if job_id in transaction.payloads:
                return transaction.payloads[job_id]
        return self.spool.payload(job_id)

    def environment(self, job_id: int) -> Mapping[str, str]:
        """Variables of a job; empty if the job is unknown."""
        return self.payload(job_id).environment

    def outcome(self, job_id: int) -> bool | None:
        """Whether an ended job succeeded with all of its tasks; None if the job is unknown."""
        for job in reversed(self.state.finished):
            if job.id == job_id:
                return not job.unsuccessful
        if job_id > MAX_JOB_ID:
            return None
        last = {record.task_number: record for _, record in self.spool.accounted.records([job_id])}
        return all(record.failed == record.exit_status == "0" for record in last.values()) if last else None

    def held_slots(self, ar_id: int) -> list[Held]:
        """The slots that a reservation held, also after its end; empty if the reservation is unknown."""
        reservation = self.state.reservations.get(ar_id)
        # a reservation without rows was granted by an earlier version
        present = [held(reservation, reservation.submit_time)] if reservation is not None else []
        return self.spool.held_slots.of(ar_id) or present

    def job_history(self, job_id: int, most: int) -> list[Line]:
        """The last `most` lines of a job's history, in order, also of an ended job."""
        waiting = (line for t in self._queued for line in lines(t.events, t.time, t.user, t.host) if line.job == job_id)
        return [*self.spool.job_history(job_id, most), *waiting][-most:]

    # --- recording ---------------------------------------------------------------------------------------

    def record(self, decision: Decision, caller: Caller) -> None:
        """Apply a decision's events and their consequences, and queue the transactions; all or none, in memory, too.

        An event that cannot be applied is a bug: the state is restored without it, and the error raised. Raises
        InvalidTransitionError for an event that is invalid in the current state of its object.
        """
        if decision.changes_nothing:
            return
        queued, revision = len(self._queued), self.state.revision
        try:
            self._carry_out(decision, caller, decision.world or self.world())
        except Exception as error:
            if isinstance(error, InvalidTransitionError):
                history = self.job_history(getattr(error.event, "job_id", 0), _LINES_OF_A_BUG)
                error.job_history = [as_text(line) for line in history]
            _log.exception("a transaction of %s@%s could not be applied and is rolled back", caller.user, caller.host)
            self._take_back(queued, revision)
            raise
        if caller is not DAEMON and self.state.reservations and may_affect_reservations(decision.events):
            self._tend_reservations(decision.world or self.world())

    def _record_at(self, world: World, decision: Decision) -> None:
        """Record a decision of the qmaster itself, made on these facts."""
        decision.world = world
        self.record(decision, DAEMON)

    def _carry_out(self, decision: Decision, caller: Caller, world: World) -> None:
        """One transaction: compute its log records before it is applied, apply its events, queue it, then apply the
        consequences by rule, all of them at the same moment."""
        if decision.changes_nothing:
            return
        decision.events.extend(usage_charges(self.state, decision.accounting))
        self._prepare_mail(decision, world)
        user = "" if caller is DAEMON else caller.user
        records = self._records.before(Occasion(self.state, world, user, caller.host), decision)
        holding = held_slots(self.state, decision.events)
        intervention_lines = interventions(self.state, decision, user, caller.host)
        affected = Affected()
        for event in decision.events:
            affected.note(self.state, event)
            apply(self.state, event)
        self.state.revision += 1
        records += self._records.after(self.state, affected, world.now)
        self._queued.append(
            Transaction(
                self.state.revision,
                world.now,
                caller.user,
                caller.host,
                decision.events,
                decision.payloads,
                [job_id for job_id in affected.jobs if job_id not in self.state.jobs],
                decision.accounting,
                records,
                holding,
                configuration_changes(self.state, affected),
                (decision.receipt, msgspec.json.encode(decision.answer)) if decision.receipt is not None else None,
                affected,
                intervention_lines,
            )
        )
        for rule in FOLLOWERS:
            for following in rule(self.state, affected, world):
                self._carry_out(following, DAEMON, world)

    def _prepare_mail(self, decision: Decision, world: World) -> None:
        """Compose the mail messages of a transaction from the state before it."""
        if messages := mail_messages(self.state, decision, world.now, world.zone):
            self._mail[self.state.revision + 1] = messages

    def _take_back(self, queued: int, revision: int) -> None:
        """Restore the state of a revision with so many queued transactions: from the spool, the queue, and the volatile facts
        that no journal has."""
        del self._queued[queued:]
        for later in [number for number in self._mail if number > revision]:
            del self._mail[later]
        state = self.spool.load()
        for transaction in self._queued:
            for event in transaction.events:
                apply(state, event)
        carry_over(self.state, state)
        state.revision = revision
        self.state = state

    # --- durability --------------------------------------------------------------------------------------

    @property
    def stamp(self) -> Stamp:
        """The position of a message to a host that is based on the state on disk."""
        return self.incarnation, max(self.committed, 0)

    @property
    def pending(self) -> bool:
        return bool(self._queued)

    @property
    def announced(self) -> bool:
        """Whether all decisions are on disk and announced."""
        return not self._queued and not self._replication_queue

    def replicate(self, allowed: Callable[[], int]) -> None:
        """From now on announce only commits of the spool up to `allowed()`; earlier commits have to wait, too."""
        self._replication_queue = ReplicationQueue(self.spool, allowed)
        self.committed = -1
        self.accounting.last_allowed, self.reporting.last_allowed = self._replication_queue.add(self.state.revision, []).rows

    def announce(self) -> None:
        """Announce all transactions that are due, in order."""
        for written in self._replication_queue.due() if self._replication_queue is not None else ():
            self.accounting.last_allowed, self.reporting.last_allowed = written.rows
            self.committed = written.revision
            self.publish(written.transactions)

    def write(self, transactions: list[Transaction]) -> bool:
        """Write transactions to disk; volatile transactions need no write. Returns whether a write was needed. Raises
        SpoolError."""
        self.spool.note_written(number for transaction in transactions for number in transaction.affected.written)
        durable = [t for t in transactions if t.accounting or t.payloads or t.records or t.answered or t.affected.durable]
        if durable:
            self.spool.commit(durable, self.state.configuration().qmaster_params.keep_story_s)
        return bool(durable)

    def publish(self, transactions: list[Transaction]) -> None:
        """After the write: note the revision, have the accounting file follow, notify subscribers."""
        if not transactions:
            return
        self.committed = transactions[-1].revision
        if any(transaction.accounting for transaction in transactions):
            self.accounting.follow()
        if any(transaction.records for transaction in transactions):
            self.reporting.follow()
        for transaction in transactions:
            for subscriber in self.subscribers:
                subscriber(transaction)
            if messages := self._mail.pop(transaction.revision, None):
                self.post(messages)

    def _accounts(self) -> bool:
        return self.state.configuration().reporting_params.accounting

    def write_by(self, carry_out: CarryOut) -> None:
        """Have `carry_out` write the files of `common/`: their disk may hang, and the qmaster must not wait for it."""
        self.accounting.carry_out = self.reporting.carry_out = carry_out

    def flush(self) -> bool:
        """Write all queued transactions to the spool, and announce those transactions that are due. Returns whether it wrote."""
        transactions, self._queued = self._queued, []
        wrote = self.write(transactions)
        if self._replication_queue is None:
            self.publish(transactions)
        else:
            if transactions:
                self._replication_queue.add(transactions[-1].revision, transactions)
            self.announce()
        return wrote

    def compact(self, *, ends: bool = False) -> None:
        """Replace a long journal by a snapshot, also if the qmaster `ends`; no transaction may be queued.

        Raises SpoolError and then leaves the spool unchanged.
        """
        if ends or self.spool.is_snapshot_due:
            self.spool.snapshot(self.state)
