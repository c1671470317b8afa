"""Tickets: who has one may connect to the streams of one attempt of one task, and nothing else.

A ticket is a code over the task's key, made with the key of the task's host: the qmaster gives it to the job's owner
alone, and the host can check it without having been told. It is worth something only as long as the attempt runs. Called by the
qmaster's service and the session server of sge_execd. Source: adr/0060; IA-10.
"""

from __future__ import annotations

import hashlib
import hmac

from gridengine.state.jobs import TaskKey


def session_ticket(gdi_key: str, task: TaskKey) -> str:
    """64 hexadecimal digits."""
    text = " ".join(("session", *map(str, task)))
    return hmac.new(gdi_key.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_ticket(text: str, gdi_key: str, task: TaskKey) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), session_ticket(gdi_key, task).encode())
