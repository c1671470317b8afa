"""A whole run of a task without processes: their starts, their ends, commands of the execd and the time are played."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shepherd import host_end, plan, process, process_tree, session, task_files
from shepherd.faults import BY_CODE
from shepherd.identity import Identity
from shepherd.outcome import METHODS
from shepherd.processes import Processes
from shepherd.run import COMMAND_SIGNAL, TaskRun
from shepherd.task_files import Trace
from tests.unit.shepherd.configuration import config

SESSION_PID = 900
EPOCH = 5000.0
MOST_WAITS = 40
Event = Callable[[], int | None]


class PlayedSession:
    """The process of a session. `calls`: of the run. `lingers`: it waits for its client when its job has ended."""

    pid, client = SESSION_PID, ""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.has_ended = self.lingers = False

    def job_started(self) -> None:
        pass

    def kill(self) -> None:
        self.calls.append("killed")
        self.has_ended = True

    def finish(self, *outcome: object, linger: bool) -> None:
        self.calls.append((*outcome, linger))
        self.has_ended = not self.lingers

    def ended(self) -> None:
        self.calls.append("ended")
        self.has_ended = True


class PlayedRun:
    """`actions`: on the processes. `steps`: those that were started. `slept`: how long the run would have slept, None: forever.
    `failure`: code, reason and fault of the setup of each process. `cpu_s`: of each process that ends. `is_shutting_down`: the
    host."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory, self._ended, self._events = directory, list[tuple[int, int]](), list[Event]()
        self.actions: list[Any] = []
        self.steps: list[str] = []
        self.slept: list[float | None] = []
        self.failure, self.cpu_s = (0, "", BY_CODE), 0.0
        self.session, self.now, self._awaited = PlayedSession(), 100.0, 0
        for name, done in {
            "signal": lambda _, number: self.actions.append(number),
            "kill": lambda _: self.actions.append("kill"),
            "renice": lambda _, nice, slots: self.actions.append(("nice", nice)),
            "measure": lambda _: self.actions.append("measure"),
            "sweep": lambda _, excluded: self.actions.append("sweep"),
            "end_all": lambda _: None,
        }.items():
            monkeypatch.setattr(Processes, name, done)
        monkeypatch.setattr(process, "start", self._start)
        monkeypatch.setattr(session, "start", lambda *_: self.session)
        monkeypatch.setattr(process_tree, "kill_tree", lambda *_: None)
        self.is_shutting_down = False
        monkeypatch.setattr(host_end, "is_shutting_down", lambda: self.is_shutting_down)
        monkeypatch.setattr(os, "waitid", self._waitid)
        monkeypatch.setattr(os, "wait4", lambda pid, _: (*self._ended.pop(0), _Usage(self.cpu_s)))
        monkeypatch.setattr(signal, "sigwaitinfo", lambda _: self._sleep(None))
        monkeypatch.setattr(signal, "sigtimedwait", lambda _, seconds: self._sleep(seconds))
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "time", lambda: EPOCH)

    def run(self, *events: Event, **changes: Any) -> dict[str, Any]:
        """The record of a task with these changes of its configuration. At each sleep one of `events` happens; after the last,
        each process ends with 0."""
        self._events += events
        return TaskRun(self._directory, config(**changes), Identity("alice", 1001, 1001, ()), Trace(self._directory)).run()

    @property
    def trace(self) -> str:
        return (self._directory / task_files.TRACE).read_text()

    # --- events ---------------------------------------------------------------------------------------------------

    def end(self, status: int = 0, pid: int = 0) -> Event:
        """A process ends with a wait status; 0: the step that is waited for."""

        def happen() -> int:
            self._ended.append((pid or self._awaited, status))
            return signal.SIGCHLD

        return happen

    def command(self, *texts: str, number: int = COMMAND_SIGNAL) -> Event:
        """Commands of the execd, and a signal."""

        def happen() -> int:
            for text in texts:
                task_files.add_command(self._directory, text)
            return number

        return happen

    def passing(self, seconds: float) -> Event:
        def happen() -> None:
            self.now += seconds

        return happen

    # --- the host -------------------------------------------------------------------------------------------------

    def _start(self, step: plan.Run, *_: object) -> Any:
        self.steps.append(step.name)
        pid = 1000 + len(self.steps)
        if step.name in (*METHODS, "job"):
            self._awaited = pid
        return SimpleNamespace(pid=pid, setup_failure=lambda: self.failure, forget=lambda: None)

    def _waitid(self, *_: object) -> SimpleNamespace:
        if not self._ended:
            raise ChildProcessError
        return SimpleNamespace(si_pid=self._ended[0][0])

    def _sleep(self, seconds: float | None) -> SimpleNamespace | None:
        self.slept.append(seconds)
        assert len(self.slept) < MOST_WAITS, "the run waits for ever"
        number = (self._events.pop(0) if self._events else self.end())()
        return None if number is None else SimpleNamespace(si_signo=number, si_pid=1)


class _Usage:
    """The usage of a process by wait4(2)."""

    def __init__(self, cpu_s: float) -> None:
        self.ru_utime = cpu_s

    def __getattr__(self, name: str) -> int:
        return 0
