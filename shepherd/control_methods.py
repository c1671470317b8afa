"""The suspend, resume and terminate commands and the commands of a checkpointing interface, while they run.

Owns the reports of commands that fail: nothing waits for them, so a report is the only sign. `control` decides when they start.
Source: queue_conf(5) suspend_method (QC-27).
"""

from __future__ import annotations

import os
from pathlib import Path

from gridengine.usage.failed import plain_reason
from shepherd import task_files
from shepherd.process import StartedProcess


class ControlMethods:
    """The running commands of one task."""

    def __init__(self, directory: Path, trace: task_files.Trace) -> None:
        self._directory, self._trace = directory, trace
        self._running: dict[int, tuple[str, StartedProcess]] = {}

    def started(self, name: str, started: StartedProcess) -> None:
        """A method runs."""
        self._running[started.pid] = name, started

    def ended(self, pid: int, status: int) -> str:
        """Any process has ended with a wait status; the name of a method that never reached its program, else ""."""
        name, started = self._running.pop(pid, ("", None))
        if started is None:
            return ""
        failed, reason, _ = started.setup_failure()
        if failed:
            self.failed(plain_reason(reason))
            return name
        code = os.waitstatus_to_exitcode(status)
        if code:
            self.failed(f"{name} ended with exit status {code}" if code > 0 else f"{name} died through signal {-code}")
        return ""

    def failed(self, reason: str) -> None:
        """A method failed, or could not be started: report it in the trace and in the messages of the execd."""
        self._trace(reason)
        task_files.add_fault(self._directory, reason)

    def forget(self) -> None:
        """The task has ended: the results of running commands are not collected."""
        for _, started in self._running.values():
            started.forget()
        self._running.clear()
