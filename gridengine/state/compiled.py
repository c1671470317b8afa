"""Typed views of configuration objects, compiled from their texts when first used.

Owns the small frozen structs that placement and decisions read instead of parsing texts again. The texts were
validated at the gate by `gridengine.config`; compilation cannot fail on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from gridengine.state.queues import names, settings
from gridengine.syntax import object_file
from gridengine.syntax.calendar import Calendar, parse_calendar
from gridengine.syntax.host_rule import HostRule
from gridengine.syntax.lists import is_none
from gridengine.syntax.rqs import Rule, parse_rule
from gridengine.syntax.share_tree import Node, parse_share_tree


class ComplexEntry(Struct, frozen=True):
    """A complex attribute. `requestable`: YES, NO, FORCED; `consumable`: NO, YES, JOB. Source: complex(5), CX-1."""

    name: str
    shortcut: str
    type: str
    relop: str
    requestable: str
    consumable: str
    default: str
    urgency: float

    @property
    def per_job(self) -> bool:
        return self.consumable == "JOB"

    @property
    def is_consumable(self) -> bool:
        return self.consumable != "NO"


class ParallelEnvironment(Struct, frozen=True):
    """A parallel environment. Source: sge_pe(5), PE-1. `allocation_rule`: text as configured; `qsort_args`: file, function
    and arguments of the site's own order, () for none (PE-16)."""

    name: str
    slots: int
    user_lists: tuple[str, ...]
    xuser_lists: tuple[str, ...]
    allocation_rule: str
    control_slaves: bool
    job_is_first_task: bool
    urgency_slots: str
    accounting_summary: bool
    qsort_args: tuple[str, ...] = ()


class ExecHost(Struct, frozen=True):
    """Configuration of an exec host (or `global`). Source: sge_host_conf(5)."""

    name: str
    complex_values: dict[str, str]
    load_scaling: dict[str, str]
    user_lists: tuple[str, ...]
    xuser_lists: tuple[str, ...]
    projects: tuple[str, ...]
    xprojects: tuple[str, ...]


class UserSet(Struct, frozen=True):
    """An access list or department; entries are users and `@unix_group`. Source: sge_access_list(5), US-3."""

    name: str
    types: tuple[str, ...]
    entries: frozenset[str]


def _true(text: str) -> bool:
    return text.upper() in ("TRUE", "1", "YES", "Y")


def _complex(name: str, text: dict[str, str]) -> ComplexEntry:
    requestable = {"Y": "YES", "N": "NO", "F": "FORCED"}[text["requestable"][0].upper()]
    consumable = {"Y": "YES", "N": "NO", "J": "JOB"}[text["consumable"][0].upper()]
    return ComplexEntry(
        name, text["shortcut"], text["type"], text["relop"], requestable, consumable, text["default"], float(text["urgency"])
    )


def _parallel_environment(name: str, text: dict[str, str]) -> ParallelEnvironment:
    return ParallelEnvironment(
        name,
        int(text["slots"]),
        names(text["user_lists"]),
        names(text["xuser_lists"]),
        text["allocation_rule"],
        _true(text["control_slaves"]),
        _true(text["job_is_first_task"]),
        text["urgency_slots"],
        _true(text["accounting_summary"]),
        () if is_none(text.get("qsort_args", "NONE")) else tuple(text["qsort_args"].split()),
    )


def _exec_host(name: str, text: dict[str, str]) -> ExecHost:
    return ExecHost(
        name,
        settings(text["complex_values"]),
        settings(text["load_scaling"]),
        names(text["user_lists"]),
        names(text["xuser_lists"]),
        names(text["projects"]),
        names(text["xprojects"]),
    )


def _userset(name: str, text: dict[str, str]) -> UserSet:
    return UserSet(name, names(text["type"]), frozenset(names(text["entries"])))


def _calendar(name: str, text: dict[str, str]) -> Calendar:
    return parse_calendar(text["year"], text["week"])


def _host_rule(name: str, text: dict[str, str]) -> HostRule | None:
    """The rule of a host group, None for one that only lists its members (HG-12)."""
    return HostRule(text["rule"]) if text.get("rule") else None


def _resource_quota(name: str, text: dict[str, str]) -> tuple[Rule, ...]:
    """The rules of a resource quota set in order; one a line of `limit`."""
    return tuple(parse_rule(line) for line in text["limit"].split("\n"))


def _share_tree(name: str, text: dict[str, str]) -> Node:
    """The root of the share tree."""
    return parse_share_tree(object_file.parse_share_tree(text["nodes"]))


COMPILERS: dict[str, Callable[[str, dict[str, str]], Any]] = {
    "complex": _complex,
    "parallel_environment": _parallel_environment,
    "exec_host": _exec_host,
    "userset": _userset,
    "calendar": _calendar,
    "host_group": _host_rule,
    "resource_quota": _resource_quota,
    "share_tree": _share_tree,
}
