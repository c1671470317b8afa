"""Instructions for exec hosts and the reports that come back: the contract of qmaster and execd.

Owns the shapes, as JSON on Ray calls (docs/architecture.md section 5). Instructions follow from the state
(`daemons.qmaster.effects`), are keyed by (job, task, attempt) and may be repeated, delayed and reordered without harm: every
batch bears a stamp that orders the messages of its sender (adr/0090).
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct, field

from gridengine.protocols.devices import Device
from gridengine.state.configured.execution import Execution
from gridengine.state.configured.objects import CheckpointInterface
from gridengine.state.hooks import decode_hook, encode_hook
from gridengine.state.jobs import Confinement, Grant, Job, Usage
from gridengine.state.slaves import SlaveTask
from gridengine.usage.unit_usage import UnitUsage
from gridengine.values.task_key import TaskKey

Stamp = tuple[int, int]
"""Orders the messages of one sender: (life of the sender, number that grows within it).

Of the qmaster: its incarnation, which grows with every start, and the revision of the state that the message was computed from.
Of a host: the life of its actor, and the number of the batch of reports.
"""


class UnitDevices(Struct, omit_defaults=True):
    """The devices of the named units of a task's host (adr/0350). `own`: device files of the task's units; `others`: of the other
    units. `identifiers`: the vendor's names of the task's GPUs, [] unless each GPU has a name. `all_gpus`: each GPU of the host
    has device files.
    """

    own: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    all_gpus: bool = False


class Start(Struct, tag="start", omit_defaults=True):
    """Run a task."""

    #: of the task; its last number is the slave's for a slave task
    key: TaskKey
    #: without its pending ranges and tasks
    job: Job
    #: the grants of the task, its master's first
    granted: list[Grant]
    #: execution attributes of the master's queue instance; for a slave task of its own instance
    queue: Execution
    environment: dict[str, str]
    #: the job has a script, which is in the batch (`Batch.scripts`) unless it was sent to the host before; False for binaries
    script: bool = False
    #: "" for serial tasks
    pe_name: str = ""
    #: command lines of the PE, None for none
    pe_start: str | None = None
    #: as `pe_start`
    pe_stop: str | None = None
    #: RESTARTED of the job: 0 at first, 2 with a checkpoint made by commands, otherwise 1 (EN-4)
    restarted: int = 0
    #: the checkpointing environment, with `when` as it holds for the job, and so `checkpoint_interval_s`
    checkpoint: CheckpointInterface | None = None
    checkpoint_interval_s: float = 0.0
    #: process id in the checkpoint to start from, 0 for none
    checkpoint_pid: int = 0
    #: command of a slave task, None for other tasks
    slave: SlaveTask | None = None
    #: of the dispatch
    time: float = 0.0
    submit_time: float = 0.0
    #: seconds after which the task is killed at the latest (h_rt), because its reservation ends; 0 for none
    time_limit: float = 0.0
    #: that attribute of the granted instances that have it (QC-12)
    processors: dict[str, str] = field(default_factory=dict)
    #: those limits (as `h_vmem`) that are JOB consumables, so that slots do not multiply them (RL-5)
    per_job_limits: list[str] = field(default_factory=list)
    #: number of GPUs of the task on the host, its slave tasks included
    gpus: int = 0
    #: resource -> named units of the task on the host (adr/0320)
    units: dict[str, list[str]] = field(default_factory=dict)
    #: processors near these units, as `0-15,32-47`, "" if unknown: -binding prefers their cores (adr/0340)
    near_processors: str = ""
    #: None where the host's units have no properties
    devices: UnitDevices | None = None


class Signal(Struct, tag="signal", omit_defaults=True):
    """Carry out `command` on the running task `key`: `run` resumes it, `suspend` stops it, `kill` ends it, `migrate` saves and
    ends it so that it can go on elsewhere (CK-4). `end` is `kill`, but also ends the methods that run after the job.
    """

    key: TaskKey
    command: Literal["run", "suspend", "migrate", "kill", "end"]


class Renice(Struct, tag="renice"):
    """Give all processes of the running task `key` the nice value `nice` (PR-10)."""

    key: TaskKey
    nice: int


class Forget(Struct, tag="forget"):
    """The qmaster has the end of the attempt `key`, or does not know it: remove its files, kill its processes."""

    key: TaskKey


class Configure(Struct, tag="configure"):
    """`configuration`: in force on the host, texts by attribute: global values overlaid by local values (sge_conf(5)).

    Load is reported as it is measured: `load_scaling` is applied where a value is used (LS-5).
    """

    configuration: dict[str, str]


OnTask = Start | Signal | Renice | Forget
Instruction = OnTask | Configure


class Acknowledgement(Struct, omit_defaults=True):
    """Answer to one instruction, in order. `failed`/`reason` (sge_status(5)) when a start could not be made.

    `confinement`: of a started task. `host_faults`: faults of the host itself, because of which no task starts there.
    Also not `ok`, and no failure: `again`: the instruction cannot be carried out at the moment; `needs_script`: the host lacks
    the script of the job. `over`: the attempt to be started has ended on this host before: nothing was done.
    """

    ok: bool = True
    failed: int = 0
    reason: str = ""
    confinement: Confinement | None = None
    host_faults: list[str] = field(default_factory=list)
    again: bool = False
    needs_script: bool = False
    over: bool = False


class Started(Struct, tag="started", omit_defaults=True):
    """The shepherd of the task `key` runs. `confinement`: cores and memory limit that the host gave the task, None for none."""

    key: TaskKey
    time: float
    confinement: Confinement | None = None


class Ended(Struct, tag="ended", omit_defaults=True):
    """The task `key` has ended. Rules for exit statuses 99 and 100 (`shepherd_exit`) are already in `exit_status`."""

    key: TaskKey
    #: as in sge_status(5)
    failed: int = 0
    exit_status: int = 0
    #: number of the signal that ended the job, 0 for none
    signal: int = 0
    reason: str = ""
    start_time: float = 0.0
    end_time: float = 0.0
    #: ru_* fields, cpu, mem, io, iow, maxvmem (numbers) for the accounting record
    usage: dict[str, float] = field(default_factory=dict)
    #: of its devices
    units: list[UnitUsage] = field(default_factory=list)
    #: process id of the job in a checkpoint that was made, 0 for none
    checkpoint: int = 0
    #: faults because of which the task could not be started (`Acknowledgement`)
    host_faults: list[str] = field(default_factory=list)
    #: the prolog, pe_start, pe_stop or epilog that failed, "" for the job itself
    method: str = ""
    #: its cause: `job` (its own data or limits) or `host` (no capacity at the moment), "" where `failed` alone decides
    fault: Literal["", "job", "host"] = ""


class HostFaults(Struct, tag="faults", omit_defaults=True):
    """`faults`: all faults of the host now, a text each: why it cannot start tasks. Reported when they change, and after a
    restart."""

    faults: list[str] = field(default_factory=list)


class Load(Struct, tag="load", omit_defaults=True):
    """A load report. `values`: name -> text, only changed values; `removed`: names of values that have ceased; `full`: all values
    that it does not name have ceased. `incarnation`: changes with every boot.

    `others`: values that load sensors of the host report for other hosts or the cluster ("global"), host -> values;
    `others_removed`: names of values that the sensors no longer report. `full` counts for them, too. Source: LS-3.

    `devices`: all devices of the host if they have changed or the report is full, None for no news; `device_fault`: the reason
    for which they cannot be read now (adr/0345).
    """

    time: float
    values: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    full: bool = False
    incarnation: str = ""
    others: dict[str, dict[str, str]] = field(default_factory=dict)
    others_removed: dict[str, list[str]] = field(default_factory=dict)
    devices: list[Device] | None = None
    device_fault: str = ""


class UsageReport(Struct, tag="usage"):
    """The usage so far of the running task `key`. `usage`: of all its processes on the host."""

    key: TaskKey
    usage: Usage


class Checkpointed(Struct, tag="checkpointed"):
    """A checkpoint of the running task `key` exists now; `pid`: of the job's process in it."""

    key: TaskKey
    pid: int


