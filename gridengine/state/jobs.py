"""Jobs, their tasks and what they were granted: the part of the state that a submission creates.

Owns the shapes alone. Who may change them is decided in `daemons.qmaster`; they are written by
`gridengine.state.apply` only. A job keeps its pending tasks as ranges and only those tasks as objects that
have a life of their own (running, in error, rescheduled), so a million pending tasks cost what one costs.
The script and the environment are not here: they are payload (see `daemons.qmaster.spooling.spool`).
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from gridengine.gdi.job_request import REQUEST_FIELDS, JobRequest
from gridengine.instance_name import host_of, queue_of
from gridengine.ranges import Ranges
from gridengine.state.field_changes import FieldChanges, field_changes
from gridengine.state.reported import Reported
from gridengine.state.slaves import MasterEnd, SlaveTask

PathOnHost = tuple[str, str]
"""(host or "", path): an `-o`, `-e`, `-i` or `-S` value; "" stands for every host not named."""


class Hold(IntFlag):
    """Hold types of `qhold -h` (statement SO-49) plus the ones that the system keeps."""

    USER = 1
    OPERATOR = 2
    SYSTEM = 4


class Grant(Struct, array_like=True):
    """Slots of one queue instance given to a task. The first of a task's grants is its master's."""

    instance: str
    slots: int

    @property
    def queue(self) -> str:
        return queue_of(self.instance)

    @property
    def host(self) -> str:
        return host_of(self.instance)


class Usage(Struct, omit_defaults=True):
    """Online usage of a running task: cpu s, mem GB s, io GB, iow s, vmem and maxvmem bytes."""

    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    iow: float = 0.0
    vmem: float = 0.0
    maxvmem: float = 0.0


class Confinement(Struct, omit_defaults=True):
    """What a host holds a running task to. `binding`: topology with the task's cores in small letters (`SccC`), "" unbound.

    `memory`: how its memory is limited, "" when nothing but plain limits was asked for.
    """

    binding: str = ""
    memory: str = ""


SHORT_TRY_S = 60.0
"""A try that did not last longer ended at once, as far as starting the task over and over goes."""
PAUSES_S = (0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Pause before the next try after 0, 1, 2, ... such tries in a row; at last as long as 8.1.9's scheduling interval."""


class Task(Struct, omit_defaults=True):
    """One task that has left the pending ranges of its job. A task that has ended is not kept."""

    id: int
    #: `pending`: again, rescheduled or in error; `transferring`: given to a host, which has not acknowledged it
    status: Literal["pending", "transferring", "running"] = "pending"
    attempt: int = 0
    granted: list[Grant] = field(default_factory=list)
    pe: str = ""
    start_time: float = 0.0
    #: the last command that the host confirmed; what is wanted follows from the state (`gridengine.state.desired_command`)
    applied: Literal["", "run", "suspend", "unsure", "migrate", "kill", "end"] = ""
    suspended: bool = False
    threshold_suspended: bool = False
    subordinated: bool = False
    deleted_by: str = ""
    ended_by_operator: bool = False
    rescheduling: bool = False
    restarts: int = 0
    #: why it is in error state, "" if it is not
    error: str = ""
    #: why its last try came to nothing, until the next begins
    mishap: str = ""
    usage: Usage | None = None
    #: its usage when -clearusage last set that of its owner to zero
    cleared: Usage | None = None
    #: what of its usage the reporting file has already
    reported: Reported | None = None
    #: end of its last try
    requeued_at: float = 0.0
    #: how many tries in a row ended within SHORT_TRY_S
    short_tries: int = 0
    confinement: Confinement | None = None
    #: process id of the job in its last checkpoint, 0 without one
    checkpoint: int = 0
    #: its slave tasks by number
    slaves: dict[int, SlaveTask] = field(default_factory=dict)
    #: how many slave tasks there were in all
    slaves_begun: int = 0
    #: what the slave tasks that ended have used
    slave_usage: dict[str, float] = field(default_factory=dict)
    #: the end of its master, which waits for those of its slave tasks
    master_end: MasterEnd | None = None
    #: the nice value that is wanted (`gridengine.state.niceness`), since `nice_time` (epoch s)
    nice: int | None = None
    nice_time: float = 0.0
    nice_applied: int | None = None
    #: hard requests as they were when the task was dispatched: what it is charged until it ends
    resources: dict[str, str] = field(default_factory=dict)

    @property
    def paused_until(self) -> float:
        """When it may have a place again after tries that ended at once, epoch seconds; 0.0 if it need not pause."""
        pause = PAUSES_S[min(self.short_tries, len(PAUSES_S) - 1)]
        return self.requeued_at + pause if pause and self.waits else 0.0

    @property
    def waits(self) -> bool:
        """Whether it has no place."""
        return self.status == "pending"

    @property
    def host(self) -> str:
        """Host of the master task, "" while the task has no place."""
        return self.granted[0].host if self.granted else ""

    @property
    def slots(self) -> int:
        return sum(grant.slots for grant in self.granted)


