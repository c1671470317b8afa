"""Copies of jobs under a server verifier: each copy is checked like a submission.

Owns the path of a `resubmit_jobs` request through the verifier. The copy itself is `decide.resubmission`'s. Called by
`daemons.qmaster.serve.service` where jsv_url is set. Source: sge_conf(5) jsv_url; JV-1, SO-45; O.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.job_request import with_payload
from daemons.qmaster.decide.jobs.resubmission import EXIT_NOT_COPIED, VerifiedCopy, owner_of, requested_copy
from daemons.qmaster.decide.jobs.submission import next_job_id
from daemons.qmaster.decision import Receipt
from daemons.qmaster.master import Master
from daemons.qmaster.serve.requests.idempotent_requests import IdempotentRequest
from daemons.qmaster.serve.requests.jsv import ServerVerifier
from gridengine.protocols.gdi.requests import Answer, Caller, RequestBody, ResubmitJobs

#: carries out a changing request
CarryOut = Callable[[str, RequestBody, Caller, Receipt | None], Awaitable[Answer]]


async def verified_copies(
    master: Master,
    verifier: ServerVerifier,
    carry_out: CarryOut,
    request: ResubmitJobs,
    caller: Caller,
    idempotent: IdempotentRequest | None = None,
) -> Answer:
    """Copy jobs in sequence, each as changed by the verifier; refused copies are reported."""
    whole = Answer()
    for number, target in enumerate(request.targets):
        part = msgspec.structs.replace(request, targets=[target])
        answer = idempotent.answer_of(part, number) if idempotent else None
        if answer is None:
            receipt = idempotent.receipt_of(part, number) if idempotent else None
            answer = await _copy(master, verifier, carry_out, part, caller, receipt)
        whole.answers += answer.answers
        whole.status = whole.status or answer.status
    return whole


async def _copy(
    master: Master, verifier: ServerVerifier, carry_out: CarryOut, one: ResubmitJobs, caller: Caller, receipt: Receipt | None
) -> Answer:
    try:
        original, copy = requested_copy(master.state, one.targets[0], one, caller, master.world())
    except RefusedError as refusal:
        return Answer(EXIT_NOT_COPIED, [("error", refusal.text)])
    copy = with_payload(copy, master.payload(original.id))
    owner = owner_of(original, caller.host)
    verified = await verifier.verify(copy, owner, lambda: next_job_id(master.state))
    if isinstance(verified, Answer):
        return Answer(EXIT_NOT_COPIED, verified.answers)
    return await carry_out("verified_copy", VerifiedCopy(verified, owner, one.tasks), caller, receipt)
