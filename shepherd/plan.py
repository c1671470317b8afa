"""The steps of one task, in order, with all data that each needs: `plan(config)` is pure, and tests check its list.

Source: sge_shepherd(8) DESCRIPTION (EX-1). `run` carries the steps out; a step contains all that it needs of the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gridengine.protocols.task_file import Number, TaskConfig
from gridengine.usage.failed import BEFORE_JOB
from shepherd.cgroup_limits import CgroupLimits
from shepherd.command_line import CommandLine, job_command_line
from shepherd.config import WITH_CKPT_COMMANDS, total_limit
from shepherd.limits import ResourceLimit, method_limits, resource_limits
from shepherd.methods import SAFE_PATH, Method, MethodError, expand, parse_method, safe_start, split
from shepherd.outcome import BEFORE, IN

# interfaces of checkpoint(5) whose restart_command replaces the job script
_RESTARTED_BY_COMMAND = ("hibernator", "cpr")
_LATER_METHODS = (
    "pe_stop", "epilog", "suspend_method", "resume_method", "terminate_method",
    "ckpt_command", "migr_command", "clean_command",
)
PREPARATION = "preparation"  # `Contain` and `MakeDirectory`, as a name in `needs` of other steps


@dataclass(frozen=True, slots=True)
class Contain:
    """Establish the containment of the job's processes: a cgroup, else an additional group id, else their descent."""

    cgroups: list[str]
    gid_range: str | None
    limits: CgroupLimits = CgroupLimits()
    shared: bool = False  # the tasks of the job on this host are in one cgroup


@dataclass(frozen=True, slots=True)
class CloseDevices:
    """Close device files to all processes of the task, in a cgroup below `parent`: `others`, but no device of `own`. `required`:
    each of them."""

    parent: str
    others: list[str]
    own: list[str]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind this shepherd, and so all processes of the task, to these processors (sge_submit(1) -binding set)."""

    processors: list[int]


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """Make the scratch directory, as the job's owner."""

    path: str


@dataclass(frozen=True, slots=True)
class Output:
    """The standard files of a process. A path that is a directory gets the default name added."""

    stdin: str
    stdout: str
    stderr: str | None  # None: the same as stdout
    default_stdout: str | None = None
    default_stderr: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Run a process to its end. Skipped when one of the steps in `needs` did not succeed.

    `user`: None for the job's owner; steps of other users have neither the job's environment nor its limits. `error`: the
    reason why the process cannot be started at all. `before`/`within`: codes of sge_status(5). `timeout_s`: the time that
    the step may take. `last`: no other process of the task is started after it.
    """

    name: str
    command: CommandLine
    output: Output
    before: int
    within: int
    environment: dict[str, str]
    needs: tuple[str, ...] = ()
    user: str | None = None
    limits: list[ResourceLimit] = field(default_factory=list)
    error: str | None = None
    awaits_client: bool = False  # at a port, to become the daemon that authenticates it
    timeout_s: Number | None = None
    last: bool = False


@dataclass(frozen=True, slots=True)
class StartSession:
    """Make the streams of an interactive job and let its client connect (IA-1, IA-2)."""


@dataclass(frozen=True, slots=True)
class EndSession:
    """Send the client the outcome of the job, and wait until it has that and all output."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """End every process that the job (not the methods before it) has left behind."""


@dataclass(frozen=True, slots=True)
class RemoveDirectory:
    """Remove the scratch directory with its contents, after any outcome of the earlier steps."""

    path: str


@dataclass(frozen=True, slots=True)
class Clean:
    """Remove the checkpoints of a job that has run and does not run again: clean_command."""

    text: str


Step = Bind | CloseDevices | Contain | MakeDirectory | StartSession | Run | Sweep | EndSession | Clean | RemoveDirectory


def plan(config: TaskConfig) -> list[Step]:
    """All steps of the task in their order. Never raises: a command that cannot be run is a `Run` with an `error`."""
    steps: list[Step] = [Contain(config.cgroups, config.gid_range, cgroup_limits(config), config.cgroup_of_job)]
    if config.closed_devices:
        required = config.devices_required
        steps.append(CloseDevices(config.device_cgroup, config.closed_devices, config.open_devices, required))
    if config.processors:
        steps.append(Bind(config.processors))
    if config.tmpdir is not None:
        steps.append(MakeDirectory(config.tmpdir))
    if config.session:
        steps.append(StartSession())
    if config.prolog is not None:
        steps.append(_method_step(config, "prolog", config.prolog))
    if config.pe_start is not None:
        steps.append(_method_step(config, "pe_start", config.pe_start, needs=(PREPARATION, "prolog")))
    steps += [_job_step(config) if config.remote_daemon is None else _daemon_step(config, config.remote_daemon), Sweep()]
    if config.session:
        steps.append(EndSession())
    if config.clean_command is not None and config.ckpt_interface in WITH_CKPT_COMMANDS:
        steps.append(Clean(config.clean_command))
    if config.pe_stop is not None:
        steps.append(_method_step(config, "pe_stop", config.pe_stop, needs=(PREPARATION, "prolog")))
    if config.epilog is not None:
        steps.append(_method_step(config, "epilog", config.epilog))
    if config.tmpdir is not None:
        steps.append(RemoveDirectory(config.tmpdir))
    return steps


def cgroup_limits(config: TaskConfig) -> CgroupLimits:
    """The limits of the task's cgroup, or of its job's."""
    memory = ("h_vmem", "s_vmem") if config.memory_by_cgroup else ()
    hard, soft = (_whole(total_limit(config, name)) for name in memory) if memory else (None, None)
    processes = config.limits.get("h_maxproc", config.limits.get("s_maxproc")) if config.processes_by_cgroup else None
    return CgroupLimits(
        memory=hard,
        soft_memory=soft,
        processes=_whole(processes),
        processors=tuple(config.processors),
        slots=config.slots,
        nice=config.nice,
        quota=config.processor_quota,
        io=config.io_by_slots,
    )


def goes_on_after_job(config: TaskConfig) -> bool:
    """Whether a method follows the job, which may change the record of its end."""
    return bool(config.clean_command or config.pe_stop or config.epilog)


def _whole(number: Number | None) -> int | None:
    return None if number is None else int(number)


def control_method_step(config: TaskConfig, name: str, method: Method, variables: dict[str, str]) -> Run:
    """The process of a suspend_method, resume_method or terminate_method, of a ckpt_command, migr_command or
    clean_command; `variables` with job_pid in it (QC-27, CK-2).

    As the job's owner it runs in the environment of the job, and only where the job itself is (QC-28). Raises MethodError.
    """
    return _method_run(config, name, method, expand(method.arguments, variables), _output(config, "/dev/null"))


def _method_step(config: TaskConfig, name: str, text: str, needs: tuple[str, ...] = (PREPARATION,)) -> Run:
    """The step of a method; its `error` is set when its text cannot be used.

    Methods read /dev/null and write into the job's files, methods of the PE into the PE's own files (sge_conf(5) prolog,
    sge_pe(5)).
    """
    output = _pe_output(config) if name in ("pe_start", "pe_stop") else _output(config, "/dev/null")
    try:
        method = parse_method(text)
        arguments = expand(method.arguments, config.variables)
    except MethodError as error:
        command = CommandLine("", [])
        return Run(name, command, output, BEFORE[name], IN[name], {}, needs, error=str(error))
    return _method_run(config, name, method, arguments, output, needs)


def _method_run(
    config: TaskConfig, name: str, method: Method, arguments: list[str], output: Output, needs: tuple[str, ...] = ()
) -> Run:
    command = CommandLine(arguments[0], arguments)
    codes = BEFORE.get(name, 0), IN.get(name, 0)
    if method.user is not None and method.user != config.owner:
        environment, limits, user = _environment_of_others(config), [], method.user
    else:
        environment, limits, user = safe_start(config.environment), method_limits(job_limits(config)), None
    timeout_s = config.method_timeout_s
    return Run(name, command, output, *codes, environment, needs, user, limits=limits, timeout_s=timeout_s)


def _environment_of_others(config: TaskConfig) -> dict[str, str]:
    """The environment of a method of another user: from the job's owner only variables that no program interprets (EX-20)."""
    return config.method_environment | {"PATH": SAFE_PATH}


