"""Events: everything that can happen to the state, as facts in the past tense.

Owns the shapes. Made by `daemons.qmaster` (decide, admit, due), written to the journal, applied by
`gridengine.state.apply` in the qmaster, in every mirror and at restart. An event holds all that its
application needs, times and ids included, and never refers to anything outside the state.
Events with `durable = False` (load reports, priorities) go to mirrors but not to the journal.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from gridengine.ranges import Ranges
from gridengine.state import host_events, slave_events
from gridengine.state.event_base import Event
from gridengine.state.hooks import decode_hook, encode_hook
from gridengine.state.jobs import Confinement, Grant, Job, Tickets, Usage
from gridengine.state.reservations import AdvanceReservation, JobReservation

# --- configuration -----------------------------------------------------------------------------------


class ObjectSet(Event, frozen=True, tag=True):
    """A configuration object was added or replaced; `attributes` are canonical texts in print order.

    `more`: another change of the same transaction follows, and queue instances are made to fit after the last one only,
    so that none goes and comes again, without its flags, in between.
    """

    kind: str
    name: str
    attributes: dict[str, str]
    more: bool = False


class ObjectRemoved(Event, frozen=True, tag=True):
    """A configuration object was removed; `more` as in `ObjectSet`."""

    kind: str
    name: str
    more: bool = False


class GroupMembersSet(Event, frozen=True, tag=True):
    """The hosts that match the rules of host groups changed: group -> all hosts that match now, sorted (HG-12)."""

    members: dict[str, list[str]]


# --- jobs --------------------------------------------------------------------------------------------


class JobSubmitted(Event, frozen=True, tag=True):
    job: Job


class JobChanged(Event, frozen=True, tag=True):
    """qalter: `changes` maps field names of `Job` to new values as JSON-able values; the version goes up by one, unless
    they are about its share and priority alone."""

    job_id: int
    changes: dict[str, Any]


class HoldsChanged(Event, frozen=True, tag=True):
    """`set_holds`/`cleared` are `Hold` flags for the tasks named (qhold, qrls, qalter -h); the version goes up by one."""

    job_id: int
    tasks: Ranges
    set_holds: int = 0
    cleared: int = 0


class PendingTasksDeleted(Event, frozen=True, tag=True):
    """Tasks that are not at a host were deleted; a job without any task left is gone. `reason`: "" if a person did it."""

    job_id: int
    tasks: Ranges
    by: str
    time: float
    reason: str = ""


class JobErrorChanged(Event, frozen=True, tag=True):
    """The scheduler cannot handle the job: `error` says why to its owner. "": an operator has cleared that."""

    job_id: int
    error: str


class TaskDispatched(Event, frozen=True, tag=True):
    """A task was given its place and will be delivered to the host of its first grant.

    `resources` are the amounts that the job is charged for as long as it holds the place.
    """

    job_id: int
    task_id: int
    attempt: int
    granted: list[Grant]
    time: float
    pe: str = ""
    resources: dict[str, str] = {}


class TaskStarted(Event, frozen=True, tag=True):
    """The host has the task and its shepherd runs."""

    job_id: int
    task_id: int
    attempt: int
    time: float
    confinement: Confinement | None = None


class TaskUsageReported(Event, frozen=True, tag=True):
    durable: ClassVar[bool] = False
    job_id: int
    task_id: int
    attempt: int
    usage: Usage


class TaskEnded(Event, frozen=True, tag=True):
    """A task has ended for good. What it used is in the accounting record of the same transaction.

    `abandoned`: its host has not said so, and is told to kill and forget what it may still run of it.
    """

    job_id: int
    task_id: int
    attempt: int
    time: float
    exit_status: int = 0
    failed: int = 0
    abandoned: bool = False


class TaskRequeued(Event, frozen=True, tag=True):
    """A task lost or gave back its place and is pending again (exit 99, host failure, qmod -r).

    `error`: reason of an error state (Eqw), "" when the task may simply run again. `behind`: the job counts as submitted
    now, and so waits behind those that were there before (QM-9). `restart`: the next try is a restart (`R`, RESTARTED=1).
    `mishap`: why this try came to nothing, where that is no error of the job. `abandoned`: as in `TaskEnded`.
    """

    job_id: int
    task_id: int
    attempt: int
    time: float
    error: str = ""
    behind: bool = False
    restart: bool = True
    mishap: str = ""
    abandoned: bool = False


class UsageCharged(Event, frozen=True, tag=True):
    """Tasks that ended, or gave their place back, had used something: (user, project or "", usage, epoch s of the end)."""

    charges: list[tuple[str, str, Usage, float]]


class UsageCleared(Event, frozen=True, tag=True):
    """The usage of users was set to zero (QF-33). `running`: (job, task, usage) of what tasks of theirs have used so far."""

    users: list[str]
    running: list[tuple[int, int, Usage]]


class TaskCheckpointed(Event, frozen=True, tag=True):
    """A checkpoint of the task was made; `pid`: of the job's process in it ($job_pid of restart_command)."""

    job_id: int
    task_id: int
    attempt: int
    pid: int


class TaskErrorCleared(Event, frozen=True, tag=True):
    job_id: int
    task_id: int


class TaskDeletionRequested(Event, frozen=True, tag=True):
    """A task at a host shall be killed; it is gone when the host reports its end (`qdel` without `-f`).

    `by_operator`: also what runs after the job, as often as it is said.
    """

    job_id: int
    task_id: int
    by: str
    by_operator: bool = False


class TaskReschedulingRequested(Event, frozen=True, tag=True):
    """A running task shall be killed on its host and become pending again (qmod -rj, -rq)."""

    job_id: int
    task_id: int
    by: str


