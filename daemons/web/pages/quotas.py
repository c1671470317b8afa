"""Resource quotas: the usage of each limit, the fullest first, as in qquota. Source: RQ-7; qquota(1)."""

from __future__ import annotations

from daemons.web.mirror import MirroredChange
from daemons.web.pages.page import CsvTable, Data, Page, Visit, rows_of_page
from daemons.web.quota_uses import QuotaUse, quota_uses

ROWS = 100
_FILTERS = {"user": "users", "host": "hosts", "queue": "queues", "project": "projects"}
"""Parameters of the address, with the fields of the request."""


async def quotas(visit: Visit) -> Data:
    """The limits that match the filters."""
    limits, answers = await _limits(visit)
    shown, pager = rows_of_page(visit, limits, ROWS)
    return pager | {
        "rows": shown, "full": sum(each.is_full for each in limits), "selected": _selected(visit), "answers": answers,
        "sets": len(visit.shared.mirror.state.quotas.sets),
    }


async def quotas_csv(visit: Visit) -> CsvTable:
    """All limits that match the filters."""
    limits, _ = await _limits(visit)
    rows = [(each.rule, each.filters, each.resource, each.used, each.limit) for each in limits]
    return CsvTable("quotas", ("rule", "for", "resource", "used", "limit"), rows)


def _selected(visit: Visit) -> dict[str, str]:
    return {name: text for name in _FILTERS if (text := visit.parameter(name))}


async def _limits(visit: Visit) -> tuple[list[QuotaUse], list[tuple[str, str]]]:
    """The limits that match the filters, and the answers of the qmaster."""
    chosen = {_FILTERS[name]: text.replace(",", " ").split() for name, text in _selected(visit).items()}
    answer = await visit.shared.read("status", {"quotas": {"users": ["*"]} | chosen}, visit.caller)
    status = answer.data
    return quota_uses(visit.shared.mirror.state, status["quotas"] if isinstance(status, dict) else []), answer.answers


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or bool(affected.jobs or affected.kinds)


PAGES = [Page("/quotas", "quotas.html", quotas, _concerns, csv=quotas_csv)]
