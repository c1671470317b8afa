"""Advance reservations as qrstat prints them: the summary, and everything about single ones.

Owns the lines and their order. Called by qrstat. Source: AR-107 … AR-112; O for labels, widths and order.
"""

import time

from gridengine.quantities import clock_text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Reservation = dict[str, Any]

_HEADER = "ar-id   name       owner        state start at             end at               duration\n"
_LABEL = 30


def _moment(seconds: float) -> str:
    return time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(seconds))


def summary(reservations: "list[Reservation]", explain: bool) -> "Iterator[str]":
    """A line each, and with `explain` a line for each thing that is wrong with it."""
    yield _HEADER
    yield "-" * 90 + "\n"
    for one in reservations:
        times = f"{_moment(one['start_time'])}  {_moment(one['end_time'])}"
        duration = clock_text(one["end_time"] - one["start_time"])
        yield f"{one['id']:7d} {one['name'][:10]:<10} {one['owner'][:12]:<12} {one['state']:<5} {times}  {duration}\n"
        if explain:
            for text in one["errors"]:
                yield f"       {text}\n"


def windows(found: "list[list[Any]]") -> "Iterator[str]":
    """Windows that are free: start, end and the places in them."""
    yield f"{'start at':<21}{'end at':<21}slots\n" + "-" * 90 + "\n"
    for start, end, granted in found:
        yield f"{_moment(start)}  {_moment(end)}  {','.join(f'{instance}={slots}' for instance, slots in granted)}\n"


def details(reservations: "list[Reservation]") -> "Iterator[str]":
    """Everything about each of them."""
    for one in reservations:
        yield "-" * 80 + "\n"
        yield from (f"{label:<{_LABEL}} {value}\n" for label, value in _fields(one))


def _slot_ranges(text: str) -> str:
    """Slot counts as 8.1.9 prints them: neighbours with a comma (2-3 as 2,3). Source: O."""
    parts = (part.partition("-") for part in text.split(","))
    return ",".join(f"{low},{high}" if high and int(high) == int(low) + 1 else f"{low}{dash}{high}" for low, dash, high in parts)


def _fields(one: "Reservation") -> "Iterator[tuple[str, object]]":
    yield "id", one["id"]
    yield "name", one["name"]
    yield "owner", one["owner"]
    yield "state", one["state"]
    yield "start_time", _moment(one["start_time"])
    yield "end_time", _moment(one["end_time"])
    yield "duration", clock_text(one["end_time"] - one["start_time"])
    for text in one["errors"]:
        yield "message", text
    yield "submission_time", _moment(one["submit_time"])
    yield "group", one["group"]
    yield "account", one["account"]
    grants = ",".join(f"{instance}={slots}" for instance, slots in one["granted"])
    granted_pe = f"{one['granted_pe']} slots {_slot_ranges(one['pe_range'])}" if one["granted_pe"] else ""
    for label, value in (
        ("resource_list", ", ".join(f"{name}={value}" for name, value in one["hard"])),
        ("error_handling", "true" if one["hard_errors"] else ""),
        ("granted_slots_list", grants),
        ("granted_parallel_environment", granted_pe),
        ("allocation_rule", one["allocation_rule"]),
        ("master hard queue_list", ",".join(one["master_queues"])),
        ("checkpoint_name", one["checkpoint"]),
        ("mail_options", one["mail_options"]),
        ("mail_list", ",".join(address if "@" in address else f"{address}@NONE" for address in one["mail_list"])),
        ("acl_list", ",".join(one["allowed"])),
        ("xacl_list", ",".join(one["denied"])),
        ("series", one["series"]),
        ("heal", "true" if one["heal"] else ""),
        ("idle_limit", clock_text(one["idle_limit"]) if one["idle_limit"] else ""),
    ):
        if value:
            yield label, value
