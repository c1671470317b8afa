"""Host groups, execution hosts, and the lists of admin hosts, submit hosts, managers and operators.

Owns their attributes and checks. Called through `gridengine.config.KINDS`; nesting of groups is `host_groups`'.
Source: hostgroup(5), HG-1, HG-2; sge_host_conf(5); QF-24, QF-25.
"""

from typing import Annotated, ClassVar

from gridengine.config.attribute_types import (
    AttributeType,
    HostName,
    ObjectName,
    Projects,
    Reference,
    Usersets,
    given,
    host_list,
    name_list,
    pair_list,
    real,
    refers_by_pair,
    refers_to,
    refers_to_hosts,
)
from gridengine.config.complexes import BUILT_IN
from gridengine.config.objects import ConfigObject
from gridengine.errors import InvalidValueError
from gridengine.syntax.host_rule import HostRule
from gridengine.syntax.lists import check_group_name, check_host_name, is_none
from gridengine.syntax.unit_list import format_unit_list, parse_unit_list, unit_list_complexes
from gridengine.values.load_values import STATIC_LOAD

#: built-in attributes that a rule may test: static load values, and attributes that an administrator may set on a host
STATIC_VALUES = STATIC_LOAD | {"hostname", "slots", "s_vmem", "h_vmem", "s_fsize", "h_fsize", "display_win_gui"}


def _rule(text: str) -> str:
    """A rule in its printed form; it may test only attributes that do not change while a host is up. Source: HG-12."""
    if is_none(text):
        return ""
    rule = HostRule(given(text))
    for name in rule.names():
        if name in BUILT_IN and name not in STATIC_VALUES:
            raise InvalidValueError(f'"{name}" changes all the time or belongs to queues, a rule cannot depend on it')
    return str(rule)


def _refers_to_tested(text: str) -> list[Reference]:
    return [("complex", name) for name in HostRule(text).names() if name != "hostname"] if text else []


class HostGroup(ConfigObject):
    """A host group: hosts and other groups, and with a rule all exec hosts that match it (HG-12)."""

    kind: ClassVar[str] = "host_group"
    key: ClassVar[str] = "group_name"
    old_names = {"hostname": "hostlist"}
    optional = frozenset(("rule",))

    group_name: Annotated[str, AttributeType(check_group_name)]
    hostlist: Annotated[str, AttributeType(host_list, refers_to_hosts)] = "NONE"
    rule: Annotated[str, AttributeType(_rule, _refers_to_tested)] = ""


def _host_or_global(text: str) -> str:
    return "global" if text.lower() == "global" else check_host_name(text)


def _scaling(name: str, value: str) -> str:
    return real(value)


class ExecHost(ConfigObject):
    """An execution host, or `global` for the whole cluster. qconf shows load values and processors, which are not part of it."""

    kind: ClassVar[str] = "exec_host"
    key: ClassVar[str] = "hostname"

    hostname: Annotated[str, AttributeType(_host_or_global)]
    load_scaling: Annotated[str, AttributeType(pair_list(_scaling), refers_by_pair("complex"))] = "NONE"
    complex_values: Annotated[str, AttributeType(pair_list(), refers_by_pair("complex"))] = "NONE"
    user_lists: Usersets = "NONE"
    xuser_lists: Usersets = "NONE"
    projects: Projects = "NONE"
    xprojects: Projects = "NONE"
    usage_scaling: Annotated[str, AttributeType(pair_list(_scaling, ("cpu", "mem", "io")))] = "NONE"
    report_variables: Annotated[str, AttributeType(name_list(separator=","), refers_to("complex"))] = "NONE"


def _units(text: str) -> str:
    """A unit list in its printed form."""
    return "NONE" if is_none(text) else format_unit_list(parse_unit_list(given(text)))


class HostUnits(ConfigObject):
    """The properties of the named units of a host's resource maps: values, places, device files."""

    kind: ClassVar[str] = "host_units"
    key: ClassVar[str] = "hostname"

    hostname: HostName
    units: Annotated[
        str, AttributeType(_units, lambda text: [("complex", name) for name in unit_list_complexes(text)])
    ] = "NONE"


class _BareHost(ConfigObject):
    name: HostName


class AdminHost(_BareHost):
    """A host from which managers may administer the cell."""

    kind: ClassVar[str] = "admin_host"


class SubmitHost(_BareHost):
    """A host from which jobs may be submitted."""

    kind: ClassVar[str] = "submit_host"


class _BareUser(ConfigObject):
    name: ObjectName


class Manager(_BareUser):
    """A user with all rights."""

    kind: ClassVar[str] = "manager"


class Operator(_BareUser):
    """A user who may manage the jobs of all users, and queues."""

    kind: ClassVar[str] = "operator"
