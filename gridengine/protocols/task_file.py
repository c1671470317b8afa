"""The `config` file of a task: the whole configuration of its shepherd, as one type for writer and reader.

Owns keys, types and defaults (docs/architecture.md section 5.2). The standard library alone; opens nothing. Called by
`daemons.execd.task_config`, which fills it, and by the shepherd. A task runs through an upgrade of its cell: a key keeps
its name, its meaning and its default as long as a release that wrote it may have tasks running. Configurations are never
changed; the classes are not frozen only because every task makes an object, which would take twice as long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from gridengine.errors import CorruptDataError

Number = int | float
#: The kernel's maximum of a limit; a larger limit has the same effect.
MAX_LIMIT = 2**63 - 1
#: Suffix of the name of a file in a task's directory until it is written. A file with this name may be a leftover of an earlier
#: task, and must not be read.
DRAFT = ".new"
#: The name of the file; and its name after the shepherd has written one in the format of 8.1.9 instead, for methods to read.
CONFIG, PRIVATE_CONFIG = "config", "config.json"
#: The file from which the execd knows a task after a restart (`daemons.execd.task_record`). The record of the end of its job has
#: a copy of it, under this name too, since the file itself may not be on disk when a host loses its power.
EXECD = "execd"

#: Ending of the name of the cgroup that closes devices, after the name of the task's directory.
DEVICE_GUARD = ".devices"


class TaskFileError(CorruptDataError, ValueError):
    """The `config` of a task cannot be used; the text names the key and the reason."""


@dataclass(kw_only=True)
class Program:
    """The program to run, and its interpreter. `script`: path of a job's script, `command`: of a binary job's program.

    `starter_method`: the command line that starts it instead.
    """

    binary: bool = False
    shell_start_mode: str = "posix_compliant"
    shell: str = "/bin/sh"
    login_shells: list[str] = field(default_factory=list)
    no_shell: bool = False
    script: str | None = None
    command: str | None = None
    args: list[str] = field(default_factory=list)
    starter_method: str | None = None


@dataclass(kw_only=True)
class StreamPaths:
    """Paths, already expanded. `stdout`/`stderr` may be directories: then `default_stdout`/`default_stderr` names the file in it.

    `merge`: errors go where the output goes. `pe_stdout`, `pe_stderr`, `default_pe_stdout`, `default_pe_stderr`: the same for the
    procedures of a parallel environment.
    """

    stdout: str
    stdin: str | None = None
    stderr: str | None = None
    merge: bool = False
    default_stdout: str | None = None
    default_stderr: str | None = None
    pe_stdout: str | None = None
    pe_stderr: str | None = None
    default_pe_stdout: str | None = None
    default_pe_stderr: str | None = None


@dataclass(kw_only=True)
class Methods:
    """`pe_start`, `pe_stop`: start_proc_args and stop_proc_args. Each is a command line, with or without a `user@` prefix, or
    None."""

    prolog: str | None = None
    epilog: str | None = None
    pe_start: str | None = None
    pe_stop: str | None = None
    suspend_method: str | None = None
    resume_method: str | None = None
    terminate_method: str | None = None


@dataclass(kw_only=True)
class Checkpointing:
    """`ckpt_interface`: "" for jobs that are not checkpointed; `ckpt_when`: codes of `s m x r`; `ckpt_pid`: process id in the
    checkpoint to start from, 0 for none. `ckpt_signal`: name of the signal that the job gets instead of a command, None for none.
    `ckpt_interval_s`: seconds between checkpoints of `m`.
    """

    ckpt_interface: str = ""
    ckpt_command: str | None = None
    migr_command: str | None = None
    restart_command: str | None = None
    clean_command: str | None = None
    ckpt_signal: str | None = None
    ckpt_when: str = ""
    ckpt_interval_s: Number = 0
    ckpt_pid: int = 0


@dataclass(kw_only=True)
class Rules:
    """Settings of the cluster for all jobs. `gid_range`: as in sge_conf(5), "65400-65500".

    `notify_kill`/`notify_susp`: signal names of execd_params, "none" switches the warning off (RL-9).
    `method_timeout_s`: maximum duration of a method that the shepherd waits for, and after the job, of its session's client.
    """

    gid_range: str | None = None
    min_uid: int = 0
    min_gid: int = 0
    forbid_reschedule: bool = False
    forbid_apperror: bool = False
    notify_kill: str = "SIGUSR2"
    notify_susp: str = "SIGUSR1"
    method_timeout_s: Number | None = None
    pdc_interval_s: Number = 1


@dataclass(kw_only=True)
class Confines:
    """`cgroups`: directories in which the task makes a cgroup of its own; `cgroup_of_job`: in one of its job, which has the
    limits. `memory_by_cgroup`: one of them limits h_vmem and s_vmem; `processes_by_cgroup`: one of them limits h_maxproc, to
    the processes of the task instead of all of its owner's. `processor_quota`, `io_by_slots`: the cgroup gets no more processor
    time than its slots, and a share of block devices by slots. `processors`: processors that the task is bound to, [] for all.

    `closed_devices`: device files that no process of the task may open, unless a file of `open_devices` leads to the same device;
    `device_cgroup`: the directory in which the task makes the cgroup that closes devices. `devices_required`: the task does not
    run unless each device is closed.
    """

    cgroups: list[str] = field(default_factory=list)
    cgroup_of_job: bool = False
    memory_by_cgroup: bool = False
    processes_by_cgroup: bool = False
    processor_quota: bool = False
    io_by_slots: bool = False
    processors: list[int] = field(default_factory=list)
    closed_devices: list[str] = field(default_factory=list)
    open_devices: list[str] = field(default_factory=list)
    device_cgroup: str = ""
    devices_required: bool = False


@dataclass(kw_only=True)
class Interactive:
    """`session`: connection of an interactive job with its client: `pipes`, `pty`, or "" for none;
    `session_grace_s`: maximum time without a client. `login`: run the owner's `login_shell` (with the command, if any) instead
    of a job's shell; `wrapper`: a program that runs the command instead (QRSH_WRAPPER). `remote_daemon`: command line of the
    daemon through which the client connects, None for the builtin transport.
    """

    session: str = ""
    session_grace_s: Number = 60
    login: bool = False
    login_shell: str = "/bin/sh"
    wrapper: str | None = None
    remote_daemon: str | None = None


@dataclass(kw_only=True)
class TaskConfig(Program, StreamPaths, Methods, Checkpointing, Rules, Confines, Interactive):
    """The whole configuration of a task for its shepherd. Times in seconds, sizes in bytes."""

    job_id: int
    owner: str
    cwd: str
    task_id: int = 1
    attempt: int = 0
    #: number of a slave task, 0 for other tasks
    slave: int = 0
    job_name: str = ""
    uid: int | None = None
    gid: int | None = None
    #: the supplementary group ids, None for the groups that the owner has on the host
    groups: list[int] | None = None
    group_name: str = ""
    queue: str = ""
    host: str = ""
    #: SGE_CELL
    cell: str = "default"
    #: SGE_ROOT
    root: str = ""
    #: complete
    environment: dict[str, str] = field(default_factory=dict)
    #: the whole environment of methods that run as another user, except that user's own variables
    method_environment: dict[str, str] = field(default_factory=dict)
    #: made and removed by the shepherd
    tmpdir: str | None = None
    #: by names of queue_conf(5) RESOURCE LIMITS and of execd_params (`h_descriptors` ...), None is INFINITY
    limits: dict[str, Number | None] = field(default_factory=dict)
    #: names of limits (as `h_vmem`) that the slots do not multiply
    per_job_limits: list[str] = field(default_factory=list)
    #: on this host
    slots: int = 1
    #: nice value of the job at its start
    nice: int = 0
    #: of the job and its methods
    umask: int = 0o022
    #: None unless the job requested notification
    notify_s: Number | None = None
    #: the queue's, for the pause between s_rt's warning and the end (RL-3)
    queue_notify_s: Number = 60
    #: for `$host`, `$job_id` ... in methods
    variables: dict[str, str] = field(default_factory=dict)


def encode(config: TaskConfig) -> bytes:
    """The content of the file."""
    return json.dumps(vars(config)).encode()


def read_stored_config(read: Callable[[str], bytes]) -> bytes:
    """The content of the file. `read(name)` reads a file in the task's directory; its errors are raised."""
    data = None
    with suppress(FileNotFoundError):
        data = read(CONFIG)
    if data is not None and data.startswith(b"{"):
        return data
    try:
        return read(PRIVATE_CONFIG)
    except FileNotFoundError:
        if data is None:
            raise
    return data


