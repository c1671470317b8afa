"""This process as it was before its first task, and whether it is so again after one.

Owns what a task may have changed in its shepherd: limits, umask, directory, descriptors, pending signals, and what cannot be
given back: ids, priority, processors, children. Called by `guardian` and `next_task`. Source: adr/0155.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection

from gridengine.task_file import TaskConfig
from shepherd import limits
from shepherd.plan import job_limits

UMASK = 0o022
_FIRST = 3  # descriptors below lead to /dev/null


class ProcessBaseline:
    """`mask`: the signals that are blocked; `kept`: descriptors that stay open, of the process itself."""

    def __init__(self, mask: Collection[signal.Signals], kept: Collection[int]) -> None:
        self._mask, self._kept = set(mask), set(kept)
        self._limits = limits.present()
        self._stuck: dict[int, tuple[int, int]] = {}
        self._fixed_attributes = _fixed_attributes()

    def restore(self, others: Collection[int]) -> bool:
        """Make this process what it was, but for the descriptors `others`. False: it cannot be made so, and is to end."""
        if _has_children() or _fixed_attributes() != self._fixed_attributes:
            return False
        os.umask(UMASK)
        os.chdir("/")
        self._close({*self._kept, *others})
        self._stuck = limits.restore_limits(self._limits)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        while signal.sigtimedwait(self._mask, 0) is not None:
            pass  # meant for the task that is over
        return True

    def can_run(self, config: TaskConfig) -> bool:
        """Whether a task asks for the very limits that could not be given back, as without CAP_SYS_RESOURCE (adr/0122)."""
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
    """What no task of an owner changes, though he may, while his job is being started, as it has his ids then (adr/0122)."""
    ids = os.getresuid(), os.getresgid(), sorted(os.getgroups())
    return *ids, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0), os.getsid(0)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
