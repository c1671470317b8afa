"""The state of the cluster: one plain data structure, and the indexes derived from it.

Owns the primary data (spooled and mirrored as a snapshot) and the derived indexes. Only `gridengine.state.apply` writes; all
other modules read. No clock, no files, no sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from itertools import chain
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gridengine.config.queue_resolution import ResolvableQueue
from gridengine.state.bookings import GLOBAL, Amounts, Booking, Bookings, Once, bookings_of
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.configured.objects import (
    read_calendar,
    read_checkpoint,
    read_complex,
    read_exec_host,
    read_host_rule,
    read_host_units,
    read_pe,
    read_project,
    read_quota_rules,
    read_share_tree,
    read_user,
    read_userset,
)
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.configured.table import Table
from gridengine.state.groups import HostGroups
from gridengine.state.hooks import decode_hook, encode_hook
from gridengine.state.hosts import Host
from gridengine.state.jobs import FinishedJob, GrantedUnits, Job, Task, Tickets
from gridengine.state.queues import InstanceConfig, QueueInstance
from gridengine.state.quotas import QuotaBook
from gridengine.state.reservations import AdvanceReservation, JobReservation, ReservationIndex
from gridengine.state.share_usage import ShareUsage
from gridengine.state.shared_values import share_values
from gridengine.state.slaves import SlaveTask
from gridengine.state.units_in_use import UnitsInUse
from gridengine.values.task_key import SlaveKey

Attributes = dict[str, str]
T = TypeVar("T")


class Snapshot(Struct, omit_defaults=True):
    """The primary data, as spooled and as sent to a mirror. `next_job_id`, `next_ar_id`: numbers of the next job and reservation,
    if they are free. `objects`: kind -> name -> attribute texts. `instances`, `hosts`: by name; `reservations`: by number.
    `finished`: the last ended jobs, oldest first. `rule_members`: host group -> hosts that match its rule. `share_usage`: user ->
    project -> usage of ended tasks. `jobs`: empty if they are sent in parts (`encode_part`)."""

    revision: int = 0
    next_job_id: int = 1
    objects: dict[str, dict[str, Attributes]] = field(default_factory=dict)
    instances: dict[str, QueueInstance] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    finished: list[FinishedJob] = field(default_factory=list)
    rule_members: dict[str, list[str]] = field(default_factory=dict)
    next_ar_id: int = 1
    reservations: dict[int, AdvanceReservation] = field(default_factory=dict)
    share_usage: dict[str, dict[str, ShareUsage]] = field(default_factory=dict)


class UnreconciledChanges(Struct):
    """Configuration changes that the queue instances do not reflect yet: host groups (`groups`), and the queues named in
    `queues`. `quotas`: the use under resource quotas has to be counted again."""

    groups: bool = False
    queues: set[str] = field(default_factory=set)
    quotas: bool = False


decode_snapshot = msgspec.json.Decoder(Snapshot, dec_hook=decode_hook).decode
encode_part = msgspec.json.Encoder(enc_hook=encode_hook).encode
"""A snapshot, or a part of its jobs, as JSON."""
decode_jobs = msgspec.json.Decoder(list[Job], dec_hook=decode_hook).decode
"""A part of the jobs. Raises msgspec.DecodeError."""


class State:
    """The cluster. Primary: `objects` (kind -> name -> attribute texts), `instances`, `hosts`, `jobs`, `finished`,
    `rule_members` (host group -> hosts that match its rule), `reservations`,
    `share_usage` (user -> project -> usage of ended tasks). `unreconciled` is empty between transactions.

    Derived: `queues` and `groups` (resolution), `configs` and `ambiguous` by instance, `superiors` (host -> instances that
    have subordinates), `bookings`, `units_in_use` (of resource maps), `quotas`, `tasks_on` (host -> (job, task) of every task
    with a grant there), `tasks_in` (the same by instance), `reniced` (tasks with a nice value of their own), `dependents` (job ->
    jobs that wait for it), `doomed` (jobs that can never run), `owned` (owner and group -> numbers of jobs), `sensing` (host ->
    hosts for which its load sensors may have reported values), `closed_shares` (host -> free shares of its closed units, which
    are booked; no entry without closed units). Volatile, never spooled: `priorities`, `tickets`,
    `job_reservations` (the scheduler's reservations for pending jobs).
    """

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        data = snapshot or Snapshot()
        self.revision = data.revision
        self.next_job_id = data.next_job_id
        self.objects = data.objects
        self.instances = data.instances
        self.hosts = data.hosts
        self.jobs = data.jobs
        share_values(self.jobs.values())
        self.finished = data.finished
        self.rule_members = data.rule_members
        self.next_ar_id = data.next_ar_id
        self.reservations = data.reservations
        self.share_usage = data.share_usage
        self.reserved = ReservationIndex()
        self.unreconciled = UnreconciledChanges()
        self.tickets: dict[int, Tickets] = {}
        self.priorities: dict[int, tuple[float, float, float, float]] = {}
        self.job_reservations: list[JobReservation] = []
        self._configurations: dict[str, HostConfiguration] = {}
        self._scheduler: SchedulerConfiguration | None = None
        self.complexes = Table(self.objects, "complex", read_complex)
        self.pes = Table(self.objects, "parallel_environment", read_pe)
        self.exec_hosts = Table(self.objects, "exec_host", read_exec_host)
        self.host_units = Table(self.objects, "host_units", read_host_units)
        self.usersets = Table(self.objects, "userset", read_userset)
        self.users = Table(self.objects, "user", read_user)
        self.projects = Table(self.objects, "project", read_project)
        self.checkpoints = Table(self.objects, "checkpoint", read_checkpoint)
        self.calendars = Table(self.objects, "calendar", read_calendar)
        self.host_rules = Table(self.objects, "host_group", read_host_rule)
        self.quota_rules = Table(self.objects, "resource_quota", read_quota_rules)
        self.share_trees = Table(self.objects, "share_tree", read_share_tree)
        self._derived: dict[Any, Any] = {}
        self.queues: dict[str, ResolvableQueue] = {}
        self.groups = HostGroups({})
        self.configs: dict[str, InstanceConfig] = {}
        self.ambiguous: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self.superiors: dict[str, set[str]] = {}
        self.instances_of: dict[str, set[str]] = {}
        self.bookings = Bookings()
        self.units_in_use = UnitsInUse()
        self.closed_shares: dict[str, list[GrantedUnits]] = {}
        self.quotas = QuotaBook(self)
        self.tasks_on: dict[str, set[tuple[int, int]]] = {}
        self.tasks_in: dict[str, set[tuple[int, int]]] = {}
        self.reniced: set[tuple[int, int]] = set()
        self.dependents: dict[int, set[int]] = {}
        self.doomed: set[int] = set()
        self.owned: dict[tuple[str, str], set[int]] = {}
        self.sensing: dict[str, set[str]] = {}

    # --- configuration ---------------------------------------------------------------------------------

    def kind(self, kind: str) -> dict[str, Attributes]:
        """All objects of a kind by name; empty if there are none."""
        return self.objects.get(kind, {})

    def has(self, kind: str, name: str) -> bool:
        return name in self.objects.get(kind, {})

    def forget_typed(self, kind: str, name: str) -> None:
        """Invalidate a changed object: the next use reads it again."""
        if kind == "scheduler":
            self._scheduler = None
        elif kind == "configuration":
            self._configurations.clear()  # the global one applies to all hosts
        else:
            for table in self._tables():
                if table.kind == kind:
                    table.forget(name)

    def _tables(self) -> Iterator[Table[Any]]:
        return (value for value in vars(self).values() if isinstance(value, Table))

    def configuration(self, host: str = GLOBAL) -> HostConfiguration:
        """sge_conf(5) in force on a host, or in the cluster."""
        known = host if self.has("configuration", host) else GLOBAL
        found = self._configurations.get(known)
        if found is None:
            found = self._configurations[known] = HostConfiguration.of(self.configuration_text(known))
        return found

    def configuration_text(self, host: str) -> Attributes:
        """The same as texts, as sent to the host: the global configuration, overlaid by the local configuration of the host."""
        configurations = self.kind("configuration")
        return {**configurations.get(GLOBAL, {}), **configurations.get(host, {})}

    @property
    def scheduler(self) -> SchedulerConfiguration:
        """sched_conf(5) in force."""
        if self._scheduler is None:
            self._scheduler = SchedulerConfiguration.of(self.kind("scheduler").get("", {}))
        return self._scheduler

    def derived(self, make: Callable[[State], T]) -> T:
        """The value that `make` derives from the configuration alone, made again after each change of the configuration."""
        if make not in self._derived:
            self._derived[make] = make(self)
        found: T = self._derived[make]
        return found

    def forget_derived(self) -> None:
        """Invalidate all derived values: the configuration has changed."""
        self._derived.clear()

    def per_job(self, name: str) -> bool:
        """Whether a complex is a consumable that is booked once for each job (JOB)."""
        entry = self.complexes.get(name)
        return entry is not None and entry.per_job

    def once(self, name: str) -> Once:
        """Whether a task is charged with an amount of a consumable for each slot, once, or on each host (`Once`)."""
        entry = self.complexes.get(name)
        return entry.once if entry is not None else ""

    def amounts(self, resources: Mapping[str, str]) -> Amounts:
        """The amounts in `Task.resources` or `AdvanceReservation.resources`, as numbers."""
        return {name: (float(text), self.once(name)) for name, text in resources.items()}

    # --- jobs ------------------------------------------------------------------------------------------

    def task(self, job_id: int, task_id: int, attempt: int | None = None) -> Task | None:
        """The task object, None if there is none or it has another attempt."""
        job = self.jobs.get(job_id)
        task = job.tasks.get(task_id) if job else None
        return task if task is not None and attempt in (None, task.attempt) else None

    def live_slave(self, key: SlaveKey) -> SlaveTask | None:
        """The slave task of this key; None if it or its attempt has ended."""
        task = self.task(*key.master)
        slave = task.slaves.get(key.number) if task is not None else None
        return slave if slave is not None and not slave.over else None

    def bookings_of(self, task: Task) -> Iterator[Booking]:
        """The bookings of a dispatched task in its instances and its PE."""
        return bookings_of(task.granted, self.amounts(task.resources), task.pe)

    def jobs_of(self, selects: Callable[[str, str], bool]) -> list[Job]:
        """The jobs whose owner and group `selects(owner, group)` accepts, by number. The cost follows from the result."""
        found = [numbers for owner_and_group, numbers in self.owned.items() if selects(*owner_and_group)]
        if len(found) == len(self.owned):
            return list(self.jobs.values())
        return [self.jobs[number] for number in sorted(chain.from_iterable(found))]

    def ended_job(self, number: int) -> Job | None:
        """The complete record of one of the last ended jobs; None for all other jobs."""
        return next((ended.job for ended in reversed(self.finished) if ended.id == number), None)

    def waits_for(self, job: Job) -> list[int]:
        """Predecessors of `-hold_jid` that have not ended, or not as they had to (DP-2, DP-3)."""
        return [other for other in job.predecessors if other in self.jobs or other in job.conditions]

    # --- instances -------------------------------------------------------------------------------------

    def slots_used(self, instance: str) -> int:
        """Slots of an instance that jobs use, including slots in reservations, as in qstat -f."""
        return self.bookings.slots(instance) + self.reserved.slots_used(instance)

    def slots_reserved(self, instance: str) -> int:
        """Slots of an instance that started reservations hold. Source: O (qstat -f), AR-38."""
        numbers = self.reserved.of_instance.get(instance, ())
        return sum(self.reserved.held[number].slots(instance) for number in numbers if self.reservations[number].started)

    def is_in_use(self, instance: str) -> bool:
        """Whether a task or a reservation uses an instance, so it stays as an orphan (CQ-29, AR-80)."""
        return bool(self.tasks_in.get(instance)) or instance in self.reserved.of_instance

    # --- branches ----------------------------------------------------------------------------------------

    def branch(self) -> State:
        """A copy to which only events of the configuration may be applied, to see their effects.

        Data that such events do not write is shared: a branch of a thousand hosts costs two milliseconds.
        """
        made = copy(self)
        made.objects = {kind: dict(objects) for kind, objects in self.objects.items()}
        made.instances = {name: copy(instance) for name, instance in self.instances.items()}
        made.hosts = {
            name: replace(host, load=dict(host.load), sensed_by=dict(host.sensed_by)) if host.sensed_by else host
            for name, host in self.hosts.items()
        }
        made.sensing = {host: set(others) for host, others in self.sensing.items()}
        made.rule_members, made.tasks_in = dict(self.rule_members), dict(self.tasks_in)
        made.queues, made.configs, made.ambiguous = dict(self.queues), dict(self.configs), dict(self.ambiguous)
        made.superiors = {host: set(names) for host, names in self.superiors.items()}
        made.instances_of = {queue: set(names) for queue, names in self.instances_of.items()}
        made._configurations, made._derived, made.unreconciled = dict(self._configurations), {}, UnreconciledChanges()
        for name, table in vars(self).items():
            if isinstance(table, Table):
                setattr(made, name, table.branch(made.objects))
        made.quotas = QuotaBook(made)
        return made

    def reserving_branch(self) -> State:
        """A branch to which changes of advance reservations may be applied, too."""
        made = self.branch()
        made.reservations = {number: copy(reservation) for number, reservation in self.reservations.items()}
        made.reserved = self.reserved.copy()
        return made

    # --- snapshots -------------------------------------------------------------------------------------

    def add_jobs(self, jobs: list[Job]) -> None:
        """Add another part of the jobs of a snapshot; indexes are derived after the last part."""
        share_values(jobs)
        self.jobs.update((job.id, job) for job in jobs)

    def snapshot(self, jobs: bool = True) -> bytes:
        """All primary data, or without the jobs."""
        return encode_part(
            Snapshot(
                self.revision, self.next_job_id, self.objects, self.instances, self.hosts, self.jobs if jobs else {},
                self.finished, self.rule_members, self.next_ar_id, self.reservations, self.share_usage,
            )
        )
