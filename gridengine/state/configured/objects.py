"""Configuration objects, typed: complexes, environments, hosts, users and their lists, as placement and decisions read them.

Owns their shapes, and their parsing from texts. Read as `State.complexes`, `State.pes` and so on.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from msgspec import Struct

from gridengine.state.configured.typed import typed
from gridengine.syntax import object_file
from gridengine.syntax.calendar import Calendar, parse_calendar
from gridengine.syntax.host_rule import HostRule
from gridengine.syntax.lists import is_none, none_as_null, split_names
from gridengine.syntax.rqs import Rule, parse_rule
from gridengine.syntax.share_tree import Node, parse_share_tree
from gridengine.syntax.unit_list import UnitList, parse_unit_list


class ComplexEntry(Struct, frozen=True):
    """A complex attribute. `requestable`: YES, NO, FORCED; `consumable`: NO, YES, JOB, HOST. Source: complex(5), CX-1."""

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
    def once(self) -> Literal["", "JOB", "HOST"]:
        """A task is charged with an amount for each of its slots (""), once, or once on each of its hosts."""
        return "" if self.consumable in ("YES", "NO") else "JOB" if self.per_job else "HOST"

    @property
    def is_consumable(self) -> bool:
        return self.consumable != "NO"


class ParallelEnvironment(Struct, frozen=True):
    """A parallel environment. Source: sge_pe(5), PE-1. `allocation_rule`: text as configured; `qsort_args`: file, function
    and arguments of the site's ordering, () for none (PE-16); `start_proc_args`, `stop_proc_args`: command lines (PE-10)."""

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
    start_proc_args: str | None = None
    stop_proc_args: str | None = None


class ExecHost(Struct, frozen=True):
    """Configuration of an exec host (or `global`). `report_variables`: the values written to the reporting file.

    Source: sge_host_conf(5).
    """

    name: str
    complex_values: dict[str, str]
    load_scaling: dict[str, str]
    user_lists: tuple[str, ...]
    xuser_lists: tuple[str, ...]
    projects: tuple[str, ...]
    xprojects: tuple[str, ...]
    report_variables: tuple[str, ...]


class UserSet(Struct, frozen=True):
    """An access list or department; `types`: ACL, DEPT or both. `entries` are users and `@unix_group`. Source:
    sge_access_list(5), US-3."""

    name: str
    types: tuple[str, ...]
    entries: frozenset[str]
    oticket: int
    fshare: int


class User(Struct, frozen=True):
    """A user. `delete_time`: epoch s, 0 for never; `default_project`: "" for none. Source: user(5), PR-13."""

    oticket: int
    fshare: int
    delete_time: int
    default_project: str


class Project(Struct, frozen=True):
    """A project. Source: project(5), US-2."""

    oticket: int
    fshare: int
    acl: tuple[str, ...]
    xacl: tuple[str, ...]


class CheckpointInterface(Struct, frozen=True, omit_defaults=True):
    """A checkpointing environment. `interface`: in lower case; `when`: codes of `s m x r`; commands: None for none;
    `signal`, `ckpt_dir`: as written, since commands get them so. Source: checkpoint(5), CK-1..7.
    """

    interface: str
    when: str = ""
    ckpt_command: str | None = None
    migr_command: str | None = None
    restart_command: str | None = None
    clean_command: str | None = None
    signal: str = "none"
    ckpt_dir: str = "none"

    @property
    def sent_signal(self) -> str | None:
        """The signal that the job gets instead of a command, or None."""
        return none_as_null(self.signal)

    @property
    def directory(self) -> str | None:
        """The directory of checkpoints, None if it is not configured."""
        return none_as_null(self.ckpt_dir)


def read_complex(name: str, text: dict[str, str]) -> ComplexEntry:
    """A complex attribute."""
    requestable = {"Y": "YES", "N": "NO", "F": "FORCED"}[text["requestable"][0].upper()]
    consumable = {"Y": "YES", "N": "NO", "J": "JOB", "H": "HOST"}[text["consumable"][0].upper()]
    return typed(ComplexEntry, text, name=name, requestable=requestable, consumable=consumable)


def read_pe(name: str, text: dict[str, str]) -> ParallelEnvironment:
    """A parallel environment."""
    text = {**_predefined("parallel_environment"), **text}
    qsort_args = () if is_none(text["qsort_args"]) else tuple(text["qsort_args"].split())
    return typed(ParallelEnvironment, text, name=name, qsort_args=qsort_args)


def read_exec_host(name: str, text: dict[str, str]) -> ExecHost:
    """An exec host, or `global`."""
    return typed(ExecHost, text, name=name)


def read_host_units(name: str, text: dict[str, str]) -> UnitList:
    """The properties of the units of a host."""
    return parse_unit_list(text["units"])


def read_userset(name: str, text: dict[str, str]) -> UserSet:
    """An access list or department."""
    text = {**_predefined("userset"), **text}
    return typed(UserSet, text, name=name, types=split_names(text["type"]))


def read_calendar(name: str, text: dict[str, str]) -> Calendar:
    """A calendar."""
    return parse_calendar(text["year"], text["week"])


def read_host_rule(name: str, text: dict[str, str]) -> HostRule | None:
    """The rule of a host group, None if it only lists its members (HG-12)."""
    return HostRule(text["rule"]) if text.get("rule") else None


def read_quota_rules(name: str, text: dict[str, str]) -> tuple[Rule, ...]:
    """The rules of a resource quota set in order; each line of `limit` is a rule."""
    return tuple(parse_rule(line) for line in text["limit"].split("\n"))


def read_share_tree(name: str, text: dict[str, str]) -> Node:
    """The root of the share tree."""
    return parse_share_tree(object_file.parse_share_tree(text["nodes"]))


def read_user(name: str, text: dict[str, str]) -> User:
    """A user; texts of an older program may lack attributes, which are predefined then."""
    text = {**_predefined("user"), **text}
    return typed(User, text, default_project=none_as_null(text["default_project"]) or "")


def read_project(name: str, text: dict[str, str]) -> Project:
    """A project, as `read_user`."""
    return typed(Project, {**_predefined("project"), **text})


def read_checkpoint(name: str, text: dict[str, str]) -> CheckpointInterface:
    """A checkpointing environment, as `read_user`."""
    text = {**_predefined("checkpoint"), **text}
    return typed(CheckpointInterface, text, interface=text["interface"].lower(), when=none_as_null(text["when"]) or "")


@cache
def _predefined(kind: str) -> dict[str, str]:
    from gridengine.config import KINDS  # late: code that only decodes messages loads no model

    fields = KINDS[kind].model_fields.items()
    return {name: str(field.default) for name, field in fields if not field.is_required()}