class Origin(Struct, omit_defaults=True):
    """Job and dispatch of a task on a host, from its start instruction: by these a master recognises or adopts the task.

    `submit_time`: of its job, as it was first; `time`: of its dispatch; `granted`: its grants; `units`: as in `Start`;
    `identifiers`: as in `UnitDevices`. `owner` "": not known (a start by an earlier version).
    """

    owner: str = ""
    submit_time: float = 0.0
    time: float = 0.0
    granted: list[Grant] = field(default_factory=list)
    pe: str = ""
    units: dict[str, list[str]] = field(default_factory=dict)
    identifiers: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, start: Start) -> Origin:
        identifiers = start.devices.identifiers if start.devices is not None else []
        return cls(start.job.owner, start.job.submitted, start.time, start.granted, start.pe_name, start.units, identifiers)


class Inventory(Struct, tag="inventory", omit_defaults=True):
    """`keys`: every task that has a directory on the host; sent after any restart of the execd or the qmaster.

    `incarnation`: of the host, changes with every boot. `origins`: of each task, in the same order; fewer when they are not
    known.
    """

    keys: list[TaskKey]
    incarnation: str = ""
    origins: list[Origin] = field(default_factory=list)


Report = Started | Ended | Load | UsageReport | Checkpointed | HostFaults | Inventory


