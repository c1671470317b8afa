"""Orders: what the scheduler asks of the qmaster, and the parts that they are computed from.

Owns the contract between `daemons.schedd` (makes orders) and `daemons.qmaster.admit` (checks them again and turns
them into events). Every order names what it was computed on; an order that no longer fits is dropped.
"""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.state.jobs import Grant, Tickets
from gridengine.state.reservations import JobReservation


class StartOrder(Struct, array_like=True):
    """Start a task at the granted places. `version`: the job's that the scheduler saw; `attempt`: the new attempt."""

    job_id: int
    task_id: int
    attempt: int
    version: int
    granted: list[Grant]
    pe: str = ""


class SuspendOrder(Struct, array_like=True):
    """Suspend or resume one task because of a suspend threshold (QC-8)."""

    job_id: int
    task_id: int
    attempt: int
    suspended: bool


class Orders(Struct, omit_defaults=True):
    """The outcome of one scheduling cycle.

    `revision`: of the state it was computed on. `priorities` and `tickets` as in the event of the same meaning,
    only for jobs where they changed. `give_up`: jobs of `-now y` that cannot start at once.
    `job_reservations`: what waiting jobs are to have, all of it.
    `next_time`: epoch seconds at which time alone could change the outcome.
    `schedule`: lines for common/schedule, a `::::::::` first; none unless the scheduler's params say MONITOR (SC-10).
    `run_log`: lines for common/schedd_runlog of a run that was to be monitored (QF-35).
    `profile`: a summary of the run for the qmaster's messages, if they say PROFILE (SC-11).
    """

    revision: int
    starts: list[StartOrder] = field(default_factory=list)
    suspends: list[SuspendOrder] = field(default_factory=list)
    priorities: dict[int, tuple[float, float, float, float]] = field(default_factory=dict)
    tickets: dict[int, Tickets] = field(default_factory=dict)
    give_up: list[int] = field(default_factory=list)
    job_reservations: list[JobReservation] = field(default_factory=list)
    next_time: float = 0.0
    schedule: list[str] = field(default_factory=list)
    run_log: list[str] = field(default_factory=list)
    profile: str = ""
    seconds: float = 0.0
