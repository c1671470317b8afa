"""The scheduler configuration in force, typed.

Owns the parsing of sched_conf(5). JC_FILTER and PE_RANGE_ALG are valid and change nothing, as measured on 8.1.9 and for the
reasons of adr/0050: the cost here depends on categories, not on the number of jobs, and the largest fitting amount of a slot
range is computed directly. Read as `State.scheduler`. Source: sge_sched_conf(5); SC-1..11, PR-6..8, LS-6, LS-7.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from gridengine.errors import InvalidValueError
from gridengine.state.configured.typed import seconds, typed
from gridengine.syntax.lists import is_none, split_pairs
from gridengine.values.ranges import Ranges
from gridengine.values.units import parse_bool

if TYPE_CHECKING:
    from gridengine.config.attribute_types import Check

MINUTE_S, HOUR_S = 60.0, 3600.0
RUNNING_ONLY = -1.0
"""Half-life of a kind of usage that counts only while its task runs."""


class SchedulerConfiguration(Struct, frozen=True):
    """The parameters of sched_conf(5) by their names; `…_s`: seconds, `INFINITY` (math.inf) if so configured."""

    schedule_interval_s: float
    maxujobs: int
    #: queue_sort_method is seqno
    by_seq_no: bool
    #: load name -> correction as text, of the type of its complex
    job_load_adjustments: dict[str, str]
    load_adjustment_decay_time_s: float
    load_formula: str
    #: schedd_job_info, the jobs for which reasons are given, None for all
    explained: Ranges | None
    reprioritize_interval_s: float
    #: kind of usage -> half-life, 0 for no decay, `RUNNING_ONLY`; halftime is for all kinds, halflife_decay_list for single kinds
    half_lives_s: dict[str, float]
    #: usage_weight_list: kind of usage -> its weight
    usage_weights: dict[str, float]
    compensation_factor: float
    weight_user: float
    weight_project: float
    weight_department: float
    weight_job: float
    weight_tickets_functional: int
    weight_tickets_share: int
    share_override_tickets: bool
    share_functional_shares: bool
    max_functional_jobs_to_schedule: int
    report_pjob_tickets: bool
    #: codes of policies in order, "" for none
    policy_hierarchy: str
    weight_ticket: float
    weight_waiting_time: float
    weight_deadline: float
    weight_urgency: float
    weight_priority: float
    max_reservation: int
    default_duration_s: float
    #: MONITOR of params: write common/schedule
    monitor: bool
    #: PROFILE of params: report a summary of each run
    profile: bool
    #: DURATION_OFFSET of params
    duration_offset_s: float

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Read attribute texts; an attribute that is missing has its predefined value."""
        text = {**_predefined(), **given}
        params = _params(text["params"])
        hierarchy = text["policy_hierarchy"].upper()
        return typed(
            cls,
            text,
            by_seq_no=text["queue_sort_method"].lower() == "seqno",
            explained=_explained(text["schedd_job_info"]),
            half_lives_s=_half_lives(text["halftime"], text["halflife_decay_list"]),
            usage_weights={kind: float(weight) for kind, weight in split_pairs(text["usage_weight_list"])},
            policy_hierarchy="" if is_none(hierarchy) else hierarchy,
            monitor=parse_bool(params["MONITOR"]),
            profile=parse_bool(params["PROFILE"]),
            duration_offset_s=seconds(params["DURATION_OFFSET"]),
        )


@cache
def _predefined() -> dict[str, str]:
    from gridengine.config.scheduler import Scheduler  # late: code that only decodes messages loads no model

    return Scheduler.template().attributes()


def _params(text: str) -> dict[str, str]:
    """The elements of `params`; an invalid or unknown element counts as not set."""
    from gridengine.config.scheduler import PARAMETERS

    found = {name: predefined for name, (_, predefined) in PARAMETERS.items()}
    for item in text.replace(",", " ").split():
        name, _, value = item.partition("=")
        if name.upper() in found and _is_valid(PARAMETERS[name.upper()][0], value):
            found[name.upper()] = value
    return found


def _is_valid(check: Check, text: str) -> bool:
    try:
        check(text)
    except InvalidValueError:
        return False
    return True


def _explained(text: str) -> Ranges | None:
    """true, false, or job_list and job ids (SC-6)."""
    keyword, _, ids = text.partition(" ")
    return None if keyword == "true" else Ranges.parse(ids) if keyword == "job_list" else Ranges()


def _half_lives(hours: str, minutes_by_kind: str) -> dict[str, float]:
    from gridengine.config.scheduler import USAGE_TYPES

    found = dict.fromkeys(USAGE_TYPES, float(hours) * HOUR_S)
    for item in minutes_by_kind.split(":") if not is_none(minutes_by_kind) else ():
        name, _, minutes = item.partition("=")
        found[name] = RUNNING_ONLY if float(minutes) < 0 else float(minutes) * MINUTE_S
    return found
