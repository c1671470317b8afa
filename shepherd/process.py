"""Starting one process of the task: by posix_spawn (`spawning`) where that is possible, else by fork, with all steps in the new
process between fork and exec.

Order: session, signals, cgroup, limits and priority (as root), then as the owner: working directory and files, then permanently
the ids, then exec. A failure is reported to the shepherd through a pipe that a successful exec closes.
"""

from __future__ import annotations

import errno
import os
import pwd
import signal
from dataclasses import dataclass
from pathlib import Path

from gridengine.errors import GridEngineError, plain_fault
from gridengine.files.executables import execute
from gridengine.usage.failed import ADDING_GROUP, CHANGING_DIRECTORY, EARLY, NO_SHELL, OPENING_FILES
from shepherd import limits
from shepherd.containment import Containment
from shepherd.faults import BY_CODE, fault_of
from shepherd.identity import Identity, IdentityError, as_user, become, find_identity
from shepherd.limits import can_be_borrowed
from shepherd.methods import SAFE_PATH
from shepherd.outcome import AFTER_JOB_STEPS
from shepherd.plan import Run
from shepherd.remote_daemon import SCRIPT, NoConnectionError, await_client
from shepherd.session import Session
from shepherd.spawning import spawn
from shepherd.standard_files import OpenError, install, open_files
from shepherd.task_files import stamped

# An ignored signal stays ignored over exec: neither signals that Python ignores nor signals that were ignored when the
# daemon was started (nohup, a background job of a shell) may be ignored in the job. None is ignored later; exec itself
# resets handlers.
_IGNORED = [number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN]
_REPORT_BYTES = 4096
_SYSTEM = frozenset(SAFE_PATH.split(":"))


class SetupError(GridEngineError):
    """The program was not reached: failed code of sge_status(5), reason, cause (`faults`), and the user id of the attempt,
    by default the present user id."""

    def __init__(self, failed: int, reason: str, fault: str = BY_CODE, uid: int | None = None) -> None:
        super().__init__(reason)
        self.failed, self.fault, self.uid = failed, fault, os.geteuid() if uid is None else uid


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """The context of all processes of one task. `containment`, `session`: only the job itself enters them."""

    owner: Identity
    cwd: str
    umask: int
    nice: int
    containment: Containment
    session: Session | None = None


class StartedProcess:
    """A started process and, if it is a copy of the shepherd at first, the read end of the pipe through which it reports why it
    did not reach its program."""

    def __init__(self, pid: int, report: int | None) -> None:
        self.pid = pid
        self.report_failure = report

    def setup_failure(self) -> tuple[int, str, str]:
        """Code, reason and fault if the ended process never reached its program, else (0, "", ""). To be called once."""
        if self.report_failure is None:
            return 0, "", BY_CODE
        data = os.read(self.report_failure, _REPORT_BYTES)
        os.close(self.report_failure)
        if not data:
            return 0, "", BY_CODE
        code, fault, reason = data.decode(errors="replace").split(" ", 2)
        return int(code), reason, fault

    def forget(self) -> None:
        """Close the pipe: the result is not needed."""
        if self.report_failure is not None:
            os.close(self.report_failure)


def start(run: Run, context: ProcessContext, extra_environment: dict[str, str]) -> StartedProcess:
    """Start the process of a step, as a copy of the shepherd if the step requires a copy, or if spawning fails: a copy
    reports the reason.

    Raises OSError when the host cannot have another process.
    """
    environment = run.environment | extra_environment
    if not must_be_a_copy(run, context):
        directory_and_umask = context.cwd, context.umask
        pid = spawn(run, dict(environment), context.owner, context.containment, directory_and_umask, _IGNORED)
        if pid is not None:
            return StartedProcess(pid, None)
    return _fork(run, context, environment)


def must_be_a_copy(run: Run, context: ProcessContext) -> bool:
    """Whether steps have to be taken in the new process before exec; else `spawning` suffices.

    The execution of a program of the user might block; the execution of root's programs in the directories of the system
    does not. In a cgroup whose memory is limited the kernel might kill the shepherd.
    """
    waits = run.awaits_client or (run.name == "job" and context.session is not None)
    enters = run.name == "job" and context.containment.limits_memory
    reniced = run.name == "job" and os.getpriority(os.PRIO_PROCESS, 0) != context.nice
    users_own = os.path.dirname(run.command.executable) not in _SYSTEM
    return waits or enters or reniced or users_own or run.user is not None or not can_be_borrowed(run.limits, run.last)


