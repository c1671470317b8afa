"""Members of rule-based host groups: hosts whose properties match the rule.

Owns that rule. Called by the master after a change of the configuration and after load reports with static values. Pure. A host
that does not report keeps its membership: its properties have not changed. Source: HG-12; ADR 5.
"""

from __future__ import annotations

from collections.abc import Collection

from gridengine.config.complexes import value_of
from gridengine.errors import InvalidValueError
from gridengine.state.affected import Affected
from gridengine.state.events import AnyEvent
from gridengine.state.machines.configuration import GroupMembersSet
from gridengine.state.state import State
from gridengine.syntax.host_rule import HostRule
from gridengine.values.load_values import STATIC_LOAD

_NO_HOSTS = frozenset(("global", "template"))


def hosts_with_new_values(affected: Affected) -> set[str]:
    """Hosts whose reports bring values that rules may test."""
    return {host for host, values in affected.heard.items() if not STATIC_LOAD.isdisjoint(values)}


def membership_changes(state: State, hosts: Collection[str] | None = None) -> list[AnyEvent]:
    """One event with all groups whose members have changed; `hosts`: only their memberships may have changed."""
    rules = {name: rule for name in state.kind("host_group") if (rule := state.host_rules.get(name)) is not None}
    if not rules and not state.rule_members:
        return []
    changed: dict[str, list[str]] = {group: [] for group in state.rule_members if group not in rules}
    exec_hosts = state.kind("exec_host").keys() - _NO_HOSTS
    looked_at = exec_hosts if hosts is None else exec_hosts & set(hosts)
    for group, rule in rules.items():
        before = set(state.rule_members.get(group, ()))
        now = before & exec_hosts
        for host in looked_at:
            if _matches(state, rule, host, host in before):
                now.add(host)
            else:
                now.discard(host)
        if now != before:
            changed[group] = sorted(now)
    return [GroupMembersSet(changed)] if changed else []


def _matches(state: State, rule: HostRule, host: str, member: bool) -> bool:
    """Whether a host matches. A host that does not report keeps its membership if the rule tests load values."""
    known = state.hosts.get(host)
    heard = known is not None and known.up
    fixed = state.exec_hosts[host].complex_values
    if not heard and any(name in STATIC_LOAD and name not in fixed for name in rule.names()):
        return member
    load = known.load if known is not None else {}
    reported = {name: text for name, text in load.items() if name in STATIC_LOAD}
    values = {**reported, **fixed, "hostname": host}

    def typed_value(name: str, text: str) -> float | str:
        entry = state.complexes.get(name)
        if entry is None:
            raise InvalidValueError(f'there is no complex "{name}"')
        return value_of(entry.type, text)

    return rule.holds(values, typed_value)
