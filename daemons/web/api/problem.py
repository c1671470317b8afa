"""Errors of the API: one JSON form for all, and which HTTP status a refusal of the qmaster is.

Owns the form (RFC 9457, application/problem+json); the text is the qmaster's, as the commands print it.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from gridengine.gdi.requests import Answer

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
"""Words of a refusal, and the status that it has; 422 for all that are well formed and cannot be."""
_UNFIT, _MISSING = 422, 404


def problem(status: int, detail: str, **more: Any) -> web.Response:
    """An error of the API. `detail`: what is wrong, for people."""
    body = {"type": "about:blank", "title": _TITLES.get(status, "error"), "status": status, "detail": detail, **more}
    return web.Response(text=json.dumps(body), status=status, content_type="application/problem+json")


def refused(answer: Answer, of_one: bool) -> web.Response:
    """The error that an answer with a status is. `of_one`: of a path that names one thing, which may be missing."""
    texts = [text for level, text in answer.answers if level == "error"] or [text for _, text in answer.answers]
    detail = texts[0] if texts else "the qmaster has refused it without a word"
    status = next((status for words, status in _STATUS if words in detail), _UNFIT)
    status = _UNFIT if status == _MISSING and not of_one else status
    return problem(status, detail, answers=[list(line) for line in answer.answers], exit_status=answer.status)


_TITLES = {
    **{400: "malformed request", 401: "not logged in", 403: "no right to do this", 404: "not found", 405: "no such method"},
    **{409: "conflict", 412: "changed meanwhile", 413: "too large", 422: "cannot be", 428: "If-Match is needed"},
    **{503: "the qmaster is away", 504: "a host does not answer"},
}
