"""Events of slave tasks (qrsh -inherit); part of `gridengine.state.events`, through which they are used.

Source: statements TI-1 … TI-5.
"""

from __future__ import annotations

from typing import ClassVar

from gridengine.state.event_base import Event
from gridengine.state.slaves import MasterEnd, SlaveTask


class SlaveRequested(Event, frozen=True, tag=True):
    """The master of a parallel task starts a slave task on one of its hosts (qrsh -inherit)."""

    job_id: int
    task_id: int
    attempt: int
    slave: SlaveTask


class SlaveCommandApplied(Event, frozen=True, tag=True):
    """The host runs the slave task (`run`), or has carried out another command on it."""

    job_id: int
    task_id: int
    attempt: int
    number: int
    command: str


class SlaveUsageReported(Event, frozen=True, tag=True):
    """What a slave task has used so far; `usage` as in `SlaveTask`."""

    durable: ClassVar[bool] = False
    job_id: int
    task_id: int
    attempt: int
    number: int
    usage: list[float]


class SlaveEnded(Event, frozen=True, tag=True):
    job_id: int
    task_id: int
    attempt: int
    number: int
    time: float
    exit_status: int = 0
    failed: int = 0
    reason: str = ""
    usage: dict[str, float] = {}


class MasterEnded(Event, frozen=True, tag=True):
    """The master of a parallel task has ended while slave tasks of it live: they are killed first (TI-5)."""

    job_id: int
    task_id: int
    attempt: int
    end: MasterEnd


class TriesForgotten(Event, frozen=True, tag="SlavesForgotten"):
    """The host has nothing left of these tasks and slave tasks, whose tries were over. Spools know it by its first name."""

    host: str
    keys: list[tuple[int, ...]]
