"""The lines on tasks in `messages` of an exec host: starts, commands, ends with usage and reason.

Owns the lines and their levels. A start and an ordinary end are info, since there may be hundreds of them in a second; that a
task was ended from outside is a warning. Called by `tasks`. Source: docs/formats/messages.md; sge_conf(5) loglevel, GC-4.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from daemons.runtime.messages import about
from gridengine.protocols.delivery import Acknowledgement, Ended, Start
from gridengine.usage.failed import RESCHEDULED, plain_reason
from gridengine.values.task_key import TaskKey
from gridengine.values.units import format_memory

_log = logging.getLogger(__name__)
#: file in a task's directory, written by its shepherd
FAULTS = "faults"
_USED = (("wallclock", "ru_wallclock", "{:.1f} s"), ("cpu", "cpu", "{:.1f} s"), ("maxvmem", "maxvmem", ""))


def log_start(start: Start) -> None:
    """A task has got its directory, and its shepherd is requested."""
    if not _log.isEnabledFor(logging.INFO):
        return
    job, instance = start.job, start.granted[0].instance if start.granted else ""
    text = f"task {task_name(start.key)} of {job.owner} starts in {instance}, attempt {start.key.attempt}"
    _log.info("%s", text, extra=about("task_begins", **_fields(start.key, job.owner), queue=instance))


def log_command(key: TaskKey, owner: str, command: str) -> None:
    """The qmaster sends a command to a running task."""
    if _log.isEnabledFor(logging.INFO):
        text = f"task {task_name(key)} of {owner or '?'}: command of the qmaster: {command}"
        _log.info("%s", text, extra=about("task_told", **_fields(key, owner), command=command))


def log_unwanted(key: TaskKey, owner: str) -> None:
    """A task is running whose attempt has ended for the qmaster."""
    text = f"task {task_name(key)} of {owner or '?'} is killed: its attempt has ended for the qmaster"
    _log.warning("%s", text, extra=about("task_unwanted", **_fields(key, owner)))


def log_faults(key: TaskKey, owner: str, directory: Path) -> None:
    """Faults noted by the shepherd of a task that do not end it, such as a failed suspend_method. Each is logged once."""
    taken = directory / f"{FAULTS}.said"
    try:
        os.rename(directory / FAULTS, taken)
        lines = taken.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        text = f"task {task_name(key)} of {owner or '?'}: {line}"
        _log.warning("%s", text, extra=about("task_fault", **_fields(key, owner), reason=line))


def log_end(end: Ended, owner: str) -> None:
    """A task has ended."""
    level = logging.WARNING if end.failed and end.failed != RESCHEDULED else logging.INFO
    if not _log.isEnabledFor(level):
        return
    used = [f"{label} {_amount(end.usage[key], form)}" for label, key, form in _USED if end.usage.get(key)]
    reason = plain_reason(end.reason)
    why = f" ({reason})" if end.failed and reason else ""
    text = f"task {task_name(end.key)} of {owner or '?'} has ended{why}: " + ", ".join([f"exit status {end.exit_status}", *used])
    fields = {"exit_status": end.exit_status, "failed": end.failed, "reason": reason, "usage": end.usage}
    _log.log(level, "%s", text, extra=about("task_ended", **_fields(end.key, owner), **fields))


def task_name(key: TaskKey) -> str:
    """The name of a task for users: `5.1`, of slave tasks with their number: `5.1, slave task 2`."""
    return f"{key[0]}.{key[1]}" + (f", slave task {key[3]}" if len(key) > 3 else "")


def _amount(value: float, form: str) -> str:
    return form.format(value) if form else format_memory(value)


def _fields(key: TaskKey, owner: str) -> dict[str, object]:
    return {"job": key[0], "task": key[1], "user": owner}


def refusal(key: TaskKey, failed: int, reason: str) -> Acknowledgement:
    """Log why a task cannot be started, and return the answer."""
    _log.error("cannot start task %d.%d: %s", *key[:2], reason)
    return Acknowledgement(False, failed, reason)
