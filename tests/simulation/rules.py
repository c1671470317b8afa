"""The rules of a simulated cell, between any two steps and at its end: one method a rule.

Defines the verdict from three sources: the state of the master, the acknowledged requests (`Promises`), and the starts on
hosts. A rule that is broken raises `Breach`. Changes nothing. Called by the simulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from daemons.qmaster.master import Master
from daemons.qmaster.transaction import Transaction
from daemons.schedd.mirror import Mirror
from gridengine.protocols.delivery import Start
from gridengine.state.apply import load_state
from gridengine.state.events import encode_events
from gridengine.state.invariants import invariants
from gridengine.state.jobs import Job
from gridengine.state.machines.task import TaskDispatched
from gridengine.state.parts import pack_jobs, pack_state
from gridengine.state.state import State, decode_snapshot
from gridengine.state.volatile import carry_over
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.task_key import SlaveKey, TaskKey
from tests.simulation.promises import JobRequest, Promises
from tests.simulation.simulated_host import SimulatedHost

LICENCES = 3


class Breach(AssertionError):
    """A rule is broken; the text begins with its name."""


def hold(rule: str, holds: object, what: object = "") -> None:
    """Raises Breach unless it does."""
    if not holds:
        raise Breach(f"{rule}: {what}")


class Rules:
    """`master`: the running master, or None. `begun`: the tries that began on hosts, and where. `checks`: how many there were.
    `broken`: the breaches found while the program ran, which may have caught the exception. `lost_hosts`: hosts that were without
    power or network at some time.
    """

    def __init__(self, promises: Promises, latest: Callable[[], float]) -> None:
        """latest: the highest time that the clock of the master has shown."""
        self._promises, self._latest = promises, latest
        self.master: Master | None = None
        self.begun: dict[TaskKey, str] = {}
        self.lost_hosts: set[str] = set()
        self.checks = 0
        self.broken: list[Breach] = []
        self.clock_was_set = False
        self._mirror = Mirror()
        self._checked: tuple[Master | None, int] = (None, -1)
        self._before: State | None = None
        self._numbers: dict[str, int] = {}
        self._recorded: list[AccountingRecord] = []
        self._died_writing = False
        self._attempts: Counter[tuple[int, int]] = Counter()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A breach within is kept, also if the program survives it."""
        try:
            yield
        except Breach as breach:
            self.broken.append(breach)
            raise

    # --- what is seen as it happens ------------------------------------------------------------------------

    def master_began(self, master: Master) -> None:
        """A master has read its spool. The master has every transaction that the previous master had announced, and no other,
        unless the previous master died while writing."""
        with self.noted():
            self._compare(master)
        self._mirror.load([pack_state(master.state), pack_jobs(list(master.state.jobs.values()))])
        master.subscribers.append(self._announced)
        self.master = master
        for job in master.state.jobs.values():
            for task in job.tasks.values():
                self._tried(job.id, task.id, task.attempt)

    def _compare(self, master: Master) -> None:
        if self._before is not None:
            read = load_state(State(decode_snapshot(master.state.snapshot())))
            carry_over(self._before, read)
            read.revision = self._before.revision
            hold("restored", read.snapshot() == self._before.snapshot(), "the state that was read is not the one before")

    def master_died(self, writing: bool) -> None:
        view = self._mirror.view
        self._before = view.state if view is not None and not writing else None
        self._died_writing = self._died_writing or writing
        self.master = None

    def _announced(self, transaction: Transaction) -> None:
        events = [encode_events(transaction.events)]
        with self.noted():
            follows = self._mirror.advance(transaction.revision - 1, events)
            hold("mirror", follows, f"revision {transaction.revision} does not follow")
        self._recorded += [record for _, _, record in transaction.accounting]
        for event in transaction.events:
            if isinstance(event, TaskDispatched):
                self._tried(event.job_id, event.task_id, event.attempt)

    def _tried(self, job: int, task: int, attempt: int) -> None:
        self._attempts[job, task] = max(self._attempts[job, task], attempt)

    def begins(self, host: str, start: Start) -> None:
        """A try begins on a host."""
        with self.noted():
            self._begins(host, start)

    def _begins(self, host: str, start: Start) -> None:
        key, request = start.key, self._promises.requests.get(start.job.name)
        hold("once", key not in self.begun, f"{key} begins on {host}, and began on {self.begun.get(key)}")
        hold("invented", request is not None, f"no user requested {start.job.name}")
        if request is None or isinstance(key, SlaveKey):
            self.begun[key] = host
            return
        state = self.master.state if self.master is not None else None
        for before in request.after:
            gone = state is None or before.id not in state.jobs
            hold("order", gone, f"{request.name} begins before {before.name} is over")
        hold("hold", not request.held or request.released, f"{request.name} begins, and no user has released it")
        hold("deleted", not (request.deleted and request.over), f"{request.name} begins after it was deleted")
        earlier = [other for other in self.begun if other[:2] == key[:2] and len(other) == len(key)]
        hold("attempts", all(other[2] < key[2] for other in earlier), f"{key} begins after {earlier}")
        self.begun[key] = host

    # --- between two steps ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Of the master that lives, if its state has changed since."""
        master = self.master
        if master is None or self._checked == (master, master.state.revision):
            return
        self._checked = master, master.state.revision
        self.checks += 1
        state = master.state
        broken = invariants(state)
        hold("invariants", not broken, "; ".join(broken))
        self._amounts(state)
        self._kept(master)
        self._reservations(state)
        number = state.kind("cluster_queue")["all.q"]["seq_no"]
        hold("configuration", number in self._promises.number.may_be, f"seq_no is {number}: {self._promises.number}")
        if master.announced:
            view = self._mirror.view
            hold("mirror", view is not None and view.state.snapshot() == state.snapshot(), "is not what the master is")

    def _amounts(self, state: State) -> None:
        """Counted from the tasks alone: slots, licences, running tasks of an array, and the bookings of reservations."""
        slots: Counter[str] = Counter()
        licences = 0
        now = self._latest()
        begun = [one for one in state.reservations.values() if one.started and not one.ending and one.end_time > now]
        held = [] if self.clock_was_set else begun
        for job in state.jobs.values():
            request, placed = self._request_of(job), job.placed
            fits = not request.concurrency or len(placed) <= request.concurrency
            hold("concurrency", fits, f"{request.name}: {len(placed)} tasks")
            for task in placed:
                for grant in task.granted:
                    slots[grant.instance] += 0 if job.ar else grant.slots  # in a window that ends one may linger
                licences += 0 if job.ar else request.licences * task.slots
        for one in held:
            for grant in one.granted:
                slots[grant.instance] += grant.slots
            licences += one.slots if "lic" in one.resources else 0
        for instance, taken in slots.items():
            limit = state.configs[instance].slots
            hold("slots", taken <= limit, f"{taken} of {limit} slots are taken in {instance}")
        hold("licences", licences <= LICENCES, f"{licences} of {LICENCES} licences are taken")

    def _request_of(self, job: Job) -> JobRequest:
        request = self._promises.requests.get(job.name)
        hold("invented", request is not None, f"job {job.id} {job.name}")
        assert request is not None
        number = self._numbers.setdefault(job.name, job.id)
        single = number == job.id and request.id in (0, job.id)
        hold("doubled", single, f"{job.name} is job {job.id}, and job {request.id or number}")
        return request

    def _kept(self, master: Master) -> None:
        """Acknowledged jobs are there, as altered, or have an accounting record; no deleted job is waiting."""
        jobs = master.state.jobs
        for request in self._promises.there:
            job = jobs.get(request.id)
            if job is None:
                self._is_over(master, request)
                continue
            hold("lost", job.name == request.name, f"job {request.id} is {job.name}, not {request.name}")
            hold("alteration", job.account in request.account.may_be, f"{request.name} has {job.account}: {request.account}")
            hold("deleted", not (request.deleted and job.pending), f"{request.name} was deleted and waits")
        for job in jobs.values():
            hold("deleted", not self._request_of(job).over, f"job {job.id} is there again")

    def _is_over(self, master: Master, request: JobRequest) -> None:
        request.over = True
        records = master.spool.accounted.records([request.id])
        ended = {int(record.task_number) or 1 for _, record in records if record.pe_taskid == "NONE"}
        missing = set(request.tasks) - ended
        window = master.state.reservations.get(request.reservation)
        nothing = request.deleting or request.fleeting or (request.reservation and (window is None or window.ending))
        hold("lost", not missing or nothing or master.pending, f"{request.name} is gone, without records of its tasks {missing}")

    def _reservations(self, state: State) -> None:
        for one in self._promises.reserved.values():
            if one.id not in state.reservations and not one.over:
                over = one.deleting or one.altering or one.ends <= self._latest()
                hold("window", over, f"reservation {one.id} is gone before its time")
                one.over = True

    # --- at the end ----------------------------------------------------------------------------------------

    def check_end(self, hosts: Iterable[SimulatedHost], files: Path) -> None:
        """Nothing waits, runs or is left over, and everything is accounted for, once."""
        master = self.master
        hold("ends", master is not None, "no master comes up")
        assert master is not None
        state = master.state
        hold("ends", not state.jobs, f"jobs {sorted(state.jobs)} are still there")
        hold("ends", not state.reservations, f"reservations {sorted(state.reservations)} are still there")
        hold("left over", not list(state.bookings.entries()), "something is booked")
        for host in hosts:
            hold("left over", not host.working and not host.ended, f"{host.name}: {sorted(host.working)} {sorted(host.ended)}")
        rows = list(master.spool.accounted.records())
        self._accounting([record for _, record in rows])
        master.accounting.follow()
        lines = [line for line in (files / "accounting").read_text().splitlines() if line[:1] != "#"]
        hold("file", len(lines) == len(rows), f"{len(lines)} lines of {len(rows)} records")

    def _accounting(self, records: list[AccountingRecord]) -> None:
        masters = [record for record in records if record.pe_taskid == "NONE"]
        tries = Counter((int(record.job_number), int(record.task_number) or 1) for record in masters)
        good = Counter((each.job_number, each.task_number) for each in masters if each.failed == each.exit_status == "0")
        for (job, task), count in good.items():
            hold("accounting", count == 1, f"task {job}.{task} has succeeded {count} times")
        for key, count in tries.items():  # one that is given back before it began has none
            hold("accounting", count <= self._attempts[key], f"task {key}: {count} records of {self._attempts[key]} tries")
        self._slaves(records)
        lost = Counter(self._recorded) - Counter(records)
        hold("accounting", not lost, f"announced, and not there: {lost}")
        surplus = Counter(records) - Counter(self._recorded)
        hold("accounting", not surplus or self._died_writing, f"there, and never announced: {surplus}")
        for request in self._promises.known:
            if not (request.deleting or request.fleeting or request.reservation):
                missing = [task for task in request.tasks if not tries[request.id, task]]
                hold("accounting", not missing, f"{request.name}: no record of tasks {missing}")

    def _slaves(self, records: list[AccountingRecord]) -> None:
        """Each slave task has a record, unless a host of its job was lost: the job may have ended without the slave task."""
        places = {(key[:3], host) for key, host in self.begun.items()}
        broken = {attempt for attempt, host in places if host in self.lost_hosts}
        slaves = [key for key in self.begun if isinstance(key, SlaveKey) and key[:3] not in broken]
        begun = Counter((key.job, key.task, key.number) for key in slaves)
        recorded = Counter(
            (int(each.job_number), int(each.task_number) or 1, int(each.pe_taskid.partition(".")[0]))
            for each in records
            if each.pe_taskid != "NONE"
        )
        hold("slaves", begun <= recorded, f"no record of slave tasks {begun - recorded}")
