"""Resource quotas: the usage of each limit, the fullest first, as in qquota. Source: RQ-7; qquota(1)."""

from __future__ import annotations

from typing import Any, NamedTuple

from daemons.web.mirror import MirroredChange
from daemons.web.pages.configuration import address_of
from daemons.web.pages.page import Data, Page, Visit, rows_of_page
from gridengine.errors import InvalidValueError
from gridengine.placement.values import typed_value
from gridengine.state.state import State

ROWS = 100
_FILTERS = {"user": "users", "host": "hosts", "queue": "queues", "project": "projects"}
"""Parameters of the address, with the fields of the request."""


class QuotaUse(NamedTuple):
    """A limit with its usage. `address`: of the page of its set; `filters`: of its rule, for people; `resource`: name of the
    complex; `used`: amount as text, None for a limit that is not counted. `part`: the used fraction, 1 for all; None for a limit
    that is not counted."""

    rule: str
    address: str
    filters: str
    resource: str
    limit: str
    used: str | None
    part: float | None

    @property
    def is_full(self) -> bool:
        return self.part is not None and self.part >= 1


async def quotas(visit: Visit) -> Data:
    """The limits that match the filters."""
    selected = {name: text for name in _FILTERS if (text := visit.parameter(name))}
    body = {"users": ["*"]} | {_FILTERS[name]: text.replace(",", " ").split() for name, text in selected.items()}
    answer = await visit.shared.read("status", {"quotas": body}, visit.caller)
    state, status = visit.shared.mirror.state, answer.data
    limits = [_use(state, row) for row in (status["quotas"] if isinstance(status, dict) else [])]
    limits.sort(key=lambda each: -1.0 if each.part is None else each.part, reverse=True)
    shown, pager = rows_of_page(visit, limits, ROWS)
    return pager | {
        "rows": shown, "full": sum(each.is_full for each in limits), "selected": selected, "answers": answer.answers,
        "sets": len(state.quotas.sets),
    }


def _use(state: State, row: dict[str, Any]) -> QuotaUse:
    filters = [_filter_text(*each) for each in row["filters"]]
    address = address_of("resource_quota", row["rule"].partition("/")[0])
    part = None if row["used"] is None else _part(state, row["resource"], row["used"], row["limit"])
    return QuotaUse(row["rule"], address, ", ".join(filters), row["resource"], row["limit"], row["used"], part)


def _filter_text(scope: str, expanded: bool, included: list[str], excluded: list[str]) -> str:
    names = ",".join([*included, *(f"!{name}" for name in excluded)])
    return f"each of {scope} {names}" if expanded else f"{scope} {names}"


def _part(state: State, resource: str, used: str, limit: str) -> float | None:
    entry = state.complexes.get(resource)
    if entry is None:
        return None
    try:
        amount, most = (float(typed_value(entry.type, text)) for text in (used, limit))
    except (InvalidValueError, ValueError):
        return None
    return amount / most if most > 0 else 1.0


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or bool(affected.jobs or affected.kinds)


PAGES = [Page("/quotas", "quotas.html", quotas, _concerns)]
