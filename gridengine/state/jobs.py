"""Jobs, their tasks and their grants: the part of the state that a submission creates.

Owns only the shapes. `daemons.qmaster` decides on changes; only `gridengine.state.apply` writes them. A job keeps its
pending tasks as ranges, and only tasks with a state of their own (running, in error, rescheduled) as objects, so a million
pending tasks cost as much as a single task. The script and the environment are payload, outside the state (see
`daemons.qmaster.spooling.spool`).
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from gridengine.protocols.gdi.job_request import REQUEST_FIELDS, JobRequest
from gridengine.state.conditions import SUSPENDING, ConditionName
from gridengine.state.field_changes import FieldChanges, field_changes
from gridengine.state.reported import Reported
from gridengine.state.slaves import MasterEnd, SlaveTask
from gridengine.usage.unit_usage import UnitUsage
from gridengine.values.instance_name import host_of, queue_of
from gridengine.values.ranges import Ranges

PathOnHost = tuple[str, str]
"""(host or "", path): an `-o`, `-e`, `-i` or `-S` value; "" means every other host."""


class Hold(IntFlag):
    """Hold types of `qhold -h` (statement SO-49)."""

    USER = 1
    OPERATOR = 2
    SYSTEM = 4


class Grant(Struct, array_like=True):
    """Slots of one queue instance (`instance`: its name) given to a task. The first of a task's grants is its master's."""

    instance: str
    slots: int

    @property
    def queue(self) -> str:
        return queue_of(self.instance)

    @property
    def host(self) -> str:
        return host_of(self.instance)


class GrantedUnits(Struct, array_like=True):
    """Named units of one resource that a task has on one of its hosts (adr/0320). `resource`: its complex; `units`: a name for
    each share; `of_cluster`: the cluster has these units, not the host."""

    host: str
    resource: str
    units: list[str]
    of_cluster: bool = False


class Usage(Struct, omit_defaults=True):
    """Online usage of a running task: cpu s, mem GB s, io GB, iow s, `vmem` and `maxvmem` bytes; `units`: of its devices."""

    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    iow: float = 0.0
    vmem: float = 0.0
    maxvmem: float = 0.0
    units: list[UnitUsage] = []


class Confinement(Struct, omit_defaults=True):
    """Confinement of a running task by its host. `binding`: topology with the task's cores in lower case (`SccC`), "" unbound.

    `memory`: how its memory is limited, "" if only plain limits were requested.
    """

    binding: str = ""
    memory: str = ""


SHORT_TRY_S = 60.0
"""An attempt that was not longer counts as short for the pauses before restarts."""
PAUSES_S = (0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Pause before the next attempt after 0, 1, 2, ... short attempts in a row; at most 8.1.9's scheduling interval."""


