"""When to signal, warn, stop, continue or kill the job: commands, notification, time limits, usage limits.

A pure state machine: monotonic times and measurements are arguments, actions are results; `run` carries them out.
Source: queue_conf(5) suspend_method ..., notify, RESOURCE LIMITS (QC-27, QC-29, RL-2 to RL-5, RL-9), EX-6.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from gridengine.protocols.task_file import Number, TaskConfig
from gridengine.values.quantities import size_text
from shepherd.config import WITH_CKPT_COMMANDS, total_limit
from shepherd.methods import Method, MethodError, parse_control_method, parse_method, parse_signal

_METHODS = ("suspend_method", "resume_method", "terminate_method")
CKPT_COMMANDS = ("ckpt_command", "migr_command")
_LONGEST_WAIT_S = 3600.0  # sigtimedwait(2) refuses times that are valid as limits
_NEAR = 0.5  # of h_vmem: a job that the kernel killed below it was not killed for this limit
_KERNEL_COUNTS = 0.9  # RLIMIT_CPU counts clock ticks, which differ by a few percent from the usage


@dataclass(frozen=True, slots=True)
class Signal:
    """Send `number` to every process of the job."""

    number: int


@dataclass(frozen=True, slots=True)
class Kill:
    """End every process of the job at once, because of `end_reason`."""

    end_reason: str


@dataclass(frozen=True, slots=True)
class RunMethod:
    """Start the configured command of suspend_method, resume_method or terminate_method, ckpt_command or migr_command."""

    name: str


@dataclass(frozen=True, slots=True)
class Renice:
    """Give every process of the job this nice value."""

    nice: int


@dataclass(frozen=True, slots=True)
class WriteUsage:
    """Measure the job and write the `usage` file."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the job and hand the values to `measured`."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line for the trace."""

    text: str


Action = Signal | Kill | RunMethod | Renice | WriteUsage | Measure | Note


def pause_s(deadline: float, now: float) -> float:
    """Return the time to sleep for `deadline`, both monotonic; for a distant deadline there are several sleeps."""
    return min(max(0.0, deadline - now), _LONGEST_WAIT_S)


class Control:
    """The state of one job's suspension, termination and limits."""

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        self._deadlines: dict[str, float] = {}
        self._notes: list[Action] = []
        self._methods = {name: self._parse(name, getattr(config, name)) for name in _METHODS}
        self._methods |= {name: self._parse_ckpt(name, getattr(config, name)) for name in CKPT_COMMANDS}
        self._ckpt_signal = self._parse("ckpt_signal", config.ckpt_signal)
        self._notify_kill = self._parse_notify("notify_kill", config.notify_kill)
        self._notify_susp = self._parse_notify("notify_susp", config.notify_susp)
        self._warned: set[str] = set()
        self._sent: dict[int, str] = {}  # signal -> the soft limit for which the job was sent it
        self._nice: int | None = None  # by a command that came before the start of the job
        self.suspended = False
        self.migrating = False
        self.end_reason = ""  # the reason why the job was ended; "" while it may run
        self.limit_enforced = False  # the reason is a hard limit of the queue or the job

    def death_reason(self, number: int) -> str:
        """Return the reason why the job was ended, or the soft limit whose signal the job died of; "" for neither."""
        return self.end_reason or self._sent.get(number, "")

    @property
    def needs_measuring(self) -> bool:
        """Whether a limit needs the sum over all processes."""
        limits = self._config.limits
        return any(limits.get(name) is not None for name in ("h_cpu", "s_cpu", "h_vmem", "s_vmem"))

    def method(self, name: str) -> Method | None:
        """The command of a `RunMethod`."""
        found = self._methods[name]
        return found if isinstance(found, Method) else None

    def started(self, now: float) -> list[Action]:
        """The job's process exists since `now`."""
        for name in ("h_rt", "s_rt"):
            limit = self._config.limits.get(name)
            if limit is not None:
                self._deadlines[name] = now + limit
        if "m" in self._config.ckpt_when:
            self._deadlines["checkpoint"] = now + self._config.ckpt_interval_s
        if self.needs_measuring:
            self._deadlines["measure"] = now + self._config.pdc_interval_s
        actions, self._notes = self._notes, []
        if self._nice is not None:
            actions.append(Renice(self._nice))
        if self.suspended:
            actions.append(Signal(signal.SIGSTOP))
        return actions

    def ended(self) -> None:
        """The job's process has ended: limits, stops and pending kills do not apply to methods after it."""
        self._deadlines.clear()
        self.suspended = False

    def deadline(self) -> float | None:
        """Monotonic time at which `due` is to be called next; None: never."""
        return min(self._deadlines.values(), default=None)

    def command(self, text: str, now: float) -> list[Action]:
        """Carry out a command of the execd. An unknown command is traced and ignored."""
        if text in ("terminate", "kill"):
            self.migrating = False  # the job is not to continue elsewhere
        match text:
            case "suspend":
                return self._suspend(now)
            case "resume":
                return self._resume()
            case "terminate":
                return self._terminate(now, "the job was to be deleted")
            case "migrate":
                return self._migrate(now)
            case "shutdown":
                return self._shut_down(now)
            case "kill":
                return self._kill("the job was killed on request")
            case "usage":
                return [WriteUsage()]
        name, _, value = text.partition("=")
        if name == "nice" and value.lstrip("-").isdigit():
            self._nice = int(value)
            return [Renice(self._nice)]
        try:
            return [Signal(parse_signal(text))]
        except MethodError as error:
            return [Note(f"command {text!r} left alone: {error}")]

    def not_executed(self, name: str) -> list[Action]:
        """The command of this `RunMethod` never reached its program: the default action is taken, as without a method.

        Deviation: 8.1.9 does nothing, and shows a job that continues to run as suspended.
        """
        match name:
            case "suspend_method" if self.suspended:
                return [Signal(signal.SIGSTOP)]
            case "resume_method" if not self.suspended:
                return [Signal(signal.SIGCONT)]
            case "terminate_method":
                return self._kill(self.end_reason)
        return []

    def disconnected(self, end_reason: str, now: float) -> list[Action]:
        """The session of an interactive job has ended before the job."""
        return self._terminate(now, end_reason)

    def due(self, now: float) -> list[Action]:
        """Take the actions that are due at monotonic time `now`."""
        actions: list[Action] = []
        for name in [name for name, at in self._deadlines.items() if at <= now]:
            if self._deadlines.pop(name, None) is None:
                continue  # another deadline of the same time has ended the job
            match name:
                case "h_rt":
                    self._blame_limit()
                    actions += self._terminate(now, self._exceeded("h_rt", "s"))
                case "s_rt":
                    self._sent[signal.SIGUSR1] = self._exceeded("s_rt", "s")
                    actions += [*self._continue_stopped(), Signal(signal.SIGUSR1)]
                    self._deadlines["s_rt kill"] = now + self._config.queue_notify_s
                case "s_rt kill":
                    actions += self._kill(self._exceeded("s_rt", "s"))
                case "stop":
                    actions += self._stop()
                case "end":
                    actions += self._end()
                case "insist":
                    actions += self._kill(self.end_reason)
                case "checkpoint":
                    actions += self._checkpoint()
                    self._deadlines["checkpoint"] = now + self._config.ckpt_interval_s
                case "measure":
                    actions.append(Measure())
                    self._deadlines["measure"] = now + self._config.pdc_interval_s
        return actions

    def measured(self, cpu_s: float, vmem: int, killed_at: int | None = None) -> list[Action]:
        """Compare a measurement with the limits on sums over all processes (RL-4, RL-5).

        `vmem`: bytes; of memory instead of address space where a cgroup limits it. `killed_at`: see `out_of_memory`.
        """
        if killed_at is not None:
            return self.out_of_memory(killed_at)
        actions: list[Action] = []
        for name, value, unit in (("cpu", cpu_s, "s"), ("vmem", vmem, "bytes")):
            hard, soft = total_limit(self._config, f"h_{name}"), total_limit(self._config, f"s_{name}")
            if hard is not None and value > hard:
                return self._enforce(f"h_{name}", unit, _killed_at(vmem, int(hard)) if name == "vmem" else "")
            if soft is not None and value > soft and name not in self._warned:
                self._warned.add(name)
                self._sent[signal.SIGXCPU] = self._exceeded(f"s_{name}", unit)
                actions += [Note(self._exceeded(f"s_{name}", unit)), Signal(signal.SIGXCPU)]
        return actions

    def out_of_memory(self, killed_at: int = 0) -> list[Action]:
        """The kernel has killed a process of the job for the limit of its cgroup: kill the other processes, too. `killed_at`: the
        bytes that were in use, 0 where the kernel does not say it."""
        limit = int(total_limit(self._config, "h_vmem") or 0)
        if not limit or 0 < killed_at < limit * _NEAR:
            used = f" at {size_text(killed_at, 1)}" if killed_at else ""
            return self._kill(f"the host was out of memory: the kernel killed a process of the job{used}")
        return self._enforce("h_vmem", "bytes", _killed_at(killed_at or limit, limit))

    def killed_by_unknown(self, cpu_s: float) -> None:
        """The job died through a SIGKILL that the shepherd did not send, having used `cpu_s`. The kernel kills a process at
        h_cpu, often before the next measurement: the record is the same as if the shepherd had enforced the limit (RL-4)."""
        limit = total_limit(self._config, "h_cpu")
        if limit is not None and cpu_s >= limit * _KERNEL_COUNTS:
            self._enforce("h_cpu", "s")

    def _enforce(self, name: str, unit: str, further: str = "") -> list[Action]:
        self._blame_limit()
        return self._kill(f"{self._exceeded(name, unit)}{further}")

    def _blame_limit(self) -> None:
        """A hard limit ends the job, unless it is being ended already."""
        self.limit_enforced = self.limit_enforced or not self.end_reason

    def _exceeded(self, name: str, unit: str) -> str:
        limit = self._config.limits[name]
        assert limit is not None
        text = unit == "bytes" and _in_units(limit) or f"{limit if limit == int(limit) else round(limit, 1)} {unit}"
        return f"limit {name} of {text} exceeded"

    def _suspend(self, now: float) -> list[Action]:
        if self.suspended or "stop" in self._deadlines:
            return []
        if self._config.notify_s is not None and self._notify_susp is not None:
            self._deadlines["stop"] = now + self._config.notify_s
            return [Signal(self._notify_susp)]
        return self._stop()

    def _stop(self) -> list[Action]:
        self.suspended = True
        return [self._default_or_method("suspend_method", signal.SIGSTOP)]

    def _checkpoint(self) -> list[Action]:
        """Have a checkpoint made, by the interface's command or by its signal (CK-7)."""
        if self._config.ckpt_interface in WITH_CKPT_COMMANDS:
            return [RunMethod("ckpt_command")] if self.method("ckpt_command") is not None else []
        return [Signal(self._ckpt_signal)] if isinstance(self._ckpt_signal, int) else []

    def _migrate(self, now: float) -> list[Action]:
        """Save and end the job, to continue elsewhere: migr_command does both; without that command the job is ended (CK-4,
        O)."""
        if self.migrating:
            return []
        self.migrating = True
        if self._config.ckpt_interface in WITH_CKPT_COMMANDS and self.method("migr_command") is not None:
            return [*self._continue_stopped(), RunMethod("migr_command")]
        return self._terminate(now, "the job migrates")

    def _shut_down(self, now: float) -> list[Action]:
        """The host's daemon ends and takes its jobs with it (CK-5; qconf(1) -kej)."""
        if "s" in self._config.ckpt_when:
            return self._migrate(now)
        return self._terminate(now, "sge_execd was shut down with its jobs")

    def _resume(self) -> list[Action]:
        if self.migrating and not self.end_reason:
            self.migrating = False  # migr_command has not ended the job yet: the job may stay
            return []
        self._deadlines.pop("stop", None)
        self.suspended = False
        return [self._default_or_method("resume_method", signal.SIGCONT)]

    def _terminate(self, now: float, end_reason: str) -> list[Action]:
        """Send a warning signal if the job requested it, then end the job. If a terminate_method does not end it, it is killed
        after the queue's `notify`.

        Deviation: 8.1.9 repeats the method until the job has ended, which may be never.
        """
        if "insist" in self._deadlines:
            return []
        self.end_reason = self.end_reason or end_reason
        self._deadlines["insist"] = now + (self._config.notify_s or 0) + self._config.queue_notify_s
        if self._config.notify_s is not None and self._notify_kill is not None:
            self._deadlines["end"] = now + self._config.notify_s
            return [*self._continue_stopped(), Signal(self._notify_kill)]
        return self._end()

    def _end(self) -> list[Action]:
        action = self._default_or_method("terminate_method", signal.SIGKILL)
        if action == Signal(signal.SIGKILL):
            return self._kill(self.end_reason)
        return [*self._continue_stopped(), action]

    def _kill(self, end_reason: str) -> list[Action]:
        self._deadlines.clear()
        self.end_reason = self.end_reason or end_reason
        return [Kill(self.end_reason)]

    def _continue_stopped(self) -> list[Action]:
        """A stopped process handles no signal but SIGKILL."""
        if not self.suspended:
            return []
        self.suspended = False
        return [Signal(signal.SIGCONT)]

    def _default_or_method(self, name: str, default: int) -> Action:
        method = self._methods[name]
        if isinstance(method, Method):
            return RunMethod(name)
        return Signal(default if method is None else method)

    def _parse(self, name: str, text: str | None) -> Method | int | None:
        try:
            return parse_control_method(text)
        except MethodError as error:
            self._notes.append(Note(f"{name} left alone: {error}"))
            return None

    def _parse_ckpt(self, name: str, text: str | None) -> Method | None:
        try:
            return parse_method(text) if text is not None else None
        except MethodError as error:
            self._notes.append(Note(f"{name} left alone: {error}"))
            return None

    def _parse_notify(self, name: str, text: str) -> int | None:
        if text.lower() == "none":
            return None
        try:
            return parse_signal(text)
        except MethodError as error:
            self._notes.append(Note(f"{name} left alone: {error}"))
            return signal.SIGUSR2 if name == "notify_kill" else signal.SIGUSR1


def _in_units(size: Number) -> str:
    """A size as it was given, in the largest unit of which it is a multiple; "" if it is none."""
    for suffix, unit in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if size and size % unit == 0:
            return f"{size // unit:.0f}{suffix}"
    return ""


def _killed_at(used: int, limit: int) -> str:
    """`, killed at 4.0G of 4G`: of all slots on the host."""
    return f", killed at {size_text(used, 1)} of {_in_units(limit) or size_text(limit, 1)}"
