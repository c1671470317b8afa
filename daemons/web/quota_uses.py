"""The usage of the limits of resource quotas, as the pages and the alarms need it. Pure. Source: RQ-7; qquota(1)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.placement.values import typed_value
from gridengine.state.state import State


class QuotaUse(NamedTuple):
    """A limit with its usage. `filters`: of its rule, for people; `resource`: name of the complex; `used`: amount as text, None
    for a limit that is not counted. `part`: the used fraction, 1 for all; None for a limit that is not counted."""

    rule: str
    filters: str
    resource: str
    limit: str
    used: str | None
    part: float | None

    @property
    def set_name(self) -> str:
        """The name of the rule's set."""
        return self.rule.partition("/")[0]

    @property
    def is_full(self) -> bool:
        return self.part is not None and self.part >= 1


def quota_uses(state: State, rows: list[dict[str, Any]]) -> list[QuotaUse]:
    """The limits of an answer to the query `quotas`, the fullest first."""
    uses = [_use(state, row) for row in rows]
    return sorted(uses, key=lambda each: -1.0 if each.part is None else each.part, reverse=True)


def _use(state: State, row: dict[str, Any]) -> QuotaUse:
    filters = [_filter_text(*each) for each in row["filters"]]
    part = None if row["used"] is None else _part(state, row["resource"], row["used"], row["limit"])
    return QuotaUse(row["rule"], ", ".join(filters), row["resource"], row["limit"], row["used"], part)


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
