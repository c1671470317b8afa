"""Resource quotas as qquota shows them: the usage under each rule, and limits of resources that are not counted.

Owns the selection of rules and the rows. Pure. Called through `daemons.qmaster.queries`. Source: qquota(1); RQ-7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from daemons.qmaster.queries.selection import Body, Listing
from gridengine.placement.quotas import limit_value
from gridengine.placement.values import format_value
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.quotas import Bucket, admits
from gridengine.state.state import State
from gridengine.syntax.rqs import SCOPES, Filter, Rule
from gridengine.syntax.wildcard import compile_expression, is_pattern

_KINDS = {"projects": "project", "pes": "parallel_environment", "queues": "cluster_queue", "hosts": "exec_host"}


class _Selection(NamedTuple):
    """The selection of one option: the `known` names that match; `general`: it may also match names unknown to the cell."""

    known: list[str]
    general: bool
    in_group: Callable[[str, str], bool]

    def is_admitted_by(self, rule: Filter | None) -> bool:
        """Whether a filter of a rule matches any selected name."""
        if rule is None or (self.general and (not rule.included or "*" in rule.included) and "*" not in rule.excluded):
            return True
        return any(admits(rule, name, partial(self.in_group, name)) for name in self.known)


def quotas(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]]:
    """Body: `users` (patterns and @lists; the caller if left out), `hosts` (patterns and @groups), `queues`, `pes`, `projects`
    (patterns), `resources` (names or shortcuts); all optional.

    Data: [{"rule": "set/rule", "filters": [[scope, expanded, included, excluded]], "resource", "limit": text, "used": text or
    null for a resource that is not counted}]. Rules of disabled sets are left out. Raises InvalidValueError.
    """
    state = listing.state
    hosts = [listing.host(name) for name in body.get("hosts") or ()]
    given = {**body, "users": body.get("users") or [caller.user], "hosts": hosts}
    selections = {scope: _select_names(state, scope, given[scope]) for scope in SCOPES if given.get(scope)}
    entries = [listing.config_snapshot.entry(name) for name in body.get("resources") or ()]
    resources = {entry.name for entry in entries if entry is not None} if entries else None
    rows: list[dict[str, Any]] = []
    for each in state.quotas.sets:
        for number, rule in enumerate(each.rules):
            if all(names.is_admitted_by(rule.filters.get(scope)) for scope, names in selections.items()):
                rows += _rows(listing, Bucket("quota", each.name, number, ("",) * len(SCOPES)), rule, selections, resources)
    return rows


def _select_names(state: State, scope: str, patterns: Iterable[str]) -> _Selection:
    """The users, hosts and so on that an option selects."""
    if scope == "users":
        candidates = {owner for owner, _ in state.owned} | state.kind("user").keys()
        filters = (rule.filters.get("users") for each in state.quotas.sets for rule in each.rules)
        candidates |= {name for part in filters if part is not None for name in part.included + part.excluded}
    else:
        candidates = set(state.kind(_KINDS[scope]))
    known: dict[str, None] = {}
    for pattern in patterns:
        if scope == "hosts" and pattern.startswith("@"):
            known.update(dict.fromkeys(name for name in state.groups.by_host if pattern in state.groups.groups_of(name)))
        elif scope == "users" and pattern.startswith("@"):
            userset = state.usersets.get(pattern[1:])
            known.update(dict.fromkeys(userset.entries if userset is not None else ()))
        elif is_pattern(pattern):
            matcher = compile_expression(pattern)
            known.update(dict.fromkeys(name for name in sorted(candidates) if matcher(name)))
        else:
            known[pattern] = None
    return _Selection(list(known), any(is_pattern(pattern) for pattern in patterns), _membership(state, scope))


def _membership(state: State, scope: str) -> Callable[[str, str], bool]:
    if scope == "hosts":
        return lambda name, group: group in state.groups.groups_of(name)

    def is_in_list(name: str, group: str) -> bool:
        userset = state.usersets.get(group[1:])
        return userset is not None and name in userset.entries

    return is_in_list


def _rows(
    listing: Listing, plain: Bucket, rule: Rule, selections: dict[str, _Selection], resources: set[str] | None
) -> Iterator[dict[str, Any]]:
    """The rows of one rule: a row for each bucket in which a consumable is in use, one row for any other resource."""
    state, config_snapshot = listing.state, listing.config_snapshot
    buckets = (bucket for bucket in state.quotas.used if isinstance(bucket, Bucket))
    of_rule = (bucket for bucket in buckets if (bucket.name, bucket.number) == (plain.name, plain.number))
    used = [(bucket, state.quotas.used[bucket]) for bucket in of_rule if _is_selected(bucket, selections)]
    used.sort(key=lambda item: item[0].consumers)
    name = f"{plain.name}/{rule.name or plain.number + 1}"
    for given, text in rule.limits.items():
        entry = config_snapshot.entry(given)
        if entry is None or (resources is not None and entry.name not in resources):
            continue
        if not entry.is_consumable:
            yield {"rule": name, "filters": _filters(rule, plain), "resource": entry.name, "limit": text, "used": None}
            continue
        for bucket, sums in used:
            if amount := sums.get(entry.name):
                limit = format_value(entry.type, limit_value(config_snapshot, listing.ledger, bucket, entry, text))
                row = {"rule": name, "filters": _filters(rule, bucket), "resource": entry.name, "limit": limit}
                yield {**row, "used": format_value(entry.type, amount)}


def _is_selected(bucket: Bucket, selections: dict[str, _Selection]) -> bool:
    """Whether the options select the consumers that an expanded rule distinguishes."""
    consumers = zip(SCOPES, bucket.consumers, strict=True)
    return all(not name or scope not in selections or name in selections[scope].known for scope, name in consumers)


def _filters(rule: Rule, bucket: Bucket) -> list[tuple[str, bool, list[str], list[str]]]:
    """Filters of a rule; an expanded list is replaced by the consumer."""
    found: list[tuple[str, bool, list[str], list[str]]] = []
    for scope, name in zip(SCOPES, bucket.consumers, strict=True):
        rule_filter = rule.filters.get(scope)
        if name:
            found.append((scope, False, [name], []))
        elif rule_filter is not None:
            found.append((scope, rule_filter.expanded, list(rule_filter.included), list(rule_filter.excluded)))
    return found
