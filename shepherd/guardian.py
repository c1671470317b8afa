"""The shepherd of one task, from its first to its last moment: one process, forked by the launcher.

Owns what surrounds the steps: signals, the claim on the task, the `exit` file whatever happens. Called by `launcher`
and by the program `sge_shepherd`.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from shepherd import process_tree, task_files
from shepherd.config import ConfigError, read_config
from shepherd.identity import IdentityError
from shepherd.outcome import BEFORE_PID, FAILED_EARLY, SHEPHERD_ERROR
from shepherd.run import BLOCKED, Task
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
    try:
        if not task_files.claim(directory):
            return  # another launcher has started this task
        trace = task_files.Trace(directory)
    except OSError as error:
        task_files.leave_exit(directory, _record(BEFORE_PID, task_files.stamped(f"can't write into {directory}: {error}")))
        return
    trace("shepherd started")
    try:
        record = Task(directory, read_config(directory / task_files.CONFIG), trace).run()
    except (ConfigError, IdentityError) as error:
        record = _record(FAILED_EARLY, task_files.stamped(str(error)))
    except Exception as error:  # a bug or a broken disk: the job must not be lost, and the reason must be seen
        process_tree.kill_tree(os.getpid())
        record = _record(SHEPHERD_ERROR, task_files.stamped(f"shepherd failed: {type(error).__name__}: {error}"))
    trace(f"failed {record['failed']}, exit status {record['exit_status']}")
    task_files.leave_exit(directory, record)


def _record(failed: int, reason: str) -> dict[str, object]:
    times = {"start_time": 0.0, "end_time": time.time(), "usage": JobUsage().final(0.0)}
    return {"failed": failed, "exit_status": 0, "signal": 0, "reason": reason} | times