class TaskSuspensionChanged(Event, frozen=True, tag=True):
    """`by`: `user` (qmod -sj), `threshold` (suspend_thresholds) or `subordinate` (slot-wise subordinate_list, SU-7)."""

    job_id: int
    task_id: int
    by: str
    suspended: bool


class CommandApplied(Event, frozen=True, tag=True):
    """The host has carried out a command (`run`, `suspend`, `migrate`, `kill`) on a task."""

    job_id: int
    task_id: int
    attempt: int
    command: str


class TasksReprioritized(Event, frozen=True, tag=True):
    """Tasks are to run with other nice values: (job, task, nice) each (PR-10)."""

    time: float
    changes: list[tuple[int, int, int]]


class NicenessApplied(Event, frozen=True, tag=True):
    """The host has given the processes of a task this nice value."""

    job_id: int
    task_id: int
    attempt: int
    nice: int


# --- slave tasks: gridengine.state.slave_events ----------------------------------------------------------

SlaveRequested = slave_events.SlaveRequested
SlaveCommandApplied = slave_events.SlaveCommandApplied
SlaveUsageReported = slave_events.SlaveUsageReported
SlaveEnded = slave_events.SlaveEnded
MasterEnded = slave_events.MasterEnded
TriesForgotten = slave_events.TriesForgotten

# --- queue instances and hosts -------------------------------------------------------------------------


class InstanceFlagsChanged(Event, frozen=True, tag=True):
    """Flags of `QueueInstance` by name; all names in `flags` are set to the given value."""

    instances: list[str]
    flags: dict[str, bool]


class InstanceErrorSet(Event, frozen=True, tag=True):
    """State E: `reason` names the job that met the error (QI-10)."""

    instance: str
    reason: str


class InstanceErrorsCleared(Event, frozen=True, tag=True):
    """`reason`: the only error that went, "" for all."""

    instances: list[str]
    reason: str = ""


HostHeard = host_events.HostHeard
HostBooted = host_events.HostBooted
ExecdStarted = host_events.ExecdStarted
StraysFound = host_events.StraysFound
StraysAbandoned = host_events.StraysAbandoned
JobNumbersRaised = host_events.JobNumbersRaised
HostLost = host_events.HostLost
ClockStepped = host_events.ClockStepped


# --- advance reservations --------------------------------------------------------------------------------


class ReservationGranted(Event, frozen=True, tag=True):
    reservation: AdvanceReservation


class ReservationChanged(Event, frozen=True, tag=True):
    """`changes` maps field names of `AdvanceReservation` to new values (qralter, healing); `why` is for its log."""

    ar_id: int
    changes: dict[str, Any]
    time: float
    why: str = ""


class ReservationStarted(Event, frozen=True, tag=True):
    """Its start time has come (AR-54)."""

    ar_id: int
    time: float


class ReservationErrorsSet(Event, frozen=True, tag=True):
    """What is wrong with its instances changed; without any it is sound again (AR-57, AR-58)."""

    ar_id: int
    errors: list[str]
    time: float


class ReservationEnding(Event, frozen=True, tag=True):
    """Its end has come (`x`) or it was deleted (`d`): its jobs go first, then it goes itself (AR-55, AR-104)."""

    ar_id: int
    state: Literal["x", "d"]
    by: str
    time: float
    why: str = ""


class ReservationRemoved(Event, frozen=True, tag=True):
    """The last of its jobs is gone, and so is it."""

    ar_id: int
    time: float


# --- what the scheduler found out ------------------------------------------------------------------------


class JobReservationsSet(Event, frozen=True, tag=True):
    """What the scheduler keeps free for waiting jobs (-R y) from now on, in place of all that it did before (AR-52)."""

    durable: ClassVar[bool] = False
    reservations: list[JobReservation]


class PrioritiesSet(Event, frozen=True, tag=True):
    """job id -> (prio, npprior, nurg, ntckts), each 0..1 but prio, and tickets. Source: sge_priority(5), PR-1."""

    durable: ClassVar[bool] = False
    priorities: dict[int, tuple[float, float, float, float]]
    tickets: dict[int, Tickets] = {}


AnyEvent = (
    ObjectSet
    | ObjectRemoved
    | GroupMembersSet
    | JobSubmitted
    | JobChanged
    | HoldsChanged
    | PendingTasksDeleted
    | TaskDispatched
    | TaskStarted
    | TaskUsageReported
    | TaskEnded
    | TaskRequeued
    | UsageCharged
    | UsageCleared
    | TaskCheckpointed
    | TaskErrorCleared
    | JobErrorChanged
    | TaskDeletionRequested
    | TaskReschedulingRequested
    | TaskSuspensionChanged
    | CommandApplied
    | TasksReprioritized
    | NicenessApplied
    | SlaveRequested
    | SlaveCommandApplied
    | SlaveUsageReported
    | SlaveEnded
    | MasterEnded
    | TriesForgotten
    | InstanceFlagsChanged
    | InstanceErrorSet
    | InstanceErrorsCleared
    | HostHeard
    | HostBooted
    | ExecdStarted
    | StraysFound
    | StraysAbandoned
    | JobNumbersRaised
    | HostLost
    | ClockStepped
    | ReservationGranted
    | ReservationChanged
    | ReservationStarted
    | ReservationErrorsSet
    | ReservationEnding
    | ReservationRemoved
    | JobReservationsSet
    | PrioritiesSet
)


_encoder = msgspec.json.Encoder(enc_hook=encode_hook)
_decoder = msgspec.json.Decoder(list[AnyEvent], dec_hook=decode_hook)


def encode_events(events: list[AnyEvent]) -> bytes:
    """Events as JSON, the form of the journal and of the stream to mirrors."""
    return _encoder.encode(events)


def decode_events(data: bytes) -> list[AnyEvent]:
    return _decoder.decode(data)

