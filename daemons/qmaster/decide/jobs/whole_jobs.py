"""The job that a request comes to, looked at as a whole before it is stored.

Owns what is asked of every job, however it came about: submitted, copied, changed, or as a verifier has left it. Fields
that are right each for itself may make a job that no scheduler can look at, and that would stop it for everybody.
"""

from __future__ import annotations

from daemons.qmaster.decide.jobs.job_request import request_of
from daemons.qmaster.decide.refused import Refused
from gridengine.errors import SyntaxFault
from gridengine.gdi.bounds import BoundsFault, check
from gridengine.gdi.requests import Submit
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.requests import Request
from gridengine.state.jobs import Job
from gridengine.state.state import State


def check_whole_job(state: State, job: Job) -> None:
    """Raises Refused for a job of which placement cannot make its request, or that has grown out of the bounds of one."""
    check_slots(job.pe, job.allocation_rule, job.pe_range)
    try:
        Request.of(PlacementConfig.of(state), job)
        check(request_of(job), Submit)
    except (SyntaxFault, BoundsFault) as fault:
        raise Refused(f"job rejected: {fault}") from None


def check_slots(pe: str, rule: str, slot_range: str) -> None:
    """A PE or a rule of -alloc needs a number of slots, and nothing else does. Raises Refused."""
    if (pe or rule) and not slot_range:
        raise Refused(f'job rejected: the slot range (pe_range) is missing: "{pe or rule}" needs a number of slots')
    if slot_range and not (pe or rule):
        raise Refused(f'job rejected: the slot range "{slot_range}" (pe_range) is for a PE or a rule (-pe, -alloc) only')
