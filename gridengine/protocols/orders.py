"""Orders: the scheduler's requests to the qmaster.

Owns the contract between `daemons.schedd` (makes orders) and `daemons.qmaster.admit` (checks them again and turns
them into events). Every order names the versions on which it was computed; an order that is out of date is dropped.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from gridengine.errors import InvalidValueError
from gridengine.state.jobs import Grant, GrantedUnits, Job, Tickets
from gridengine.state.reservations import JobReservation


class StartOrder(Struct, array_like=True):
    """Start a task. `granted`: its grants, the master's first. `version`: of the job when the scheduler read it; `attempt`: the
    new attempt. `units`: for the classes of named units that it takes, as in a reservation (adr/0340)."""

    job_id: int
    task_id: int
    attempt: int
    version: int
    granted: list[Grant]
    pe: str = ""
    units: list[GrantedUnits] = []


class SuspendOrder(Struct, array_like=True):
    """Suspend one task, or resume it if `suspended` is false, because of a suspend threshold (QC-8)."""

    job_id: int
    task_id: int
    attempt: int
    suspended: bool


NEVER = 0.0
"""The time of an event that time alone does not cause."""


def earlier(one: float, other: float) -> float:
    """The earlier of two times (epoch seconds), each of which may be NEVER."""
    return min(one, other) if one and other else one or other


MAX_REASON_LENGTH = 400
"""Maximum length in characters of the reason of a job's error state: listings and mails show it."""


class JobFault(Struct, array_like=True):
    """A job that cannot be handled is set in error state. `version`: of the job when it was read; `reason`: for its owner;
    `cause`: the position in the program, for the messages file."""

    job_id: int
    version: int
    reason: str
    cause: str = ""

    @classmethod
    def of(cls, job: Job, error: Exception) -> JobFault:
        """The fault of a job for which the scheduler, or the check of its orders, failed with `error`."""
        kind = "" if isinstance(error, InvalidValueError) else f"{type(error).__name__}: "
        reason = f"the scheduler cannot handle this job ({kind}{error})"[:MAX_REASON_LENGTH]
        cause, trace = "", error.__traceback__
        while trace is not None:
            cause, trace = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}", trace.tb_next
        return cls(job.id, job.version, reason, cause)


class Orders(Struct, omit_defaults=True):
    """The outcome of one scheduling cycle, made at its end from the results of its parts (adr/0124)."""

    #: revision of the state on which it was computed
    revision: int
    #: tasks to start, in order of their dispatch
    starts: list[StartOrder] = field(default_factory=list)
    #: tasks to suspend or resume
    suspends: list[SuspendOrder] = field(default_factory=list)
    #: as `tickets`: as in `PrioritiesSet`, only for jobs with changed values; all numbers are finite
    priorities: dict[int, tuple[float, float, float, float]] = field(default_factory=dict)
    tickets: dict[int, Tickets] = field(default_factory=dict)
    #: jobs of `-now y` that cannot start at once
    give_up: list[int] = field(default_factory=list)
    #: jobs that could not be handled and were left out
    faults: list[JobFault] = field(default_factory=list)
    #: all reservations for waiting jobs
    job_reservations: list[JobReservation] = field(default_factory=list)
    #: epoch seconds of the next cycle that is due even without events
    next_time: float = NEVER
    #: lines for common/schedule, a `::::::::` first; none unless the scheduler's params contain MONITOR (SC-10)
    schedule: list[str] = field(default_factory=list)
    #: lines for common/schedd_runlog of a monitored run (QF-35)
    run_log: list[str] = field(default_factory=list)
    #: a summary of the run for the qmaster's messages, if the scheduler's params contain PROFILE (SC-11)
    profile: str = ""
    #: duration of the cycle
    seconds: float = 0.0


def decode_orders(data: bytes) -> tuple[Orders, list[str]]:
    """The orders of a message (JSON), and the faults of the orders that are left out.

    An unreadable order does not affect other orders. Raises msgspec.DecodeError if the message as a whole is unreadable.
    """
    try:
        return msgspec.json.decode(data, type=Orders), []
    except msgspec.ValidationError:
        return _readable(msgspec.json.decode(data, type=dict[str, Any]))


def _readable(message: dict[str, Any]) -> tuple[Orders, list[str]]:
    found, wrong = Orders(0), []
    for part in msgspec.structs.fields(Orders):
        if part.name not in message:
            continue
        value = message[part.name]
        if isinstance(value, list):
            pieces: list[Any] = [[item] for item in value]
        elif isinstance(value, dict):
            pieces = [{key: item} for key, item in value.items()]
        else:
            pieces = [value]
        for piece in pieces:
            try:
                taken = msgspec.convert(piece, part.type, str_keys=True)
            except msgspec.ValidationError as fault:
                wrong.append(f"{part.name} {piece}: {fault}")
                continue
            if isinstance(taken, list):
                getattr(found, part.name).extend(taken)
            elif isinstance(taken, dict):
                getattr(found, part.name).update(taken)
            else:
                setattr(found, part.name, taken)
    return found, wrong