class Tickets(NamedTuple):
    """Tickets of a job by policy. Source: sge_priority(5)."""

    override: float = 0.0
    functional: float = 0.0
    share: float = 0.0


NO_TICKETS = Tickets()


class Job(JobRequest, omit_defaults=True):
    """A submitted job: what its owner asked of it, who that is, and how far it has come. Times are epoch seconds. Field names
    follow sge_submit(1) and `qstat -j`.
    """

    id: int
    name: str
    owner: str
    uid: int
    group: str
    gid: int
    #: moves when a task is to wait behind others; then the next one is what it was at first
    submit_time: float
    first_submit_time: float = 0.0
    submit_host: str = ""
    #: goes up with each change on which an order may depend
    version: int = 0
    department: str = "defaultdepartment"
    #: resource requests by full complex name
    hard: dict[str, str] = field(default_factory=dict)
    soft: dict[str, str] = field(default_factory=dict)
    #: the tasks of -t; first, last and step as submitted
    array: Ranges | None = None
    task_range: tuple[int, int, int] | None = None
    #: all jobs that are waited for, and how those of them must end for which it matters (DP-2, ADR 0020)
    predecessors: tuple[int, ...] = ()
    predecessors_requested: tuple[str, ...] = ()
    array_predecessors: tuple[int, ...] = ()
    array_predecessors_requested: tuple[str, ...] = ()
    conditions: dict[int, Literal["ok", "fail"]] = field(default_factory=dict)
    #: why the job can never run, "" if it can
    doomed: str = ""
    #: how many of its tasks did not succeed
    unsuccessful: int = 0
    #: why the scheduler cannot handle the job, "" if it can: none of its waiting tasks is looked at then
    error: str = ""
    #: when its advance reservation was made, 0 without one
    ar_time: float = 0.0
    #: tasks that were never started
    pending: Ranges = field(default_factory=Ranges)
    #: tasks per hold type (`Hold` value as key)
    holds: dict[int, Ranges] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)

    @property
    def submitted(self) -> float:
        """When it was submitted, which tells it from other jobs that had or will have its number."""
        return self.first_submit_time or self.submit_time

    @property
    def is_array(self) -> bool:
        return self.array is not None

    @property
    def requested_arrays(self) -> tuple[str, ...]:
        """-hold_jid_ad as it was requested; a job of an earlier release has numbers alone."""
        return self.array_predecessors_requested or tuple(map(str, self.array_predecessors))

    @property
    def task_step(self) -> int:
        """Distance of the tasks of an array as submitted; 1 for other jobs."""
        if self.task_range is not None:
            return self.task_range[2]
        return self.array.step if self.array is not None else 1

    @property
    def waiting(self) -> Ranges:
        """Tasks that have no place: never started, or pending again."""
        return self.pending | Ranges.of(task.id for task in self.tasks.values() if task.waits)

    @property
    def waits(self) -> bool:
        """Whether one of its tasks has no place."""
        return bool(self.pending) or any(task.waits for task in self.tasks.values())

    @property
    def runs(self) -> bool:
        """Whether one of its tasks has a place."""
        return any(not task.waits for task in self.tasks.values())

    @property
    def placed(self) -> list[Task]:
        """Its tasks that have a place."""
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
        """What `qalter` changes of a job: what it asks for, and what that is resolved to."""

else:
    _OF_LISTS = ("predecessors", "predecessors_requested", "array_predecessors", "array_predecessors_requested", "conditions")
    _RESOLVED = ("name", "hard", "soft", "ar_time", *_OF_LISTS)
    JobChanges = field_changes("JobChanges", Job, (*REQUEST_FIELDS, *_RESOLVED))


KEPT_JOBS = 100
"""Ended jobs that are kept whole, with script and environment."""


class FinishedJob(Struct, omit_defaults=True):
    """What is kept of an ended job for `qstat -s z` and dependencies: the last `finished_jobs` of them."""

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