class Task(Struct, omit_defaults=True):
    """A task that has left the pending ranges of its job. Ended tasks are not kept."""

    #: its number in its job
    id: int
    #: `pending`: again, rescheduled or in error; `transferring`: sent to a host that has not acknowledged it
    status: Literal["pending", "transferring", "running"] = "pending"
    attempt: int = 0
    #: its grants, the master's first; empty while it is pending
    granted: list[Grant] = field(default_factory=list)
    pe: str = ""
    start_time: float = 0.0
    #: the last command that the host confirmed; the desired one follows from the state (`gridengine.state.desired_command`)
    applied: Literal["", "run", "suspend", "unsure", "migrate", "kill", "end"] = ""
    #: its conditions (`gridengine.state.conditions`) -> the user who requested each, "" if the event names none
    conditions: dict[ConditionName, str] = field(default_factory=dict)
    #: number of attempts that were restarts: state code R, RESTARTED
    restarts: int = 0
    #: reason of its error state, "" if it is not in error
    error: str = ""
    #: reason why its last attempt failed, until the next attempt begins
    mishap: str = ""
    #: usage of its present attempt so far, without slave tasks; None while unknown
    usage: Usage | None = None
    #: its usage when -clearusage last set its owner's usage to zero
    cleared: Usage | None = None
    #: the usage that the reporting file contains already
    reported: Reported | None = None
    #: end of its last attempt
    requeued_at: float = 0.0
    #: number of attempts in a row that ended within SHORT_TRY_S
    short_tries: int = 0
    #: cores and memory limit that its host gave it, None for none or while it is not running
    confinement: Confinement | None = None
    #: process id of the job in its last checkpoint, 0 without a checkpoint
    checkpoint: int = 0
    #: its slave tasks by number
    slaves: dict[int, SlaveTask] = field(default_factory=dict)
    #: total number of slave tasks
    slaves_begun: int = 0
    #: usage of the ended slave tasks
    slave_usage: dict[str, float] = field(default_factory=dict)
    #: and of their devices
    slave_units: list[UnitUsage] = field(default_factory=list)
    #: the end of its master, kept until its slave tasks have ended
    master_end: MasterEnd | None = None
    #: the desired nice value (`gridengine.state.niceness`), since `nice_time` (epoch s)
    nice: int | None = None
    nice_time: float = 0.0
    #: the nice value that its host has confirmed, None for none
    nice_applied: int | None = None
    #: hard requests at the time of dispatch: charged until the task ends
    resources: dict[str, str] = field(default_factory=dict)
    #: the units of resource maps that it has on each of its hosts
    units: list[GrantedUnits] = field(default_factory=list)

    @property
    def paused_until(self) -> float:
        """When it may be dispatched again after short attempts, epoch seconds; 0.0 without a pause."""
        pause = PAUSES_S[min(self.short_tries, len(PAUSES_S) - 1)]
        return self.requeued_at + pause if pause and self.waits else 0.0

    @property
    def waits(self) -> bool:
        """Whether it is not dispatched."""
        return self.status == "pending"

    @property
    def deleted_by(self) -> str:
        """The user who requested its deletion, "" without a request."""
        return self.conditions.get("deleted", "")

    @property
    def is_being_ended(self) -> bool:
        """Whether its host is instructed to end it."""
        return not self.conditions.keys() <= SUSPENDING

    @property
    def suspensions(self) -> set[ConditionName]:
        """Those of its conditions that suspend it."""
        return self.conditions.keys() & SUSPENDING

    @property
    def host(self) -> str:
        """Host of the master task, "" while the task is not dispatched."""
        return self.granted[0].host if self.granted else ""

    @property
    def slots(self) -> int:
        return sum(grant.slots for grant in self.granted)


class Tickets(NamedTuple):
    """Tickets of a job by policy: `override`, `functional` and `share` (share tree). Source: sge_priority(5)."""

    override: float = 0.0
    functional: float = 0.0
    share: float = 0.0


NO_TICKETS = Tickets()


