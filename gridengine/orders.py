"""Orders: what the scheduler asks of the qmaster, and the parts that they are computed from.

Owns the contract between `daemons.schedd` (makes orders) and `daemons.qmaster.admit` (checks them again and turns
them into events). Every order names what it was computed on; an order that no longer fits is dropped.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from gridengine.errors import SyntaxFault
from gridengine.state.jobs import Grant, Job, Tickets
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


NEVER = 0.0
"""The time of what time alone will not bring about."""


def earlier(one: float, other: float) -> float:
    """The first of two times (epoch seconds), where each may be NEVER."""
    return min(one, other) if one and other else one or other


LONGEST_REASON = 400
"""Characters of the reason why a job is in error: it goes into listings and mails."""


class JobFault(Struct, array_like=True):
    """A job that cannot be handled is to be set in error. `version`: the job's that was seen; `reason`: for its owner;
    `cause`: for the messages file, where in the program it was met."""

    job_id: int
    version: int
    reason: str
    cause: str = ""

    @classmethod
    def of(cls, job: Job, error: Exception) -> JobFault:
        """The fault of a job on which the scheduler, or the check of its orders, failed with `error`."""
        kind = "" if isinstance(error, SyntaxFault) else f"{type(error).__name__}: "
        reason = f"the scheduler cannot handle this job ({kind}{error})"[:LONGEST_REASON]
        place, trace = "", error.__traceback__
        while trace is not None:
            place, trace = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}", trace.tb_next
        return cls(job.id, job.version, reason, place)


class Orders(Struct, omit_defaults=True):
    """The outcome of one scheduling cycle, made at its end; its parts return what goes into it (adr/0124)."""

    #: of the state on which it was computed
    revision: int
    starts: list[StartOrder] = field(default_factory=list)
    suspends: list[SuspendOrder] = field(default_factory=list)
    #: as `tickets`: as in the event of the same meaning, only for jobs where they changed; all numbers are finite
    priorities: dict[int, tuple[float, float, float, float]] = field(default_factory=dict)
    tickets: dict[int, Tickets] = field(default_factory=dict)
    #: jobs of `-now y` that cannot start at once
    give_up: list[int] = field(default_factory=list)
    #: jobs that could not be handled and were left out
    faults: list[JobFault] = field(default_factory=list)
    #: what waiting jobs are to have, all of it
    job_reservations: list[JobReservation] = field(default_factory=list)
    #: epoch seconds at which time alone could change the outcome
    next_time: float = NEVER
    #: lines for common/schedule, a `::::::::` first; none unless the scheduler's params say MONITOR (SC-10)
    schedule: list[str] = field(default_factory=list)
    #: lines for common/schedd_runlog of a run that was to be monitored (QF-35)
    run_log: list[str] = field(default_factory=list)
    #: a summary of the run for the qmaster's messages, if the scheduler's params say PROFILE (SC-11)
    profile: str = ""
    seconds: float = 0.0


def decode_orders(data: bytes) -> tuple[Orders, list[str]]:
    """The orders of a message (JSON), and what is wrong with those that are left out.

    One order that cannot be read costs the others nothing. Raises msgspec.DecodeError for what is no message at all.
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
