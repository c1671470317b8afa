"""Load corrections: the assumed load of recently started tasks, which load reports do not show yet.

Owns their decay: in steps of a hundredth of load_adjustment_decay_time, so a scheduling run between two steps examines only the
hosts that changed. Called by `cycle`; kept by `view`.
Source: sge_sched_conf(5) job_load_adjustments, LS-6.
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.schedd.job_groups import JobGroups
from gridengine.state.jobs import Task
from gridengine.state.state import State

STEPS = 100


class LoadCorrections:
    """`moved`: the hosts whose corrections decayed in the last call."""

    def __init__(self, state: State, job_groups: JobGroups) -> None:
        self.moved: set[str] = set()
        self._state, self._job_groups = state, job_groups
        self._moment = -1.0
        self._found: dict[str, float] = {}

    def at(self, now: float, changed: set[str]) -> dict[str, float]:
        """Host -> recently started slots, each decayed linearly to 0 over load_adjustment_decay_time.

        now: epoch seconds; changed: hosts on which a task has started or ended since the last call.
        """
        decay_s = self._state.scheduler.load_adjustment_decay_time_s
        moment = now - now % (decay_s / STEPS)
        if moment != self._moment:
            before, self._moment = set(self._found), moment
            self._found = {}
            self._add(self._job_groups.started_lately(moment, decay_s), decay_s)
            self.moved = before | set(self._found)
            return dict(self._found)
        self.moved = set()
        for host in changed:
            self._found.pop(host, None)
            keys = sorted(self._state.tasks_on.get(host, ()))
            tasks = (self._state.jobs[job].tasks[task] for job, task in keys)
            self._add((task for task in tasks if moment - task.start_time < decay_s), decay_s, host)
        return dict(self._found)

    def _add(self, tasks: Iterable[Task], decay_s: float, host: str = "") -> None:
        """Count tasks, of one host or of all."""
        for task in tasks:
            left = min(1.0, 1.0 - (self._moment - task.start_time) / decay_s)
            for grant in task.granted:
                if host in ("", grant.host):
                    self._found[grant.host] = self._found.get(grant.host, 0.0) + grant.slots * left
