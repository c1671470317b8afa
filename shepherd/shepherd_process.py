"""The process of a shepherd, forked by the launcher: claims a task, writes its `exit` file, and goes on with the next task.

Guarantees that `exit` is always written, after any error. Called by `launcher`; `run` carries the task out.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gridengine.errors import plain_fault
from gridengine.protocols.task_file import TaskConfig, TaskFileError
from gridengine.usage.failed import BEFORE_PID, EARLY, SHEPHERD_ERROR
from shepherd import process_tree, task_files
from shepherd.config import read_config
from shepherd.identity import IdentityError, owner
from shepherd.next_task import LauncherConnection, NextTask, ended_plainly
from shepherd.process_baseline import UMASK, ProcessBaseline
from shepherd.release import hold_release
from shepherd.run import BLOCKED, TaskRun
from shepherd.usage import JobUsage


def shepherd(directory: Path) -> None:
    """Be the shepherd of the task in `directory`, from its start to its end, and then of other tasks that the launcher has
    for it. Returns when all have ended.

    Must run in a process of its own. After any error, no process of a job is left running and its `exit` gets written.
    """
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    os.setsid()
    os.umask(UMASK)
    process_tree.become_subreaper()
    process_tree.set_name("sge_shepherd")
    process_tree.drop_ambient_capabilities()
    connection = LauncherConnection(directory.parent.parent, ProcessBaseline(BLOCKED, hold_release()))
    task: NextTask | None = NextTask(directory)
    while task is not None:
        config = _serve(*task)
        task = None if config is None else connection.next(task.directory, config)


def _serve(directory: Path, config: TaskConfig | None, own: str | None) -> TaskConfig | None:
    """Claim a task and run it to its end. Returns its configuration when this process can run another task of the kind.

    A shepherd that has run tasks before leaves a task alone that it cannot claim: the launcher has a new shepherd for it.
    """
    try:
        if not (task_files.claim(directory) if own is None else task_files.claim_again(directory, own)):
            return None  # another launcher has started this task
    except OSError as error:
        if own is None:
            task_files.leave_exit(directory, _unstarted_record(BEFORE_PID, f"can't write into {directory}: {plain_fault(error)}"))
        return None
    try:
        trace = task_files.Trace(directory)
    except OSError as error:
        task_files.leave_exit(directory, _unstarted_record(BEFORE_PID, f"can't write into {directory}: {plain_fault(error)}"))
        return None
    trace("shepherd started")
    try:
        config = config or read_config(directory)
        record = _carry_out(directory, config, trace)
    except (TaskFileError, IdentityError, OSError) as error:
        record = _unstarted_record(EARLY, plain_fault(error))
    trace(f"failed {record['failed']}, exit status {record['exit_status']}")
    trace.close()
    task_files.leave_exit(directory, record)
    return config if config is not None and ended_plainly(directory, config, record) else None


def _carry_out(directory: Path, config: TaskConfig, trace: task_files.Trace) -> dict[str, object]:
    """The content of `exit`. Raises IdentityError."""
    identity = owner(config)
    try:
        return TaskRun(directory, config, identity, trace).run()
    except Exception as error:  # a bug or a broken disk: the job must not be lost, and the reason must be seen
        process_tree.kill_tree(os.getpid())
        return _unstarted_record(SHEPHERD_ERROR, f"shepherd failed: {type(error).__name__}: {error}")


def _unstarted_record(failed: int, reason: str) -> dict[str, object]:
    times = {"start_time": 0.0, "end_time": time.time(), "usage": JobUsage().final(0.0)}
    return {"failed": failed, "exit_status": 0, "signal": 0, "reason": task_files.stamped(reason)} | times
