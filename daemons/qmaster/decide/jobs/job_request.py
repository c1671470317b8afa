"""The request that would create a job: the way back from a job to `Submit`.

Owns that translation. Called for changes, since changed and unchanged options are checked together, for copies, and for job
submission verifiers. Pure.
"""

from __future__ import annotations

import base64

from daemons.qmaster.decision import Payload
from gridengine.protocols.gdi.job_request import REQUEST_FIELDS
from gridengine.protocols.gdi.requests import Submit
from gridengine.state.jobs import Job


def request_of(job: Job) -> Submit:
    """The request, without script and environment. Holds are not included."""
    return Submit(
        name=job.name,
        hard=[f"{name}={value}" for name, value in job.hard.items()],
        soft=[f"{name}={value}" for name, value in job.soft.items()],
        tasks=range_text(job),
        hold_jid=job.predecessors_requested,
        hold_jid_ad=job.requested_arrays,
        **{name: getattr(job, name) for name in REQUEST_FIELDS},
    )


def with_payload(request: Submit, payload: Payload) -> Submit:
    """The request with script and environment."""
    request.environment = dict(payload.environment)
    if payload.script is not None:
        request.script = base64.b64encode(payload.script).decode()
        request.script_encoding = "base64"
    return request


def range_text(job: Job) -> str:
    """`1-10:2` as an array was submitted, "" for other jobs."""
    if job.array is None:
        return ""
    return "{}-{}:{}".format(*(job.task_range or (job.array.first, job.array.last, job.array.step)))
