"""Master: the state, its spool and the road between them, without Ray, HTTP or threads.

Owns the order of things: a decision is applied to the state at once, its transaction is queued, one commit writes all
queued transactions, and only then are answers given and events passed on. The actor drives it; scenario tests do too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from daemons.qmaster.admit import admit
from daemons.qmaster.decide import decide
from daemons.qmaster.decide.hosts.reports import host_reports
from daemons.qmaster.decide.jobs.dependencies import end_of_doomed
from daemons.qmaster.decide.jobs.share_usage import usage_charges
from daemons.qmaster.decide.jobs.submission import MAX_JOB_ID
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.effects import acknowledgement_events
from daemons.qmaster.follow.following import FOLLOWERS
from daemons.qmaster.follow.initial_states import execd_started
from daemons.qmaster.follow.overdue import end_overdue
from daemons.qmaster.follow.rerun import tasks_of_lost_hosts
from daemons.qmaster.follow.reservation_states import may_trouble, next_healing, reservation_changes
from daemons.qmaster.follow.timers import clock_step, due
from daemons.qmaster.replication_queue import ReplicationQueue
from daemons.qmaster.spooling.followed_file import AccountingRows, CarryOut, FollowedFile, ReportingRows
from daemons.qmaster.spooling.spool import Spool, Transaction
from daemons.qmaster.tell import story
from daemons.qmaster.tell.configuration_log import configuration_changes
from daemons.qmaster.tell.held_slots import Held, held, held_slots
from daemons.qmaster.tell.interventions import interventions
from daemons.qmaster.tell.job_log import Occasion
from daemons.qmaster.tell.mail import Mail, mails
from daemons.qmaster.tell.reporting import Records
from daemons.qmaster.tell.share_log import ShareLog
from daemons.qmaster.tell.story import Line, as_text, lines
from gridengine.delivery import Acknowledgement, Instruction, Origin, Report, Stamp, Verdict
from gridengine.gdi.requests import Answer, Caller, RequestBody
from gridengine.orders import Orders
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.hosts import OrphanTask
from gridengine.state.machines.event import InvalidTransition
from gridengine.state.machines.host import ClockStepped, HostLost
from gridengine.state.state import State
from gridengine.state.volatile import carry_over
from gridengine.task_key import TaskKey

_log = logging.getLogger(__name__)
MOST_HEALINGS = 50
"""Reservations that one tick tries to heal."""

_LINES_OF_A_BUG = 50
"""Lines of a job's story that are logged with an event that cannot happen to it."""

DAEMON = Caller(story.DAEMON, 0, "", 0, "", daemon=True)


