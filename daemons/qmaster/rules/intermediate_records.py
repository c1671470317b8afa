"""Intermediate accounting records: the usage of a long job in one day, at its first usage report after midnight.

Owns the choice of tasks and the content of the record; `accounting` owns its form. The note that it was written is an event of
the same transaction, so a crash never causes a second record for a day. Pure. Called for each report of usage. Source:
sge_reporting(5) acct; RP-3. Deviation: 8.1.9 writes these records within ten minutes of midnight or not at all; here a job that
reports later has its record then.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from daemons.qmaster.decision import World
from daemons.qmaster.notifications.accounting import sums_up
from gridengine.state.jobs import Task, Usage
from gridengine.state.machines.slave import SlaveUsageRecorded
from gridengine.state.machines.task import TaskUsageRecorded
from gridengine.state.reported import Reported, is_due
from gridengine.state.state import State
from gridengine.values.task_key import SlaveKey, TaskKey

_SUMMED = ("cpu", "mem", "io", "iow", "maxvmem")
"""Usage of slave tasks that is added to a job's record; of live slave tasks only the first three are known."""


class IntermediateRecords:
    """The intermediate records of one batch of reports."""

    def __init__(self, state: State, world: World) -> None:
        self._state, self._world = state, world
        self._recorded: set[TaskKey] = set()

    def events(self, key: TaskKey, used: Usage) -> list[TaskUsageRecorded | SlaveUsageRecorded]:
        """The event of a live task, or slave task, with this usage, if a record of it is due; else []."""
        task = self._state.task(*key.master) if self._midnight is not None else None
        if task is None or key in self._recorded:
            return []
        slave = task.slaves.get(key.number) if isinstance(key, SlaveKey) else None
        known = slave or task
        if not is_due(known.start_time, known.reported, self._midnight or 0.0):
            return []
        if isinstance(key, SlaveKey) and (slave is None or sums_up(self._state, task)):
            return []
        self._recorded.add(key)
        if isinstance(key, SlaveKey):
            return [SlaveUsageRecorded(*key.master, key.number, self._reported(used))]
        return [TaskUsageRecorded(*key.master, self._reported(self._whole(task, used)))]

    @cached_property
    def _midnight(self) -> float | None:
        """The last midnight, in epoch seconds; None if no reporting is configured."""
        if not self._state.configuration().reporting_params.reporting:
            return None
        today = datetime.fromtimestamp(self._world.now, self._world.zone)
        return today.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()

    def _reported(self, used: Usage) -> Reported:
        return Reported(self._world.now, used.cpu, used.mem, used.io, used.iow, used.maxvmem)

    def _whole(self, task: Task, used: Usage) -> Usage:
        """The usage in the record of a task whose master task has used this much."""
        if not task.slaves_begun or not sums_up(self._state, task):
            return used
        ended = task.slave_usage
        alive = [slave.usage for slave in task.slaves.values() if slave.usage and not slave.over]
        total = {name: getattr(used, name) + ended.get(name, 0.0) for name in _SUMMED}
        for index, name in enumerate(_SUMMED[:3]):
            total[name] += sum(usage[index] for usage in alive)
        return Usage(**total)
