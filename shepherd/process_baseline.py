"""The state of this process before its first task, which is restored after each task.

Owns the attributes of a shepherd that a task may change: limits, umask, directory, descriptors, pending signals, and the
attributes that cannot be restored: ids, priority, processors, children. Called by `shepherd_process` and `next_task`.
Source: adr/0155.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection

from gridengine.protocols.task_file import TaskConfig
from shepherd import limits
from shepherd.plan import job_limits

UMASK = 0o022
_FIRST = 3  # descriptors below lead to /dev/null


class ProcessBaseline:
    """`mask`: the signals that are blocked; `kept`: descriptors that stay open, of the process itself."""

    def __init__(self, mask: Collection[signal.Signals], kept: Collection[int]) -> None:
        self._mask, self._kept = set(mask), set(kept)
        self._limits = limits.read_limits()
        self._stuck: dict[int, tuple[int, int]] = {}
        self._fixed_attributes = _fixed_attributes()

    def restore(self, others: Collection[int]) -> bool:
        """Restore the state of this process, except the descriptors `others`. False: the state cannot be restored, and the
        process is to end."""
        if _has_children() or _fixed_attributes() != self._fixed_attributes:
            return False
        os.umask(UMASK)
        os.chdir("/")
        self._close({*self._kept, *others})
        self._stuck = limits.restore_limits(self._limits)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        while signal.sigtimedwait(self._mask, 0) is not None:
            pass  # sent to the task that has ended
        return True

    def can_run(self, config: TaskConfig) -> bool:
        """Whether a task requests the same limits that could not be restored, as without CAP_SYS_RESOURCE (adr/0122)."""
        if not self._stuck:
            return True
        requested = limits.values(job_limits(config))
        return all(requested.get(kind) == values for kind, values in self._stuck.items())

    def _close(self, kept: set[int]) -> None:
        first = _FIRST
        for descriptor in sorted(kept):
            if first < descriptor:
                os.closerange(first, descriptor)
            first = descriptor + 1
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _fixed_attributes() -> tuple[object, ...]:
    """Attributes that no task changes, though its owner could while the job is being started: the process has the owner's ids
    then (adr/0122)."""
    ids = os.getresuid(), os.getresgid(), sorted(os.getgroups())
    return *ids, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0), os.getsid(0)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