class Master:
    """State and spool of a cell.

    `subscribers` get every transaction after it was committed, `post` the letters of it.
    `committed` is the revision that is on disk and announced; `state.revision` may be ahead of it until `flush()`, and with
    shadows until these have it, too. `incarnation` grows with every start on a spool.
    """

    def __init__(self, spool: Spool, accounting: Path, world: Callable[[], World]) -> None:
        self.spool = spool
        self.state: State = spool.load()
        self.committed = self.state.revision
        self.accounting = FollowedFile(accounting, spool, AccountingRows(spool), self._accounts)
        self.reporting = FollowedFile(accounting.with_name("reporting"), spool, ReportingRows(spool))
        self.accounting.follow()
        self.reporting.follow()
        self.world = world
        self.subscribers: list[Callable[[Transaction], None]] = []
        self.post: Callable[[list[Mail]], None] = lambda letters: None
        self._letters: dict[int, list[Mail]] = {}
        self._records = Records()
        self._share_log = ShareLog()
        self._queued: list[Transaction] = []
        self._replication_queue: ReplicationQueue | None = None
        self._last_look = world()
        self._started = self._last_look.now
        self.incarnation = spool.begin(int(self._started * 1000))

    # --- requests ----------------------------------------------------------------------------------------

    def handle(self, name: str, request: RequestBody, caller: Caller) -> Answer:
        """Decide on a changing request. The answer may be given once `committed` reaches `state.revision`."""
        decision = self.decide(name, request, caller)
        self.record(decision, caller)
        return decision.answer

    def decide(
        self, name: str, request: RequestBody, caller: Caller, looked_up: Mapping[str, list[int]] | None = None
    ) -> Decision:
        """What a changing request would do; nothing is done until it is recorded. `looked_up`: as of `World`."""
        world = self.world()
        world.payload, world.outcome, world.looked_up = self.payload, self.outcome, looked_up or {}
        world.accounted = self.spool.accounted.of_task
        decision = decide(self.state, name, request, caller, world)
        decision.world = world
        return decision

    def reports(self, host: str, reports: list[Report]) -> list[Verdict]:
        """Take a batch of reports of a host. The verdicts may be given once committed."""
        world = self.world()
        outcome = host_reports(self.state, host, reports, world, self._was_here)
        known = self.state.hosts.get(host)
        before = known.orphans if known is not None else []
        self._record_at(world, outcome)
        self._log_new_orphans(host, before)
        return outcome.verdicts

    def _was_here(self, key: TaskKey, origin: Origin) -> bool:
        """Whether the accounting index, with what waits to be written, has an end of this task."""
        waiting = (record for t in self._queued for job_id, _, record in t.accounting if job_id == key.job)
        return any(
            record.task_number in ("0", str(key.task))
            and (not origin.owner or (record.owner, record.submission_time) == (origin.owner, str(int(origin.submit_time))))
            for record in (*waiting, *(record for _, record in self.spool.accounted.records([key.job])))
        )

    def _log_new_orphans(self, host: str, before: list[OrphanTask]) -> None:
        """Log the orphan tasks of a host that it did not have before."""
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
        """Take what a host answered to instructions."""
        world = self.world()
        events, failures = acknowledgement_events(self.state, host, sent, answers, world.now)
        self._record_at(world, Decision(events=events))
        if failures:
            self.reports(host, list(failures))

    def orders(self, orders: Orders) -> int:
        """Take the scheduler's orders; how many events they became."""
        world = self.world()
        events = admit(self.state, orders, world.now)
        self._record_at(world, Decision(events=events))
        return len(events)

    def tick(self) -> None:
        """Let time do what is due."""
        world = self._look_at_clock()
        self._record_at(world, Decision(events=due(self.state, world.now, world.zone)))
        if self.state.doomed:
            self._record_at(world, end_of_doomed(self.state, world.now))
        self._record_at(world, tasks_of_lost_hosts(self.state, world.now, self._started))
        self._record_at(world, end_overdue(self.state, world.now))
        if self.state.reservations:
            self._tend_reservations(world)
        self._record_at(world, Decision(records=self._share_log.due(self.state, world)))
        self.accounting.tend(world.steady)
        self.reporting.tend(world.steady)

    def _look_at_clock(self) -> World:
        """The world now; what is measured since an earlier moment is moved along when the clock was set meanwhile."""
        before, world = self._last_look, self.world()
        self._last_look = world
        if step := clock_step(before, world):
            self._started += step
            self._record_at(world, Decision(events=[ClockStepped(step)]))
        return world

    def _tend_reservations(self, world: World) -> None:
        """Heal what can be healed, one after the other since each takes room; then starts, ends and errors."""
        tried: set[int] = set()
        while len(tried) < MOST_HEALINGS:
            change = next_healing(self.state, world.now, self._started, world.zone, tried)
            if change is None:
                break
            tried.add(change.ar_id)
            self._record_at(world, Decision(events=[change]))
        self._record_at(world, reservation_changes(self.state, world.now, self._started))

    def execd_started(self, host: str, process: str) -> None:
        """Note that a process of sge_execd plays a host; a new one brings the initial states of its queues."""
        self.record(Decision(events=execd_started(self.state, host, process)), DAEMON)

    def lose_host(self, host: str) -> None:
        """Note that a host is gone before its silence would tell (its node is dead)."""
        world = self.world()
        self._record_at(world, Decision(events=[HostLost(host, world.now)]))

    # --- what is not in the state --------------------------------------------------------------------------

    def payload(self, job_id: int) -> Payload:
        """Script and environment of a job, also of one that is not on disk yet."""
        for transaction in reversed(self._queued):
            if job_id in transaction.payloads:
                return transaction.payloads[job_id]
        return self.spool.payload(job_id)

    def environment(self, job_id: int) -> Mapping[str, str]:
        """Variables of a job; none if nothing is known of it."""
        return self.payload(job_id).environment

    def outcome(self, job_id: int) -> bool | None:
        """Whether an ended job succeeded with all of its tasks; None if nothing is known of it."""
        for job in reversed(self.state.finished):
            if job.id == job_id:
                return not job.unsuccessful
        if job_id > MAX_JOB_ID:
            return None
        last = {record.task_number: record for _, record in self.spool.accounted.records([job_id])}
        return all(record.failed == record.exit_status == "0" for record in last.values()) if last else None

    def held_slots(self, ar_id: int) -> list[Held]:
        """What a reservation held, also one that is gone; none if nobody knows it."""
        one = self.state.reservations.get(ar_id)
        # without rows an earlier version granted it
        return self.spool.held_slots.of(ar_id) or ([held(one, one.submit_time)] if one is not None else [])

    def story(self, job_id: int, most: int) -> list[Line]:
        """What happened to a job, also to one that is gone: the last `most` lines, in order."""
        waiting = (line for t in self._queued for line in lines(t.events, t.time, t.user, t.host) if line.job == job_id)
        return [*self.spool.story(job_id, most), *waiting][-most:]

    # --- recording ---------------------------------------------------------------------------------------

    def record(self, decision: Decision, caller: Caller) -> None:
        """Apply a decision's events and what follows from them, and queue the transactions; all or none, in memory, too.

        What cannot be applied is a bug: the state is made again without it, and the error raised. Raises InvalidTransition for
        an event that cannot happen to its thing.
        """
        if decision.changes_nothing:
            return
        queued, revision = len(self._queued), self.state.revision
        try:
            self._carry_out(decision, caller, decision.world or self.world())
        except Exception as error:
            if isinstance(error, InvalidTransition):
                error.story = [as_text(line) for line in self.story(getattr(error.event, "job_id", 0), _LINES_OF_A_BUG)]
            _log.exception("a transaction of %s@%s could not be applied and is taken back", caller.user, caller.host)
            self._take_back(queued, revision)
            raise
        if caller is not DAEMON and self.state.reservations and may_trouble(decision.events):
            self._tend_reservations(decision.world or self.world())

    def _record_at(self, world: World, decision: Decision) -> None:
        """Record what the qmaster itself decided when the world was so."""
        decision.world = world
        self.record(decision, DAEMON)

    def _carry_out(self, decision: Decision, caller: Caller, world: World) -> None:
        """One transaction: what is told of it before it is applied, its events, its place in the queue; then what follows
        from it by rule, all of it at the same moment."""
        if decision.changes_nothing:
            return
        decision.events.extend(usage_charges(self.state, decision.accounting))
        self._write_letters(decision, world)
        user = "" if caller is DAEMON else caller.user
        records = self._records.before(Occasion(self.state, world, user, caller.host), decision)
        holding = held_slots(self.state, decision.events)
        said = interventions(self.state, decision, user, caller.host)
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
                said,
            )
        )
        for rule in FOLLOWERS:
            for following in rule(self.state, affected, world):
                self._carry_out(following, DAEMON, world)

    def _write_letters(self, decision: Decision, world: World) -> None:
        """Make the letters of a transaction while the state is as it was before it."""
        if letters := mails(self.state, decision, world.now, world.zone):
            self._letters[self.state.revision + 1] = letters

    def _take_back(self, queued: int, revision: int) -> None:
        """Make the state again as it was at a revision, when so many transactions waited to be written: what is on disk, what
        waits, and what no journal has."""
        del self._queued[queued:]
        for later in [number for number in self._letters if number > revision]:
            del self._letters[later]
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
        """The place of a word to a host that speaks of what is on disk now."""
        return self.incarnation, max(self.committed, 0)

    @property
    def pending(self) -> bool:
        return bool(self._queued)

    @property
    def announced(self) -> bool:
        """Whether all that was decided is on disk and has been told."""
        return not self._queued and not self._replication_queue

    def replicate(self, allowed: Callable[[], int]) -> None:
        """From now on announce commits of the spool up to what `allowed` says alone; that goes for those of before, too."""
        self._replication_queue = ReplicationQueue(self.spool, allowed)
        self.committed = -1
        self.accounting.last_allowed, self.reporting.last_allowed = self._replication_queue.add(self.state.revision, []).rows

    def announce(self) -> None:
        """Tell what may be told by now, in order."""
        for written in self._replication_queue.due() if self._replication_queue is not None else ():
            self.accounting.last_allowed, self.reporting.last_allowed = written.rows
            self.committed = written.revision
            self.published(written.transactions)

    def write(self, transactions: list[Transaction]) -> bool:
        """Write transactions to disk; volatile ones cost nothing. Whether there was something to write. Raises SpoolError."""
        self.spool.note_written(number for transaction in transactions for number in transaction.affected.written)
        durable = [t for t in transactions if t.accounting or t.payloads or t.records or t.answered or t.affected.durable]
        if durable:
            self.spool.commit(durable, self.state.configuration().qmaster_params.keep_story_s)
        return bool(durable)

    def published(self, transactions: list[Transaction]) -> None:
        """After the write: note the revision, have the accounting file follow, tell subscribers."""
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
            if letters := self._letters.pop(transaction.revision, None):
                self.post(letters)

    def _accounts(self) -> bool:
        return self.state.configuration().reporting_params.accounting

    def write_by(self, carry_out: CarryOut) -> None:
        """Have the files of `common/` written elsewhere: their disk may hang, and nobody is to wait for it."""
        self.accounting.carry_out = self.reporting.carry_out = carry_out

    def flush(self) -> bool:
        """Write everything queued to the spool, and tell what may be told. Whether it wrote something."""
        transactions, self._queued = self._queued, []
        wrote = self.write(transactions)
        if self._replication_queue is None:
            self.published(transactions)
        else:
            if transactions:
                self._replication_queue.add(transactions[-1].revision, transactions)
            self.announce()
        return wrote

    def compact(self, *, ends: bool = False) -> None:
        """Replace the journal by a snapshot when it has grown, or because the qmaster `ends`; everything queued must be written.

        Raises SpoolError, after which all is as it was.
        """
        if ends or self.spool.wants_snapshot:
            self.spool.snapshot(self.state)
