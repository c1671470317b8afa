"""Advance reservations as qrstat prints them: the summary, and all details of a reservation.

Owns the lines and their order. Called by qrstat. Source: AR-107 … AR-112; O for labels, widths and order.
"""

import time

from gridengine.values.quantities import clock_text

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
    """A line per reservation, and with `explain` a line for each of its errors."""
    yield _HEADER
    yield "-" * 90 + "\n"
    for reservation in reservations:
        times = f"{_moment(reservation['start_time'])}  {_moment(reservation['end_time'])}"
        duration = clock_text(reservation["end_time"] - reservation["start_time"])
        name, owner = reservation["name"][:10], reservation["owner"][:12]
        yield f"{reservation['id']:7d} {name:<10} {owner:<12} {reservation['state']:<5} {times}  {duration}\n"
        if explain:
            for text in reservation["errors"]:
                yield f"       {text}\n"


def windows(rows: "list[list[Any]]") -> "Iterator[str]":
    """Free windows: start, end, and the slots per queue instance."""
    yield f"{'start at':<21}{'end at':<21}slots\n" + "-" * 90 + "\n"
    for start, end, granted in rows:
        yield f"{_moment(start)}  {_moment(end)}  {','.join(f'{instance}={slots}' for instance, slots in granted)}\n"


def details(reservations: "list[Reservation]") -> "Iterator[str]":
    """All details of each reservation."""
    for reservation in reservations:
        yield "-" * 80 + "\n"
        yield from (f"{label:<{_LABEL}} {value}\n" for label, value in _fields(reservation))


def _slot_ranges(text: str) -> str:
    """Slot ranges as 8.1.9 prints them: two consecutive numbers with a comma (2-3 as 2,3). Source: O."""
    parts = (part.partition("-") for part in text.split(","))
    return ",".join(f"{low},{high}" if high and int(high) == int(low) + 1 else f"{low}{dash}{high}" for low, dash, high in parts)


def _fields(reservation: "Reservation") -> "Iterator[tuple[str, object]]":
    yield "id", reservation["id"]
    yield "name", reservation["name"]
    yield "owner", reservation["owner"]
    yield "state", reservation["state"]
    yield "start_time", _moment(reservation["start_time"])
    yield "end_time", _moment(reservation["end_time"])
    yield "duration", clock_text(reservation["end_time"] - reservation["start_time"])
    for text in reservation["errors"]:
        yield "message", text
    yield "submission_time", _moment(reservation["submit_time"])
    yield "group", reservation["group"]
    yield "account", reservation["account"]
    grants = ",".join(f"{instance}={slots}" for instance, slots in reservation["granted"])
    granted_pe = f"{reservation['granted_pe']} slots {_slot_ranges(reservation['pe_range'])}" if reservation["granted_pe"] else ""
    for label, value in (
        ("resource_list", ", ".join(f"{name}={value}" for name, value in reservation["hard"])),
        ("error_handling", "true" if reservation["hard_errors"] else ""),
        ("granted_slots_list", grants),
        ("granted_parallel_environment", granted_pe),
        ("allocation_rule", reservation["allocation_rule"]),
        ("master hard queue_list", ",".join(reservation["master_queues"])),
        ("checkpoint_name", reservation["checkpoint"]),
        ("mail_options", reservation["mail_options"]),
        ("mail_list", ",".join(address if "@" in address else f"{address}@NONE" for address in reservation["mail_list"])),
        ("acl_list", ",".join(reservation["allowed"])),
        ("xacl_list", ",".join(reservation["denied"])),
        ("series", reservation["series"]),
        ("heal", "true" if reservation["heal"] else ""),
        ("idle_limit", clock_text(reservation["idle_limit"]) if reservation["idle_limit"] else ""),
    ):
        if value:
            yield label, value