def _job_step(config: TaskConfig) -> Run:
    command, error = CommandLine("", []), None
    restart = config.restart_command if config.ckpt_pid and config.ckpt_interface in _RESTARTED_BY_COMMAND else None
    try:
        command = job_command_line(config) if restart is None else _restart_command_line(config, restart)
    except MethodError as reason:
        error = f"{'starter_method' if restart is None else 'restart_command'}: {reason}"
    return Run(
        "job",
        command,
        _output(config, config.stdin or "/dev/null"),
        BEFORE_JOB,
        IN["job"],
        config.environment | command.environment,
        needs=(PREPARATION, "prolog", "pe_start"),
        limits=job_limits(config),
        error=error,
        last=not any(getattr(config, name) for name in _LATER_METHODS),
    )


def job_limits(config: TaskConfig) -> list[ResourceLimit]:
    """The limits that the job's process has from the kernel."""
    return resource_limits(_of_processes(config), config.slots, config.per_job_limits)


def _of_processes(config: TaskConfig) -> dict[str, Number | None]:
    """The limits of each process: where a cgroup limits memory, address space is unlimited (ADR 0070), and where it limits
    processes, other processes of the owner do not count."""
    by_cgroup = {"vmem": config.memory_by_cgroup, "maxproc": config.processes_by_cgroup}
    return {name: value for name, value in config.limits.items() if not by_cgroup.get(name[2:], False)}


def _restart_command_line(config: TaskConfig, text: str) -> CommandLine:
    """The restart_command, which replaces the job; $job_pid is the process of the checkpoint. Raises MethodError."""
    arguments = expand(parse_method(text).arguments, config.variables | {"job_pid": str(config.ckpt_pid)})
    return CommandLine(arguments[0], arguments)


def _daemon_step(config: TaskConfig, text: str) -> Run:
    """The job of a client that connects by a configured daemon: the daemon runs as root, and becomes the user that it
    authenticates (IA-5)."""
    arguments, error = [""], None
    try:
        arguments = split(text)
    except MethodError as reason:
        error = f"daemon of the session: {reason}"
    return Run(
        "job",
        CommandLine(arguments[0], arguments),
        _output(config, "/dev/null"),
        BEFORE_JOB,
        IN["job"],
        _environment_of_others(config),
        needs=(PREPARATION, "prolog", "pe_start"),
        limits=job_limits(config),
        error=error,
        awaits_client=True,
    )


def _output(config: TaskConfig, stdin: str) -> Output:
    stderr = None if config.merge else config.stderr
    return Output(stdin, config.stdout, stderr, config.default_stdout, config.default_stderr)


def _pe_output(config: TaskConfig) -> Output:
    stderr = None if config.merge else config.pe_stderr or config.stderr
    return Output(
        "/dev/null",
        config.pe_stdout or config.stdout,
        stderr,
        config.default_pe_stdout if config.pe_stdout else config.default_stdout,
        config.default_pe_stderr if config.pe_stderr else config.default_stderr,
    )
