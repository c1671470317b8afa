"""The visitor's usage: figures of the last days, failed tasks, hints on requests, and quotas; for the page of their account.

Owns the data of `my_usage.html`. Reports have the same figures. Called by `access.routes`. Source: AC-1, RQ-7.
"""

from __future__ import annotations

from typing import Any

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.pages.failures import result_text
from daemons.web.pages.page import Data, Visit
from daemons.web.quota_uses import QuotaUse, quota_uses
from daemons.web.reports.report_source import ReportError
from gridengine.usage.user_usage import DAYS, UserUsage

PATIENCE_S = 2.0
"""Seconds that the page waits for the figures."""
MOST_QUOTAS = 12


async def my_usage(visit: Visit) -> Data:
    """The usage of the visitor; without figures `usage` is None, and `usage_fault` the reason, "" while they are computed."""
    usage: UserUsage | None = None
    fault = ""
    try:
        usage = await visit.shared.reports.usage(visit.caller.user, PATIENCE_S)
    except ReportError as error:
        fault = str(error)
    limits = await _limits(visit)
    return {
        "usage": usage, "usage_fault": fault, "limits": limits[:MOST_QUOTAS], "more_limits": len(limits) > MOST_QUOTAS,
        "spans": [] if usage is None else list(zip(DAYS, usage.rows, strict=True)),
        "my_failures": [] if usage is None else [(each, result_text(each.failed, each.exit_status)) for each in usage.failures],
    }


async def _limits(visit: Visit) -> list[QuotaUse]:
    """The limits with usage that concern the visitor, the fullest first; [] while the qmaster is away."""
    try:
        answer = await visit.shared.read("status", {"quotas": {"users": [visit.caller.user]}}, visit.caller)
    except NoQmasterError:
        return []
    status: Any = answer.data
    return quota_uses(visit.shared.mirror.state, status["quotas"]) if isinstance(status, dict) else []
