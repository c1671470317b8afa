"""Tickets: the bearer of a ticket may connect to the streams of one attempt of one task, and to nothing else.

A ticket is a code over the task's key, the job's owner and its time of submission, made with the key of the task's host:
the qmaster gives it to the job's owner alone, and the host can check it without a message from the qmaster. The code covers
owner and time because job numbers are reused: owner and time distinguish the job from an earlier job, whose ticket must not
be valid for it. A ticket is valid only while the attempt runs. Called by the qmaster's service and the session server of
sge_execd. Source: adr/0060; IA-10.
"""

from __future__ import annotations

import hashlib
import hmac

from gridengine.values.task_key import TaskKey

Holder = tuple[str, float]
"""Owner of a job and when it was submitted (epoch s)."""


def session_ticket(gdi_key: str, task: TaskKey, holder: Holder) -> str:
    """`CODE:SUBMITTED:OWNER`; clients pass it on as it is."""
    owner, submit_time = holder
    signed = f"{submit_time!r}:{owner}"
    return f"{_code(gdi_key, task, signed)}:{signed}"


def holder_of(text: str, gdi_key: str, task: TaskKey) -> Holder | None:
    """The owner of a ticket; None for a text that is not a ticket of the cell for this attempt."""
    code, _, signed = text.partition(":")
    if not hmac.compare_digest(code.encode("utf-8", "replace"), _code(gdi_key, task, signed).encode()):
        return None
    submitted, _, owner = signed.partition(":")
    return owner, float(submitted)


def _code(gdi_key: str, task: TaskKey, signed: str) -> str:
    """64 hexadecimal digits."""
    text = " ".join(("session", *map(str, task), signed))
    return hmac.new(gdi_key.encode(), text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
