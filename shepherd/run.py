"""The run of one task by its shepherd: the steps of its plan, commands of the execd meanwhile, and the content of `exit`.

The run waits in sigtimedwait(2): for its children, for a command of the execd, for the next deadline. Decisions are in
`plan`, `control`, `outcome`; system calls on its processes are in `processes`.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gridengine.errors import plain_fault
from gridengine.protocols.task_file import TaskConfig
from gridengine.usage.failed import EARLY, SHEPHERD_ERROR
from shepherd import control, plan, preparation, process, process_tree, session, task_files
from shepherd.checkpoints import Checkpoints, clean_step
from shepherd.config import with_tmpdir
from shepherd.control_methods import ControlMethods
from shepherd.environment_file import EnvironmentFile
from shepherd.faults import BY_CODE, fault_of
from shepherd.host_end import HostEnd
from shepherd.identity import Identity
from shepherd.method_files import MethodFiles
from shepherd.methods import MethodError
from shepherd.outcome import AFTER_JOB_STEPS, CLEAN, Ended, Outcome
from shepherd.processes import Processes

COMMAND_SIGNAL = signal.SIGRTMIN
_WAITED_FOR = {signal.SIGCHLD, COMMAND_SIGNAL, signal.SIGTERM}
BLOCKED = _WAITED_FOR | {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
_ENDING_COMMANDS = ("terminate", "kill")
_END = "end"  # of an operator: as `terminate`, but ends a method after the job, too
_AFTER_JOB_COMMANDS = ("kill", "usage", "resume")  # a user's deletion does not interrupt the administrator's epilog


class TaskRun:
    """State of one task while its steps are carried out."""

    def __init__(self, directory: Path, config: TaskConfig, owner: Identity, trace: task_files.Trace) -> None:
        self._directory, self._config, self._owner, self._trace = directory, config, owner, trace
        plain = bool(config.session)  # interactive jobs are never run again, for any exit status (IA-8)
        self._outcome = Outcome(plain or config.forbid_reschedule, plain or config.forbid_apperror)
        self._control = control.Control(config)
        self._host_end = HostEnd(self._control)
        self._processes = Processes(trace, self._child_ended)
        self._usage = self._processes.usage
        self._started: process.StartedProcess | None = None
        self._current: plan.Run | None = None
        self._current_status: int | None = None
        self._checkpoints = Checkpoints(directory, config, trace)
        self._methods = ControlMethods(directory, trace)
        self._start_time = self._end_time = self._job_since = self._wallclock_s = 0.0  # the last two by the monotonic clock
        self._commands_read, self._job_over = 0, False
        self._environment_file = EnvironmentFile(directory, owner, trace)
        self._method_files = MethodFiles(directory, config, trace)
        self._session: session.Session | None = None
        self._until: float | None = None  # deadline of the step that is waited for
        self._timeout_reason = ""

    def run(self) -> dict[str, object]:
        """Carry out all steps; returns the content of `exit`."""
        try:
            done, planned = 0, self._config
            steps = plan.plan(planned)
            while done < len(steps):
                self._carry_out(steps[done])
                done += 1
                if self._config is not planned:  # the scratch directory has got another name
                    planned = self._config
                    steps = plan.plan(planned)
        finally:
            self._methods.forget()
            self._processes.end_all()
            self._processes.release(self._directory)
        return self._record()

    def _record(self) -> dict[str, object]:
        return self._outcome.record() | {
            "start_time": self._start_time,
            "end_time": self._end_time or time.time(),
            "usage": self._usage.final(self._wallclock_s),
            "checkpoint": task_files.read_checkpoint(self._directory),
        }

    def _carry_out(self, step: plan.Step) -> None:
        try:
            self._execute_step(step)
        except preparation.PreparationError as error:
            self._fail(plan.PREPARATION, error.failed, str(error), error.fault)
        except Exception as error:  # a bug or a broken disk: the job must not be lost, and the reason must be seen
            self._abort(f"shepherd failed: {type(error).__name__}: {error}")

    def _abort(self, reason: str) -> None:
        """A step failed unexpectedly. No process of the job is left running; its exit status and usage stay, if it has ended."""
        process_tree.kill_tree(os.getpid(), () if self._session is None else (self._session.pid,))
        self._current, self._processes.awaited = None, 0
        if self._job_over:
            self._trace(reason)
            return
        self._job_over = True
        self._control.ended()
        self._usage.ended(time.monotonic())
        if self._start_time:
            self._end_time, self._wallclock_s = time.time(), time.monotonic() - self._job_since
            self._outcome.exit_status, self._outcome.signal = 128 + signal.SIGKILL, int(signal.SIGKILL)
        self._fail(plan.PREPARATION, SHEPHERD_ERROR, reason)

    def _execute_step(self, step: plan.Step) -> None:
        """Raises PreparationError."""
        match step:
            case plan.Contain():
                self._processes.containment = preparation.contain(self._directory, step, self._trace)
            case plan.CloseDevices():
                self._processes.guard = preparation.close_devices(self._directory, step, self._processes.containment, self._trace)
            case plan.Bind():
                preparation.bind(step.processors, self._trace)
            case plan.MakeDirectory():
                self._config = with_tmpdir(self._config, preparation.make_directory(self._directory, self._owner, step.path))
            case plan.Run():
                self._run_to_end(step)
            case plan.StartSession():
                self._open_session()
            case plan.EndSession():
                self._close_session()
            case plan.Sweep():
                self._sweep()
            case plan.Clean():
                self._clean(step.text)
            case plan.RemoveDirectory():
                preparation.remove_directory(self._owner, step.path, self._trace)

    def _fail(self, step: str, failed: int, reason: str, fault: str = BY_CODE) -> None:
        self._trace(reason)
        self._outcome.fail(step, failed, task_files.stamped(reason), fault)

    # --- one process ----------------------------------------------------------------------------------------------

    def _run_to_end(self, step: plan.Run) -> None:
        if self._outcome.is_lost or self._outcome.unsuccessful.intersection(step.needs):
            self._trace(f"{step.name} skipped")
            return
        self._read_commands()
        if step.error is not None:
            self._fail(step.name, step.before, f"{step.name}: {step.error}")
            return
        is_job = step.name == "job"
        if is_job and self._processes.reap():
            self._processes.exclude_children()
        if self._control.end_reason and step.name not in AFTER_JOB_STEPS:
            self._ended(step, Ended(128 + signal.SIGKILL, signal.SIGKILL))
            return
        self._current, self._current_status = step, None
        if is_job:
            task_files.job_begins(self._directory)
        try:
            self._started = self._begin(step)
        except OSError as error:
            self._fail(step.name, step.before, f"can't start {step.name}: {error.strerror}", fault_of(error))
            return
        self._processes.awaited = self._started.pid
        if is_job:
            self._job_started(self._started.pid)
        else:
            self._processes.not_job.add(self._started.pid)
            if self._control.suspended:
                self._processes.signal(signal.SIGSTOP)
        self._until, self._timeout_reason = None if step.timeout_s is None else time.monotonic() + step.timeout_s, ""
        while self._current_status is None:
            self._wait()
        self._current = self._until = None
        self._processes.awaited = 0
        self._ended(step, self._collect_end(self._current_status))

    def _begin(self, step: plan.Run) -> process.StartedProcess:
        """Start the process of a step. Raises OSError."""
        config, held_by = self._config, self._processes.containment
        context = process.ProcessContext(self._owner, config.cwd, config.umask, config.nice, held_by, self._session)
        extra = {"SGE_JOB_SPOOL_DIR": str(self._directory)}
        self._method_files.begin(config, held_by.gid)
        self._environment_file.before(step, config.environment | extra)
        extra = self._environment_file.variables_for(step) | extra
        if step.name == "epilog":
            extra["SGE_JOBEXIT_STAT"] = str(self._outcome.exit_status)
        started = process.start(step, context, extra)
        self._trace(f"{step.name} is process {started.pid}: {' '.join(step.command.argv)}")
        return started

    def _job_started(self, pid: int) -> None:
        if self._session is not None:
            self._session.job_started()
        self._processes.job_pid = pid
        self._start_time, self._job_since = time.time(), time.monotonic()
        self._usage.began(self._job_since)
        task_files.write_process(self._directory / task_files.JOB_PID, pid)
        self._carry_out_actions(self._control.started(time.monotonic()))

    def _collect_end(self, status: int) -> Ended:
        assert self._started is not None
        setup_failed, reason, fault = self._started.setup_failure()
        self._started = None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        exit_status = 128 + number if number else os.WEXITSTATUS(status)
        return Ended(exit_status, number, setup_failed, reason or self._timeout_reason, fault)

    def _ended(self, step: plan.Run, ended: Ended) -> None:
        self._trace(f"{step.name} ended with {ended.reason or ended.exit_status}")
        self._environment_file.after(step)
        if step.name == "job":
            self._job_ended(ended)
        elif self._control.end_reason and ended.signal == signal.SIGKILL:
            self._outcome.killed(step.name, task_files.stamped(self._control.death_reason(ended.signal)))
        elif lost := self._host_end.reason(ended):
            self._outcome.lost(step.name, ended, lost)
        else:
            self._outcome.method_ended(step.name, ended, as_owner=step.user is None)

    def _job_ended(self, ended: Ended) -> None:
        self._await_checkpoint()
        self._job_over = True
        self._control.ended()
        self._usage.ended(time.monotonic())
        if ended.setup_failed:
            self._start_time = 0.0  # as in 8.1.9, a job that did not reach its program has no start time
        elif self._start_time:
            self._end_time, self._wallclock_s = time.time(), time.monotonic() - self._job_since
        self._processes.note_cgroup()
        if ended.exit_status and (killed_at := self._processes.out_of_memory_at()) is not None:
            self._control.out_of_memory(killed_at)
            ended = Ended(128 + signal.SIGKILL, signal.SIGKILL)
        if ended.exit_status == 128 + signal.SIGKILL:  # of the job itself, or as its shell reports of a child
            self._control.killed_by_unknown(self._usage.cpu_s)
        if lost := self._host_end.reason(ended):
            self._outcome.lost("job", ended, lost)
        else:
            end_reason = task_files.stamped(self._control.death_reason(ended.signal))
            self._outcome.job_ended(ended, end_reason, self._control.migrating, self._control.limit_enforced)
        if self._start_time:  # before anything that may take long, as the removal of files
            task_files.write_job_end(self._directory, self._record(), final=not plan.goes_on_after_job(self._config))
        self._method_files.job_ended(self._record)

    # --- waiting --------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Sleep until a child ends, a command comes or a deadline is reached, and deal with it."""
        deadlines = [at for at in (self._control.deadline(), self._usage.deadline(), self._until) if at is not None]
        deadline = min(deadlines, default=None)
        if deadline is None:
            received: signal.struct_siginfo | None = signal.sigwaitinfo(_WAITED_FOR)
        else:
            received = signal.sigtimedwait(_WAITED_FOR, control.pause_s(deadline, time.monotonic()))
        if received is not None and received.si_signo == COMMAND_SIGNAL:
            self._read_commands()
        elif received is not None and received.si_signo == signal.SIGTERM:
            self._trace(self._host_end.note(received))
        self._processes.reap()
        if deadline is not None and self._current_status is None:
            if self._usage.due(time.monotonic()):
                self._processes.measure()
            self._carry_out_actions(self._control.due(time.monotonic()))
        if self._until is not None and time.monotonic() >= self._until:
            self._give_up()

    def _give_up(self) -> None:
        """The step that is waited for has taken too long: the job must not keep its slots forever."""
        self._until = None
        if self._current is not None:
            self._timeout_reason = task_files.stamped(f"{self._current.name} took longer than {self._current.timeout_s} s")
            self._trace(self._timeout_reason)
            self._processes.kill()
        elif self._session is not None:
            self._trace("the client of the session does not take the end of its job")
            self._session.kill()

    def _child_ended(self, pid: int, status: int) -> None:
        if self._session is not None and pid == self._session.pid:
            self._session_ended(os.waitstatus_to_exitcode(status))
        if self._started is not None and pid == self._started.pid:
            self._current_status = status
        self._checkpoints.ended(pid, status, self._processes.job_pid)
        name = self._methods.ended(pid, status)
        if name and self._processes.is_job_running:
            self._carry_out_actions(self._control.not_executed(name))

    def _read_commands(self) -> None:
        commands, self._commands_read = task_files.commands_after(self._directory, self._commands_read)
        for command in commands:
            if command == _END:
                command = "kill" if self._job_over else "terminate"
            if self._job_over and self._session is not None and command in _ENDING_COMMANDS:
                self._session.kill()  # the session is being closed, and the client is slow
            if self._job_over and command not in _AFTER_JOB_COMMANDS:
                self._trace(f"command {command} left alone: the job has ended already")
                continue
            self._trace(f"command {command}")
            self._carry_out_actions(self._control.command(command, time.monotonic()))

    # --- the session of an interactive job -------------------------------------------------------------------------

    def _open_session(self) -> None:
        try:
            self._session = session.start(self._directory, self._config, self._owner)
        except OSError as error:
            self._fail(plan.PREPARATION, EARLY, f"can't make the streams of the session: {error.strerror}")
            return
        self._processes.not_job.add(self._session.pid)
        self._trace(f"session is process {self._session.pid}")

    def _close_session(self) -> None:
        """A connected client gets the rest of the output and the outcome, within the time that the job could have run."""
        if self._session is None:
            return
        self._job_over = True
        outcome = self._outcome
        self._session.finish(outcome.exit_status, outcome.failed, outcome.reason, linger=not self._control.end_reason)
        if self._config.slave and self._control.end_reason:
            self._session.kill()  # its client belongs to the same job, and ends with it
        self._until = session.closing_deadline(self._config, self._job_since, time.monotonic())
        while not self._session.has_ended:
            self._wait()
        self._session = self._until = None

    def _session_ended(self, status: int) -> None:
        assert self._session is not None
        if not self._job_over:
            end_reason = session.END_REASONS.get(status, "the process of the interactive session died")
            self._trace(end_reason)
            self._carry_out_actions(self._control.disconnected(end_reason, time.monotonic()))
        self._session.ended()

    # --- acting, checkpoints --------------------------------------------------------------------------------------

    def _carry_out_actions(self, actions: list[control.Action]) -> None:
        for action in actions:
            match action:
                case control.Signal(number):
                    self._processes.signal(number)
                case control.Kill(end_reason):
                    self._trace(end_reason)
                    self._processes.kill()
                case control.RunMethod(name):
                    self._run_method(name)
                case control.Renice(nice):
                    self._processes.renice(nice, self._config.slots)
                case control.WriteUsage() if not self._job_over:
                    self._processes.measure()
                    task_files.write_usage(self._directory, self._usage.current_values())
                case control.Measure():
                    self._processes.measure()
                    vmem, killed_at = self._processes.limited_memory(self._config.memory_by_cgroup)
                    self._carry_out_actions(self._control.measured(self._usage.cpu_s, vmem, killed_at))
                case control.Note(text):
                    self._trace(text)

    def _run_method(self, name: str) -> None:
        """Start a suspend, resume, terminate or checkpointing command, of the latter one of a kind at a time; without waiting."""
        method = self._control.method(name)
        if method is None or not self._processes.is_job_running:
            return
        if self._checkpoints.is_running(name):
            self._trace(f"{name} is still running")
            return
        variables = self._config.variables | {"job_pid": str(self._processes.job_pid)}
        try:
            started = self._begin(plan.control_method_step(self._config, name, method, variables))
        except (MethodError, OSError) as error:
            self._methods.failed(f"can't start {name}: {plain_fault(error)}")
            self._carry_out_actions(self._control.not_executed(name))
            return
        self._processes.not_job.add(started.pid)
        self._methods.started(name, started)
        self._checkpoints.started(name, started.pid)

    def _await_checkpoint(self) -> None:
        """A job may end before the command that saves it: wait for the command, unless the job is deleted."""
        while self._checkpoints.has_running_commands and (self._control.migrating or not self._control.end_reason):
            received = signal.sigtimedwait(_WAITED_FOR, 1.0)
            if received is not None and received.si_signo == COMMAND_SIGNAL:
                self._read_commands()
                if self._control.end_reason:
                    return
            self._processes.reap()

    def _clean(self, text: str) -> None:
        """clean_command, for a job that has run and is not rerun; its exit status is ignored (CK-2)."""
        if not self._processes.job_pid or self._outcome.runs_again:
            return
        try:
            step = clean_step(self._config, text, self._processes.job_pid)
        except MethodError as error:
            self._trace(f"{CLEAN}: {error}")
            return
        self._run_to_end(step)

    def _sweep(self) -> None:
        """Kill and reap the processes that the job has left behind (EX-7), including a command that was to save a job that
        is deleted: no file may be added to the files that clean_command removes (CK-2)."""
        if self._processes.job_pid:
            self._processes.sweep(self._checkpoints.pids)
