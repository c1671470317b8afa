"""Runtime state of execution hosts: load values, the time of the last report, whether they are reachable."""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.protocols.devices import Device
from gridengine.state.jobs import GrantedUnits
from gridengine.values.load_values import STATIC_LOAD
from gridengine.values.task_key import TaskKey


class OrphanTask(Struct, omit_defaults=True):
    """A task `key` on a host that is unknown to the cell. `owner` "" and `submit_time` 0 (of its job, epoch s): not known."""

    key: TaskKey
    owner: str = ""
    submit_time: float = 0.0


class HostDrain(Struct, omit_defaults=True):
    """A host is drained: running jobs continue, and no job starts. `user`: user@host; `time`: epoch s."""

    reason: str
    user: str
    time: float

    def __str__(self) -> str:
        return f"{self.reason} ({self.user})"


class HeldUnits(Struct):
    """Named units that processes of a finished attempt may still use, until the host has forgotten all of `keys`. `granted`:
    the units on that host."""

    keys: list[TaskKey]
    granted: list[GrantedUnits]


class Host(Struct, omit_defaults=True):
    """Runtime state of an exec host; its configuration is the object of kind `exec_host`."""

    name: str
    #: reports arrive and its node is alive; False gives its queue instances the state `u` (QI-3)
    up: bool = False
    #: epoch seconds by the qmaster's clock, as `lost_at`; moved when that clock is set (`ClockStepped`)
    last_heard: float = 0.0
    #: when it was lost the last time, 0 if never
    lost_at: float = 0.0
    #: load values as reported (text, GE's names; LS-1); for a host that is not up only the static values
    load: dict[str, str] = field(default_factory=dict)
    #: names in `load` reported by a load sensor of another host -> that host (LS-3)
    sensed_by: dict[str, str] = field(default_factory=dict)
    #: changes with each boot of the host; distinguishes a reboot from a restart of the daemon (EX-10)
    incarnation: str = ""
    #: the process of sge_execd that connected last (QC-38)
    execd: str = ""
    #: tasks and slave tasks of finished attempts that the host has still to kill and forget (QF-14, TI-5)
    abandoned: list[TaskKey] = field(default_factory=list)
    #: its units of resource maps that these attempts may still use (adr/0320)
    held_units: list[HeldUnits] = field(default_factory=list)
    #: tasks that run there, or ended, and are not this cell's as far as it knows (ADR 93)
    orphans: list[OrphanTask] = field(default_factory=list, name="strays")
    #: reason why the host takes no jobs in any queue: all of its instances show d (adr/0153)
    drained: HostDrain | None = None
    #: its devices as reported last (adr/0345)
    devices: list[Device] = field(default_factory=list)
    #: the reason for which it cannot read them now, "" for none
    device_fault: str = ""
    #: resource -> unit -> why no job gets it: its device fails or is gone
    closed_units: dict[str, dict[str, str]] = field(default_factory=dict)

    def forget(self) -> None:
        """Mark the host as not up: only its static load values are kept (LS-8, QI-18; O)."""
        self.up = False
        self.load = {name: self.load[name] for name in self.load.keys() & STATIC_LOAD - self.sensed_by.keys()}
        self.sensed_by = {}
