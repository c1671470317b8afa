"""Parallel environments and checkpointing interfaces.

Owns their attributes and checks. Called through `gridengine.config.KINDS`.
Source: sge_pe(5), PE-1..16; checkpoint(5), CK-1..3; CQ-37 (queue_list is unknown).
"""

from typing import Annotated, ClassVar

from gridengine.config.attribute_types import (
    AttributeType,
    Boolean,
    ObjectName,
    TypedCheck,
    Usersets,
    absolute_path,
    choice,
    command_with,
    given,
    none_or,
    number,
    typed,
    written_none_or,
)
from gridengine.config.command_variables import CKPT_VARIABLES, PE_VARIABLES
from gridengine.config.objects import ConfigObject
from gridengine.config.signals import SIGNALS, check_signal
from gridengine.errors import InvalidValueError
from gridengine.values.ranges import MAX_SLOTS
from gridengine.values.units import parse_number

_RULES = ("$pe_slots", "$fill_up", "$round_robin")


@typed("text", *_RULES)
def check_allocation_rule(text: str) -> str:
    """One of the three rules or a number of slots per host (PE-3..6). Also of -alloc (AR-126). Raises InvalidValueError."""
    if given(text) in _RULES:
        return text
    if not text.isdecimal():
        raise InvalidValueError(f'"{text}" is neither a number of slots per host nor one of {", ".join(_RULES)}')
    return str(parse_number(text, 1, MAX_SLOTS))


@typed("text", "min", "max", "avg")
def _urgency_slots(text: str) -> str:
    """min, max, avg or a number (PE-11)."""
    if given(text).isdecimal():
        return str(parse_number(text, 0, MAX_SLOTS))
    return choice("min", "max", "avg")(text)


@typed("command")
def _ordering(text: str) -> str:
    """A file by its absolute path, a function in it, and its arguments (PE-16)."""
    tokens = given(text).split()
    if len(tokens) < 2:
        raise InvalidValueError(f'"{text}" does not name a file and a function')
    return " ".join((absolute_path(tokens[0]), *tokens[1:]))


_Procedure = Annotated[str, AttributeType(none_or(command_with(PE_VARIABLES)))]


class ParallelEnvironment(ConfigObject):
    """A parallel environment. qsort_args names an ordering function with its arguments (PE-16)."""

    kind: ClassVar[str] = "parallel_environment"
    key: ClassVar[str] = "pe_name"

    pe_name: ObjectName
    slots: Annotated[str, AttributeType(number(0, MAX_SLOTS))] = "0"
    user_lists: Usersets = "NONE"
    xuser_lists: Usersets = "NONE"
    start_proc_args: _Procedure = "NONE"
    stop_proc_args: _Procedure = "NONE"
    allocation_rule: Annotated[str, AttributeType(check_allocation_rule)] = "$pe_slots"
    control_slaves: Boolean = "FALSE"
    job_is_first_task: Boolean = "TRUE"
    urgency_slots: Annotated[str, AttributeType(_urgency_slots)] = "min"
    accounting_summary: Boolean = "FALSE"
    qsort_args: Annotated[str, AttributeType(none_or(_ordering))] = "NONE"


_INTERFACES = ("userdefined", "application-level", "transparent", "hibernator", "cpr")


@typed("choice", *_INTERFACES)
def _interface(text: str) -> str:
    """One of the interfaces in any case, printed as written (CK-1)."""
    choice(*_INTERFACES)(text)
    return text.strip()


def _when(text: str) -> str:
    """The one-letter codes of occasions, in the order in which qconf prints them (CK-3; O)."""
    occasions = set(given(text))
    if occasions - set("smxr"):
        raise InvalidValueError(f'"{text}" may only hold the letters s, m, x and r')
    return "".join(occasion for occasion in "xsmr" if occasion in occasions)


_Command = Annotated[str, AttributeType(written_none_or(command_with(CKPT_VARIABLES)))]


class Checkpoint(ConfigObject):
    """A checkpointing interface."""

    kind: ClassVar[str] = "checkpoint"
    key: ClassVar[str] = "ckpt_name"

    ckpt_name: ObjectName
    interface: Annotated[str, AttributeType(_interface)] = "userdefined"
    ckpt_command: _Command = "none"
    migr_command: _Command = "none"
    restart_command: _Command = "none"
    clean_command: _Command = "none"
    ckpt_dir: Annotated[str, AttributeType(written_none_or(absolute_path))] = "/tmp"
    signal: Annotated[str, AttributeType(written_none_or(TypedCheck(check_signal, "signal", *SIGNALS)))] = "none"
    when: Annotated[str, AttributeType(none_or(_when, none="none"))] = "sx"
