"""Errors of the API: one JSON form for all, and the HTTP status for each refusal of the qmaster.

Owns the form (RFC 9457, application/problem+json); the text is the qmaster's, as the commands print it.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from gridengine.protocols.gdi.requests import Answer

_STATUS = (
    ("malformed request", 400),
    ("must be manager", 403),
    ("must be operator", 403),
    ("must be at least owner", 403),
    ("have no permission", 403),
    ("do not have the necessary privileges", 403),
    ("is not an admin host", 403),
    ("belongs to", 403),
    ("is neither submit nor admin host", 403),
    ("has been changed since", 412),
    ("does not exist", 404),
    ("invalid queue or job", 404),
    ("is not known", 404),
    ("does not answer", 504),
)
"""Phrases in refusals, with their status; 422 for all other well-formed requests."""
_UNPROCESSABLE, _NOT_FOUND = 422, 404


def problem(status: int, detail: str, **more: Any) -> web.Response:
    """An error of the API. `detail`: the reason, for people."""
    body = {"type": "about:blank", "title": _TITLES.get(status, "error"), "status": status, "detail": detail, **more}
    return web.Response(text=json.dumps(body), status=status, content_type="application/problem+json")


def refused(answer: Answer, is_single: bool) -> web.Response:
    """The error for an answer with a status. `is_single`: whether the path names a single object, which may be missing (404)."""
    texts = [text for level, text in answer.answers if level == "error"] or [text for _, text in answer.answers]
    detail = texts[0] if texts else "the qmaster refused the request without a reason"
    status = next((status for phrase, status in _STATUS if phrase in detail), _UNPROCESSABLE)
    status = _UNPROCESSABLE if status == _NOT_FOUND and not is_single else status
    return problem(status, detail, answers=[list(line) for line in answer.answers], exit_status=answer.status)


_TITLES = {
    400: "malformed request", 401: "not logged in", 403: "permission denied", 404: "not found", 405: "no such method",
    409: "conflict", 412: "changed meanwhile", 413: "too large", 422: "not possible", 428: "If-Match is required",
    503: "the qmaster does not respond", 504: "a host does not respond",
}
