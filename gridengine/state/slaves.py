"""Slave tasks: what the master of a tightly integrated parallel job starts on its hosts with `qrsh -inherit`.

Owns the shapes, and which of them are still alive. They live in the task that started them and end with it.
Source: sge_pe(5) control_slaves; statements TI-1 … TI-5.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from gridengine.instance_name import host_of
from gridengine.state.reported import Reported

ENDED_KEPT = 100
"""Ended slave tasks whose outcome is kept, for a client that lost its connection."""


class SlaveTask(Struct, omit_defaults=True):
    """One slave task. `number`: counts from 1 in each try of its job's task. `instance`: the granted one whose limits it has.

    `command` "" for a login shell. `environment`: what it has beyond that of the job. `applied`: as in `Task`.
    `over`: it has ended, as `exit_status` and `failed` say. `usage`: cpu s, mem GB s, io GB so far; empty while unknown.
    `reported`: what of it the reporting file has already.
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
    """How the master of a parallel job ended, kept until its slaves have ended, too (TI-5). Fields as in a report of it."""

    failed: int = 0
    exit_status: int = 0
    signal: int = 0
    reason: str = ""
    start_time: float = 0.0
    end_time: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)
    checkpoint: int = 0
    method: str = ""
    fault: Literal["", "job", "host"] = ""
