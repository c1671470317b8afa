"""The shepherd of one task, a process forked by the launcher: from claiming the task to leaving its `exit` file.

Owns that something is always written there, whatever goes wrong. Called by `launcher`; the task itself is `run`'s.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gridengine.errors import plain_fault
from gridengine.failed import BEFORE_PID, EARLY, SHEPHERD_ERROR
from gridengine.task_file import TaskFileError
from shepherd import process_tree, task_files
from shepherd.config import read_config
from shepherd.identity import IdentityError, owner
from shepherd.release import hold_release
from shepherd.run import BLOCKED, TaskRun
from shepherd.usage import JobUsage


def shepherd(directory: Path) -> None:
    """Be the shepherd of the task in `directory`, from the first to the last moment. Returns when all is done.

    Must run in a process of its own. Whatever happens, nothing of the job is left running and `exit` gets written.
    """
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    os.setsid()
    os.umask(0o022)
    process_tree.become_subreaper()
    process_tree.set_name("sge_shepherd")
    process_tree.drop_ambient_capabilities()
    hold_release()
    try:
        if not task_files.claim(directory):
            return  # another launcher has started this task
        trace = task_files.Trace(directory)
    except OSError as error:
        task_files.leave_exit(directory, _unstarted(BEFORE_PID, f"can't write into {directory}: {plain_fault(error)}"))
        return
    trace("shepherd started")
    record = _carry_out(directory, trace)
    trace(f"failed {record['failed']}, exit status {record['exit_status']}")
    task_files.leave_exit(directory, record)


def _carry_out(directory: Path, trace: task_files.Trace) -> dict[str, object]:
    """The content of `exit`."""
    try:
        config = read_config(directory / task_files.CONFIG)
        identity = owner(config)
    except (TaskFileError, IdentityError, OSError) as error:
        return _unstarted(EARLY, plain_fault(error))
    try:
        return TaskRun(directory, config, identity, trace).run()
    except Exception as error:  # a bug or a broken disk: the job must not be lost, and the reason must be seen
        process_tree.kill_tree(os.getpid())
        return _unstarted(SHEPHERD_ERROR, f"shepherd failed: {type(error).__name__}: {error}")


def _unstarted(failed: int, reason: str) -> dict[str, object]:
    times = {"start_time": 0.0, "end_time": time.time(), "usage": JobUsage().final(0.0)}
    return {"failed": failed, "exit_status": 0, "signal": 0, "reason": task_files.stamped(reason)} | times
