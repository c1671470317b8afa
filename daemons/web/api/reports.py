"""`GET /reports` of the API: a report on a period. Called by `handlers`. Source: docs/api.md."""

from __future__ import annotations

import time

import msgspec
from aiohttp import hdrs, web

from daemons.web.api.problem import problem
from daemons.web.reports.report_source import ReportError
from daemons.web.shared import WEB
from gridengine.errors import InvalidValueError
from gridengine.usage.periods import LAST_MONTH, parse_period
from gridengine.usage.report import BY
from gridengine.usage.report_form import as_json

PATIENCE_S = 60.0
"""Seconds that a program waits for its report."""
_RETRY_S = 15
QUERY = {
    "by": f"groups: {', '.join(BY)} (default: user)",
    "period": "last-month (default), month, 30d, 2026-10, or 2026-10-01..2026-10-15",
}


async def report(request: web.Request) -> web.Response:
    """The report of `by` and `period`; 503 with Retry-After while it is being computed. Raises NoQmasterError."""
    by, text = request.query.get("by", "user"), request.query.get("period", LAST_MONTH)
    if by not in BY:
        return problem(400, f'by must be one of {", ".join(BY)}, not "{by}"')
    shared = request.app[WEB]
    try:
        period, before = parse_period(text, time.time(), shared.zone)
        found = await shared.reports.report(by, period, before, PATIENCE_S)
    except InvalidValueError as fault:
        return problem(400, str(fault))
    except ReportError as fault:
        return problem(503, str(fault))
    if found is None:
        response = problem(503, "the report is being computed: ask again")
        response.headers[hdrs.RETRY_AFTER] = str(_RETRY_S)
        return response
    return web.Response(body=msgspec.json.encode(as_json(found)), content_type="application/json")
