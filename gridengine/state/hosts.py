"""What is known of an execution host at run time: load values, when it was heard, whether it answers."""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.load_values import STATIC_LOAD
from gridengine.task_key import TaskKey


class OrphanTask(Struct, omit_defaults=True):
    """A task on a host that the cell does not know. `owner` "" and `submit_time` 0 (of its job, epoch s): not known."""

    key: TaskKey
    owner: str = ""
    submit_time: float = 0.0


class HostDrain(Struct, omit_defaults=True):
    """A host is to be free of jobs: those that run there run on, and none begins. `user`: user@host; `time`: epoch s."""

    reason: str
    user: str
    time: float

    def __str__(self) -> str:
        return f"{self.reason} ({self.user})"


class Host(Struct, omit_defaults=True):
    """Runtime state of an exec host; its configuration is the object of kind `exec_host`."""

    name: str
    #: reports arrive and its node is alive; False gives its queue instances the state `u` (QI-3)
    up: bool = False
    #: epoch seconds by the qmaster's clock, as `lost_at`; moved when that clock is set (`ClockStepped`)
    last_heard: float = 0.0
    lost_at: float = 0.0
    #: load values as reported (text, GE's names; LS-1), only the static ones of a host that is not up
    load: dict[str, str] = field(default_factory=dict)
    #: values of `load` that a load sensor of another host gave, and that host (LS-3)
    sensed_by: dict[str, str] = field(default_factory=dict)
    #: changes when the host was booted; tells a reboot from a restart of the daemon (EX-10)
    incarnation: str = ""
    #: the process of sge_execd that last said hello (QC-38)
    execd: str = ""
    #: tasks and slave tasks whose tries are over, which the host has still to kill and forget (QF-14, TI-5)
    abandoned: list[TaskKey] = field(default_factory=list)
    #: tasks that run there, or ended, and are not this cell's as far as it knows (ADR 93)
    strays: list[OrphanTask] = field(default_factory=list)
    #: why it takes no jobs, whatever its queues say: all of its instances show d (adr/0153)
    drained: HostDrain | None = None

    def forget(self) -> None:
        """It is not up: of what it reported only that stays known which does not change (LS-8, QI-18; O)."""
        self.up = False
        self.load = {name: self.load[name] for name in self.load.keys() & STATIC_LOAD - self.sensed_by.keys()}
        self.sensed_by = {}
