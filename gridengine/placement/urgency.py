"""Urgency of a job by its requests, its waiting time and its deadline.

Owns the contributions of sge_priority(5). Called by the scheduler for its order, by the queries that show them
(`qstat -urg`, CX-67), and for the displayed slots of a pending parallel job.
"""

from __future__ import annotations

import sys
from math import copysign, isfinite

from gridengine.placement.demand import Demand
from gridengine.placement.placement_request import Request
from gridengine.placement.values import STRING_TYPES
from gridengine.state.state import State
from gridengine.values.ranges import MAX_SLOTS

LARGEST = sys.float_info.max
"""Replacement of infinity in urgencies and priorities. Source: O (`-l h_rt=INFINITY` with an urgency shows 1.8e+308)."""


def finite(value: float) -> float:
    """A finite number to sort and to print: the largest of its sign for an infinite value, 0 for NaN.

    Deviation: in 8.1.9 an infinite urgency makes the priority `-nan`.
    """
    if isfinite(value):
        return value
    return 0.0 if value != value else copysign(LARGEST, value)


def assumed_slots(state: State, request: Request) -> int:
    """Expected slots of a pending job: 1, the requested number, or for a range the value by urgency_slots of its PE; the
    least without a PE.

    Source: sge_pe(5), PE-11; O for a fixed number, and for an average, of which the whole part counts.
    """
    low, high = request.slot_ranges[0][0], request.slot_ranges[-1][1]
    if not request.pes or low == high:
        return low
    pe = state.pes[request.pes[0]]
    if high >= MAX_SLOTS:
        high = max(low, pe.slots)
    if pe.urgency_slots == "max":
        return high
    if pe.urgency_slots == "avg":
        pairs = [(first, min(last, high)) for first, last in request.slot_ranges]
        count = sum(last - first + 1 for first, last in pairs)
        return sum((first + last) * (last - first + 1) // 2 for first, last in pairs) // count
    return int(pe.urgency_slots) if pe.urgency_slots.isdecimal() else low


def resource_urgency(state: State, request: Request, granted: int | None = None) -> float:
    """rrcontr: numeric requests count urgency x assumed slots x amount, strings their urgency once; slots always count.

    granted: slots of a job that runs. Source: sge_priority(5), CX-66.
    """
    slots = assumed_slots(state, request) if granted is None else granted
    entry = state.complexes.get("slots")
    total = finite(entry.urgency * slots) if entry is not None else 0.0
    return finite(total + sum(demand_urgency(d, slots) for d in (*request.hard, *request.hosts) if d.name != "slots"))


def demand_urgency(demand: Demand, slots: float) -> float:
    """Contribution of one request to rrcontr: urgency once for strings, for each slot and unit for numbers. Source: CX-66."""
    if not demand.entry.urgency:  # 0 times infinity is NaN
        return 0.0
    return finite(demand.entry.urgency * (1.0 if demand.entry.type in STRING_TYPES else slots * demand.amount))


def waiting_urgency(weight: float, submit_time: float, now: float) -> float:
    """wtcontr: weight_waiting_time for each second since submission."""
    return finite(weight * (now - submit_time))


def deadline_urgency(weight: float, deadline: float, now: float) -> float:
    """dlcontr: grows as the deadline comes near, constant after the deadline; 0 without a deadline. Source: sge_priority(5)."""
    return finite(weight / max(1.0, deadline - now)) if deadline else 0.0
