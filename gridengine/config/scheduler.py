"""The scheduler configuration.

Owns the parameters of sched_conf(5), their checks and their defaults: the classic weights (X-19). Called through
`gridengine.config.KINDS`. Source: SC-1..11; O for order and print form.
"""

from typing import Annotated, ClassVar, Self

from gridengine.config.attribute_types import (
    AttributeType,
    Boolean,
    Check,
    Number,
    Real,
    Reference,
    boolean,
    choice,
    finite_time,
    given,
    none_or,
    number,
    pair_list,
    positive_real,
    refers_by_pair,
    time,
    typed,
)
from gridengine.config.objects import ConfigObject
from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.syntax.load_formula import parse_load_formula
from gridengine.values.ranges import Ranges
from gridengine.values.units import parse_number, parse_time

USAGE_TYPES = ("cpu", "mem", "io")
#: the elements of `params`: the check and the default text of each (SC-10, SC-11)
PARAMETERS: dict[str, tuple[Check, str]] = {
    "DURATION_OFFSET": (time, "60"),
    "JC_FILTER": (boolean, "FALSE"),
    "MONITOR": (boolean, "FALSE"),
    "PE_RANGE_ALG": (choice("auto", "least", "bin", "highest", "automatic"), "auto"),
    "PROFILE": (boolean, "FALSE"),
}


@typed("text", "true", "false")
def _schedd_job_info(text: str) -> str:
    """true, false, or job_list and job ids (SC-6)."""
    keyword, _, ids = given(text).partition(" ")
    if keyword.lower() in ("true", "false") and not ids.strip():
        return keyword.lower()
    if keyword.lower() != "job_list":
        raise InvalidValueError(f'"{text}" is neither true nor false nor job_list with job ids')
    Ranges.parse(ids)
    return f"job_list {','.join(ids.replace(',', ' ').split())}"


@typed("pairs", "none")
def _params(text: str) -> str:
    """NAME=value elements divided by commas or blanks (SC-10, SC-11)."""
    if is_none(given(text)):
        return "none"
    elements = text.replace(",", " ").split()
    for element in elements:
        name, equal, value = element.partition("=")
        if not equal or not value:
            raise InvalidValueError(f'"{element}" is not of the form NAME=value')
        if name.upper() not in PARAMETERS:
            raise InvalidValueError(f'the parameter "{name.upper()}" is unknown')
        check, _ = PARAMETERS[name.upper()]
        check(value)
    return ",".join(elements)


def _usage_weight(name: str, value: str) -> str:
    return positive_real(value)


@typed("pairs", "none")
def _halflife_decay_list(text: str) -> str:
    """usage_type=minutes elements divided by colons; -1 and 0 are allowed (PR-7)."""
    if is_none(given(text)):
        return "none"
    for element in text.split(":"):
        name, equal, value = element.partition("=")
        if name not in USAGE_TYPES or not equal:
            raise InvalidValueError(f'"{element}" is not of the form usage_type=minutes with one of cpu, mem, io')
        parse_number(value, low=-1)
    return text


@typed("text", "OFS", "NONE")
def _policy_hierarchy(text: str) -> str:
    """Up to three different codes of O, F and S, or NONE (PR-8)."""
    if is_none(given(text)):
        return "NONE"
    if set(text) - set("OFS") or len(set(text)) < len(text):
        raise InvalidValueError(f'"{text}" may only hold the letters O, F and S, each once')
    return text


@typed("time")
def _default_duration(text: str) -> str:
    """A time above 0: jobs without a run time limit are planned with it (SC-7; O)."""
    if parse_time(time(text)) == 0:
        raise InvalidValueError("the duration must be more than 0")
    return text.strip()


def _load_formula(text: str) -> str:
    return str(parse_load_formula(given(text)))


def _refers_by_formula(text: str) -> list[Reference]:
    return [("complex", name) for name in parse_load_formula(text).names()]


class Scheduler(ConfigObject):
    """The one scheduler configuration."""

    kind: ClassVar[str] = "scheduler"
    key: ClassVar[str] = ""

    algorithm: Annotated[str, AttributeType(choice("default"))] = "default"
    schedule_interval: Annotated[str, AttributeType(finite_time)] = "0:0:15"
    maxujobs: Number = "0"
    queue_sort_method: Annotated[str, AttributeType(choice("load", "seqno"))] = "load"
    job_load_adjustments: Annotated[str, AttributeType(pair_list(), refers_by_pair("complex"))] = "np_load_avg=0.50"
    load_adjustment_decay_time: Annotated[str, AttributeType(finite_time)] = "0:7:30"
    load_formula: Annotated[str, AttributeType(_load_formula, _refers_by_formula)] = "np_load_avg"
    schedd_job_info: Annotated[str, AttributeType(_schedd_job_info)] = "true"
    flush_submit_sec: Number = "0"
    flush_finish_sec: Number = "0"
    params: Annotated[str, AttributeType(_params)] = "none"
    reprioritize_interval: Annotated[str, AttributeType(finite_time)] = "0:0:0"
    halftime: Number = "168"
    usage_weight_list: Annotated[str, AttributeType(pair_list(_usage_weight, USAGE_TYPES))] = (
        "cpu=1.000000,mem=0.000000,io=0.000000"
    )
    compensation_factor: Annotated[str, AttributeType(positive_real)] = "5.000000"
    weight_user: Real = "0.250000"
    weight_project: Real = "0.250000"
    weight_department: Real = "0.250000"
    weight_job: Real = "0.250000"
    weight_tickets_functional: Number = "0"
    weight_tickets_share: Number = "0"
    share_override_tickets: Boolean = "TRUE"
    share_functional_shares: Boolean = "TRUE"
    max_functional_jobs_to_schedule: Number = "200"
    report_pjob_tickets: Boolean = "TRUE"
    max_pending_tasks_per_job: Annotated[str, AttributeType(number(1))] = "50"
    halflife_decay_list: Annotated[str, AttributeType(_halflife_decay_list)] = "none"
    policy_hierarchy: Annotated[str, AttributeType(_policy_hierarchy)] = "OFS"
    weight_ticket: Real = "0.010000"
    weight_waiting_time: Real = "0.000000"
    weight_deadline: Real = "3600000.000000"
    weight_urgency: Real = "0.100000"
    weight_priority: Real = "1.000000"
    max_reservation: Number = "0"
    default_duration: Annotated[str, AttributeType(none_or(_default_duration, none="INFINITY"))] = "INFINITY"

    @property
    def object_name(self) -> str:
        """The empty name of the only object."""
        return ""

    @classmethod
    def template(cls, name: str = "") -> Self:
        """The default configuration."""
        return cls.model_construct()
