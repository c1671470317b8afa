"""The check of a complete job before it is stored.

Owns the conditions on every job, regardless of its origin: submitted, copied, changed, or returned by a verifier. Fields that
are valid separately may form a job that no scheduler can handle, and that would stop the scheduling of all jobs.
"""

from __future__ import annotations

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.job_request import request_of
from gridengine.errors import InvalidValueError
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.placement_request import Request
from gridengine.protocols.gdi.bounds import BoundsError, check
from gridengine.protocols.gdi.requests import Submit
from gridengine.state.jobs import Job
from gridengine.state.state import State


def check_whole_job(state: State, job: Job) -> None:
    """Raises RefusedError for a job whose placement request cannot be built, or that exceeds the bounds of a request."""
    check_slots(job.pe, job.allocation_rule, job.pe_range)
    try:
        Request.of(PlacementConfig.of(state), job)
        check(request_of(job), Submit)
    except (InvalidValueError, BoundsError) as fault:
        raise RefusedError(f"job rejected: {fault}") from None


def check_slots(pe: str, rule: str, slot_range: str) -> None:
    """A PE or a rule of -alloc needs a number of slots; other requests must not have a number of slots. Raises RefusedError."""
    if (pe or rule) and not slot_range:
        raise RefusedError(f'job rejected: the slot range (pe_range) is missing: "{pe or rule}" needs a number of slots')
    if slot_range and not (pe or rule):
        raise RefusedError(f'job rejected: the slot range "{slot_range}" (pe_range) is for a PE or a rule (-pe, -alloc) only')