class Job(JobRequest, omit_defaults=True):
    """A submitted job: its requests, its owner and its progress. `id`: its number. `submit_host`: from which it was submitted.
    Times are epoch seconds. Other field names follow sge_submit(1) and `qstat -j`.
    """

    id: int
    name: str
    owner: str
    uid: int
    group: str
    gid: int
    #: updated if a task has to queue again behind other jobs; then `first_submit_time` is the original value
    submit_time: float
    first_submit_time: float = 0.0
    submit_host: str = ""
    #: incremented by each change on which an order may depend
    version: int = 0
    department: str = "defaultdepartment"
    #: resource requests by full complex name
    hard: dict[str, str] = field(default_factory=dict)
    soft: dict[str, str] = field(default_factory=dict)
    #: the tasks of -t
    array: Ranges | None = None
    #: first, last and step of -t as submitted, None for a job that is not an array
    task_range: tuple[int, int, int] | None = None
    #: all predecessors; `conditions`: the required outcome, for predecessors that have a condition (DP-2, ADR 0020)
    predecessors: tuple[int, ...] = ()
    #: -hold_jid as the user gave it: numbers, names or patterns
    predecessors_requested: tuple[str, ...] = ()
    #: predecessors of -hold_jid_ad: task by task
    array_predecessors: tuple[int, ...] = ()
    #: -hold_jid_ad as the user gave it
    array_predecessors_requested: tuple[str, ...] = ()
    conditions: dict[int, Literal["ok", "fail"]] = field(default_factory=dict)
    #: reason why the job can never run, "" if it can
    doomed: str = ""
    #: number of its tasks that did not succeed
    unsuccessful: int = 0
    #: reason why the scheduler cannot handle the job, "" if it can: its pending tasks are skipped then
    error: str = ""
    #: time when its advance reservation was made, 0 without a reservation
    ar_time: float = 0.0
    #: tasks that were never started
    pending: Ranges = field(default_factory=Ranges)
    #: tasks per hold type (`Hold` value as key)
    holds: dict[int, Ranges] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)

    @property
    def submitted(self) -> float:
        """When it was submitted; distinguishes it from other jobs with the same number."""
        return self.first_submit_time or self.submit_time

    @property
    def is_array(self) -> bool:
        return self.array is not None

    @property
    def requested_arrays(self) -> tuple[str, ...]:
        """-hold_jid_ad as it was requested; a job of an earlier release has only numbers."""
        return self.array_predecessors_requested or tuple(map(str, self.array_predecessors))

    @property
    def task_step(self) -> int:
        """Distance of the tasks of an array as submitted; 1 for other jobs."""
        if self.task_range is not None:
            return self.task_range[2]
        return self.array.step if self.array is not None else 1

    @property
    def waiting(self) -> Ranges:
        """Tasks that are not dispatched: never started, or pending again."""
        return self.pending | Ranges.of(task.id for task in self.tasks.values() if task.waits)

    @property
    def waits(self) -> bool:
        """Whether at least one of its tasks is not dispatched."""
        return bool(self.pending) or any(task.waits for task in self.tasks.values())

    @property
    def runs(self) -> bool:
        """Whether at least one of its tasks is dispatched."""
        return any(not task.waits for task in self.tasks.values())

    @property
    def placed(self) -> list[Task]:
        """Its dispatched tasks."""
        return [task for task in self.tasks.values() if not task.waits]

    def held(self, task_id: int) -> Hold:
        """All hold types that are set for a task."""
        result = Hold(0)
        for kind, tasks in self.holds.items():
            if task_id in tasks:
                result |= Hold(kind)
        return result

    def label(self, task_id: int | None = None) -> str:
        """`12` or, for a task of an array, `12.3`: how messages name it."""
        return f"{self.id}.{task_id}" if self.is_array and task_id is not None else str(self.id)


if TYPE_CHECKING:

    class JobChanges(FieldChanges, frozen=True):
        """Changes of a job by `qalter`: its requests, and the values resolved from them."""

else:
    _OF_LISTS = ("predecessors", "predecessors_requested", "array_predecessors", "array_predecessors_requested", "conditions")
    _RESOLVED = ("name", "hard", "soft", "ar_time", *_OF_LISTS)
    JobChanges = field_changes("JobChanges", Job, (*REQUEST_FIELDS, *_RESOLVED))


KEPT_JOBS = 100
"""Ended jobs that are kept completely, with script and environment."""


class FinishedJob(Struct, omit_defaults=True):
    """The record of the ended job `id` for `qstat -s z` and dependencies; the last `finished_jobs` are kept. `unsuccessful`: one
    of its tasks did not succeed."""

    id: int
    name: str
    owner: str
    submit_time: float
    end_time: float
    slots: int = 1
    priority: float = 0.0
    unsuccessful: bool = False
    tasks: str = ""
    """Ranges of the tasks of an array as submitted, "" for other jobs."""
    job: Job | None = None
    """The job at its end, to submit it again; of the last `KEPT_JOBS` alone."""