class Verdict(Struct, omit_defaults=True):
    """Answer to one report, in order."""

    #: the report is recorded; False if the host has to send it again
    ok: bool = True
    #: tasks whose files (and processes) are to be removed now
    forget: list[TaskKey] = field(default_factory=list)
    #: tasks that this master does not know; the host keeps them, and reports their ends again to a master that does
    orphans: list[TaskKey] = field(default_factory=list, name="strays")
    #: hosts of a load report that are no exec hosts
    unknown_hosts: list[str] = field(default_factory=list)


class OutputRequest(Struct):
    """A request to a task's host for the end of the task's output, of the file `stream`. `key`: of the task. `owner`: the task's
    owner must be this user; `max_bytes`: the most that is read (`most` on the wire). The attempt 0 is the last attempt of a task
    that has ended.
    """

    key: TaskKey
    owner: str
    stream: Literal["stdout", "stderr"]
    max_bytes: int = field(name="most")


class OutputTail(Struct, omit_defaults=True):
    """The end of the file `path`. `size`: of the file in bytes; `text` begins at byte `begin`. `fault`: the reason for which
    there is no text, else "".
    """

    path: str = ""
    size: int = 0
    begin: int = 0
    text: str = ""
    fault: str = ""


class Batch(Struct, omit_defaults=True):
    """The content of one Ray call, in either direction: `instructions` and `verdicts` to a host, `acknowledgements` and `reports`
    from it. The verdicts are in the order of the reports.

    `master`: the stamp of this message of the qmaster, or in reports the stamp of the last message that the host has obeyed;
    `host`: the stamp of the host's reports. `refused`: the response to a batch that came too late, of which nothing was carried
    out; its `master` or `host` is the stamp of the later batch that was accepted before. `scripts`: job -> script, for jobs to be
    started whose scripts the host is not known to have.
    """

    instructions: list[Instruction] = field(default_factory=list)
    acknowledgements: list[Acknowledgement] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    scripts: dict[int, bytes] = field(default_factory=dict)
    master: Stamp = (0, 0)
    host: Stamp = (0, 0)
    refused: bool = False


encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
"""A message as JSON."""
decode = msgspec.json.Decoder(Batch, dec_hook=decode_hook).decode
decode_output_request = msgspec.json.Decoder(OutputRequest, dec_hook=decode_hook).decode
decode_output_tail = msgspec.json.Decoder(OutputTail).decode
"""These three raise msgspec.DecodeError."""
