"""The commands of a checkpointing interface while they run, and the record of the checkpoint that they make.

Owns the running commands and the record of the checkpoint; `control` decides when they start, `run` starts them.
Source: checkpoint(5) ckpt_command, migr_command, clean_command (CK-2, CK-4, CK-7).
"""

from __future__ import annotations

import os
from pathlib import Path

from gridengine.protocols.task_file import TaskConfig
from shepherd import task_files
from shepherd.control import CKPT_COMMANDS
from shepherd.methods import parse_method
from shepherd.outcome import CLEAN
from shepherd.plan import Run, control_method_step


class Checkpoints:
    """The checkpoints of one task."""

    def __init__(self, directory: Path, config: TaskConfig, trace: task_files.Trace) -> None:
        self._directory, self._config, self._trace = directory, config, trace
        self._running: dict[int, str] = {}

    @property
    def has_running_commands(self) -> bool:
        """Whether a command has not ended yet."""
        return bool(self._running)

    @property
    def pids(self) -> set[int]:
        """The processes of the commands that have not ended yet."""
        return set(self._running)

    def is_running(self, name: str) -> bool:
        """Whether this command has not ended yet: there is one of a kind at a time."""
        return name in self._running.values()

    def started(self, name: str, pid: int) -> None:
        """A method runs as process `pid`; methods outside the interface are ignored."""
        if name in CKPT_COMMANDS:
            self._running[pid] = name

    def ended(self, pid: int, status: int, job_pid: int) -> None:
        """Any process has ended with a wait status. The status of a command of interface `application-level` is ignored; one of
        the kernel interfaces has made a checkpoint if it succeeded (checkpoint(5) RESTRICTIONS)."""
        name = self._running.pop(pid, None)
        if name is None:
            return
        self._trace(f"{name} ended with status {os.waitstatus_to_exitcode(status)}")
        if status == 0 or self._config.ckpt_interface == "application-level":
            task_files.write_checkpoint(self._directory, job_pid)


def clean_step(config: TaskConfig, text: str, job_pid: int) -> Run:
    """The process of clean_command. Raises MethodError."""
    return control_method_step(config, CLEAN, parse_method(text), config.variables | {"job_pid": str(job_pid)})