def _fork(run: Run, context: ProcessContext, environment: dict[str, str]) -> StartedProcess:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become(run, context, environment)
        except SetupError as error:
            report_failure(writing, error.failed, str(error), error.fault, error.uid)
        except BaseException as error:  # nothing of this copy of the shepherd may survive
            report_failure(writing, run.before, f"can't start {run.name}: {error}", fault_of(error, bool(run.limits)))
        finally:
            os._exit(127)
    os.close(writing)
    os.set_blocking(reading, False)
    return StartedProcess(pid, reading)


def report_failure(descriptor: int, failed: int, reason: str, fault: str, uid: int | None = None) -> None:
    """Write the reason why the program was not reached into the pipe of `StartedProcess`."""
    text = f"{failed} {fault} {stamped(reason, uid=uid)}"
    os.write(descriptor, text.encode(errors="backslashreplace")[:_REPORT_BYTES])


def _become(run: Run, context: ProcessContext, environment: dict[str, str]) -> None:
    is_job, as_owner = run.name == "job", run.user is None and not run.awaits_client
    os.setsid()
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if is_job:
        context.containment.enter()
        _set_priority(context.nice)
    limits.apply(run.limits, memory=False)
    script = open_script(run.command.script_on_stdin)
    os.umask(context.umask)
    try:
        target = _user_of(run, context.owner)
        environment = environment if as_owner else environment | target.environment
        with as_user(context.owner):
            change_directory(context.cwd)
            if is_job and context.session is not None:
                files = context.session.enter()
            else:
                files = open_files(run.output, environment, script, is_job)
        become(target, context.containment.gid if is_job or as_owner else None)
    except OpenError as error:
        raise SetupError(OPENING_FILES, str(error), uid=context.owner.uid) from error
    except IdentityError as error:
        raise SetupError(run.before if run.user else EARLY, str(error)) from error
    except OSError as error:
        too_many = error.errno == errno.EINVAL and context.containment.gid is not None
        code = ADDING_GROUP if too_many else EARLY
        raise SetupError(code, f"can't take the ids of the user: {error.strerror}") from error
    install(*files)
    if run.awaits_client:
        _await_client(run, environment, context)
    limits.apply(run.limits, memory=True)
    execute_step(run, environment)


def _user_of(run: Run, owner: Identity) -> Identity:
    """Raises IdentityError."""
    if run.awaits_client:
        return find_identity(pwd.getpwuid(os.geteuid()).pw_name)  # normally root: the daemon becomes its client's user
    return owner if run.user is None else find_identity(run.user)


def _await_client(run: Run, environment: dict[str, str], context: ProcessContext) -> None:
    assert context.session is not None
    try:
        await_client(Path(environment["SGE_JOB_SPOOL_DIR"]) / SCRIPT, context.session.client)
    except (NoConnectionError, OSError) as error:
        raise SetupError(EARLY, f"no connection to {run.command.executable}: {plain_fault(error)}") from error


def _set_priority(nice: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    except PermissionError:
        return  # without root a job can only become less important


def open_script(path: str | None) -> int | None:
    """The script for standard input, opened as root: its user needs no right to read the spool (QC-23). Raises
    SetupError."""
    if path is None:
        return None
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise SetupError(OPENING_FILES, f'can\'t open script file "{path}": {error.strerror}') from error


def change_directory(path: str) -> None:
    """Raises SetupError."""
    try:
        os.chdir(path)
    except OSError as error:
        raise SetupError(CHANGING_DIRECTORY, f"can't chdir to {path}: {error.strerror}") from error


def execute_step(run: Run, environment: dict[str, str]) -> None:
    """Become the program of a step. Raises SetupError."""
    command = run.command
    try:
        execute(command.executable, command.argv, environment)
    except OSError as error:
        problem = error
    if run.name in AFTER_JOB_STEPS and not os.access(command.executable, os.X_OK):
        raise SetupError(run.before, f"can't execute {run.name} {command.executable}: {problem.strerror}")
    if command.interpreter and problem.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.exists(command.executable):
        raise SetupError(NO_SHELL, f'unable to find shell "{command.executable}"')
    reason = f"can't execute {run.name} {command.executable}: {problem.strerror}"
    raise SetupError(NO_SHELL, reason, fault_of(problem, bool(run.limits)))
