"""Resource quotas: the usage of each limit, the fullest first, as in qquota. Source: RQ-7; qquota(1)."""

from __future__ import annotations

from daemons.web.mirror import MirroredChange
from daemons.web.pages.page import Data, Page, Visit, rows_of_page
from daemons.web.quota_uses import quota_uses

ROWS = 100
_FILTERS = {"user": "users", "host": "hosts", "queue": "queues", "project": "projects"}
"""Parameters of the address, with the fields of the request."""


async def quotas(visit: Visit) -> Data:
    """The limits that match the filters."""
    selected = {name: text for name in _FILTERS if (text := visit.parameter(name))}
    body = {"users": ["*"]} | {_FILTERS[name]: text.replace(",", " ").split() for name, text in selected.items()}
    answer = await visit.shared.read("status", {"quotas": body}, visit.caller)
    state, status = visit.shared.mirror.state, answer.data
    limits = quota_uses(state, status["quotas"] if isinstance(status, dict) else [])
    shown, pager = rows_of_page(visit, limits, ROWS)
    return pager | {
        "rows": shown, "full": sum(each.is_full for each in limits), "selected": selected, "answers": answer.answers,
        "sets": len(state.quotas.sets),
    }


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or bool(affected.jobs or affected.kinds)


PAGES = [Page("/quotas", "quotas.html", quotas, _concerns)]