def decode(data: bytes) -> TaskConfig:
    """Read and check the content of the file. Raises TaskFileError."""
    try:
        content = json.loads(data)
    except ValueError as error:
        raise TaskFileError(f"config is not JSON: {error}") from error
    return parse(content)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value  # no NaN


def _have_type(values: Iterable[object], kind: type) -> bool:
    return {*map(type, values)} <= {kind}


# What each annotation above accepts. The annotations are strings (PEP 563), so this table is keyed by their text.
_ACCEPTS: dict[str, Callable[[Any], bool]] = {
    "str": lambda v: isinstance(v, str),
    "str | None": lambda v: v is None or isinstance(v, str),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "int | None": lambda v: v is None or (isinstance(v, int) and not isinstance(v, bool)),
    "bool": lambda v: isinstance(v, bool),
    "Number": _is_number,
    "Number | None": lambda v: v is None or _is_number(v),
    "list[str]": lambda v: isinstance(v, list) and _have_type(v, str),
    "list[int]": lambda v: isinstance(v, list) and _have_type(v, int),
    "list[int] | None": lambda v: v is None or (isinstance(v, list) and _have_type(v, int)),
    "dict[str, str]": lambda v: isinstance(v, dict) and _have_type(v.values(), str),
    "dict[str, Number | None]": lambda v: isinstance(v, dict) and all(e is None or _is_number(e) for e in v.values()),
}
_FIELDS = {f.name: (str(f.type), _ACCEPTS[str(f.type)]) for f in fields(TaskConfig)}
_REQUIRED = ("job_id", "owner", "cwd", "stdout")
SESSIONS = ("", "pipes", "pty")
SHELL_START_MODES = ("posix_compliant", "unix_behavior", "script_from_stdin")


def parse(data: object) -> TaskConfig:
    """Check a decoded `config`. Unknown keys are ignored: other releases may write more. Raises TaskFileError."""
    if not isinstance(data, dict):
        raise TaskFileError("config is not a JSON object")
    for name in _REQUIRED:
        if name not in data:
            raise TaskFileError(f'config has no "{name}"')
    values = {}
    for name, (kind, accepts) in _FIELDS.items():
        if name in data:
            if not accepts(data[name]):
                raise TaskFileError(f'config: "{name}" is not of type {kind}')
            values[name] = data[name]
    limits = values.get("limits", {})
    values["limits"] = {name: None if limit is None else min(limit, MAX_LIMIT) for name, limit in limits.items()}
    config = TaskConfig(**values)
    if config.shell_start_mode not in SHELL_START_MODES:
        raise TaskFileError(f'config: unknown shell_start_mode "{config.shell_start_mode}"')
    if config.session not in SESSIONS:
        raise TaskFileError(f'config: unknown session "{config.session}"')
    if not config.login and (config.command if config.binary else config.script) is None:
        raise TaskFileError(f'config has no "{"command" if config.binary else "script"}"')
    return config
