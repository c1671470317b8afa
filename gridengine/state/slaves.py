"""Slave tasks: the processes that the master of a tightly integrated parallel job starts on its hosts with `qrsh -inherit`.

Owns the shapes. Slave tasks belong to the task that started them and end with it.
Source: sge_pe(5) control_slaves; statements TI-1 … TI-5.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from gridengine.state.reported import Reported
from gridengine.usage.unit_usage import UnitUsage
from gridengine.values.instance_name import host_of

ENDED_KEPT = 100
"""Number of ended slave tasks whose outcome is kept, for clients that lost their connection."""


class SlaveTask(Struct, omit_defaults=True):
    """One slave task. `number`: counts from 1 in each attempt of its job's task. `instance`: the granted instance with its
    limits.

    `command` "" for a login shell. `environment`: variables in addition to the variables of the job. `applied`: as in
    `Task`. `over`: the slave task has ended, with `exit_status` and `failed`. `usage`: cpu s, mem GB s, io GB so far; empty
    while unknown. `reported`: the usage that the reporting file contains already.
    """

    number: int
    instance: str
    command: str = ""
    args: list[str] = field(default_factory=list)
    cwd: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    no_shell: bool = False
    start_time: float = 0.0
    applied: Literal["", "run", "suspend", "unsure", "migrate", "kill"] = ""
    over: bool = False
    exit_status: int = 0
    failed: int = 0
    reason: str = ""
    usage: list[float] = field(default_factory=list)
    reported: Reported | None = None

    @property
    def host(self) -> str:
        return host_of(self.instance)


class MasterEnd(Struct, omit_defaults=True):
    """The end of the master of a parallel job, kept until its slaves have ended, too (TI-5). `usage`, `units`, `method`, `fault`
    and all other fields as in a report (`Ended`)."""

    failed: int = 0
    exit_status: int = 0
    signal: int = 0
    reason: str = ""
    start_time: float = 0.0
    end_time: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)
    units: list[UnitUsage] = field(default_factory=list)
    checkpoint: int = 0
    method: str = ""
    fault: Literal["", "job", "host"] = ""
