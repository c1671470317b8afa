"""`qacct -ar ID -reserved`: what an advance reservation held and what its jobs used of it, as plain data.

Owns the bringing together: what it held is the qmaster's to say, its jobs are in the accounting records. Called by qacct.
Source: AR-124; adr/0127; docs/gdi.md `held_slots`.
"""

import time

from clients import program
from gridengine.reservation_utilisation import ReservationUtilisation

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clients.accounting_source import File, Index

    Fields = dict[str, Any]

_FIELDS = ("start_time", "end_time", "slots")
_STATES = {"x": "ended", "d": "deleted"}


def reserved_slots(source: "File | Index", wanted: "Fields") -> "Fields":
    """The reservation `ar` of the filter, and its use by the jobs that the filter means. Raises Failure if nobody knows it."""
    number = int(wanted["ar"])
    rows = program.read("held_slots", {"ar": number})["held"]
    if not rows:
        raise program.Failure(f"error: advance reservation {number} not found", 1)
    last = rows[-1]
    use = ReservationUtilisation(_held(rows), _had(source, wanted))
    return {
        "ar_id": number,
        **{name: last[name] for name in ("owner", "name", "account")},
        "state": _STATES.get(last["state"], "ended") if last["over"] else "standing",
        "submit_time_s": int(last["submit_time"]),
        "start_time_s": int(use.begin or last["start_time"]),
        "end_time_s": int(use.end or last["end_time"]),
        "slots": use.slots or last["slots"],
        "reserved_slot_s": use.reserved,
        "used_slot_s": use.used,
        "idle_slot_s": use.idle,
        "used_share": round(use.used_share, 6),
        "most_slots_used": use.most_used,
        "never_used_share": round(use.never_used_share, 6),
    }


def _held(rows: "list[Fields]") -> "Iterator[tuple[float, float, int]]":
    """When it held how many slots: what a row says holds from its time until the next one's, the first since the start.

    Whole seconds, as records have them: else a job would seem to begin before its reservation.
    """
    until = [row["time"] for row in rows[1:]] + [time.time()]
    for at, (row, end) in enumerate(zip(rows, until, strict=True)):
        if not row["over"]:
            yield int(max(row["start_time"], row["time"])), int(end), row["slots"]
        elif not at:  # of one that an earlier version granted, its end alone is known
            yield int(row["start_time"]), int(row["time"]), row["slots"]


def _had(source: "File | Index", wanted: "Fields") -> "Iterator[tuple[float, float, int]]":
    """When its jobs had how many slots. The record of a parallel job has those of all its slave tasks."""
    for start, end, slots in source.fields({**wanted, "master_only": True}, _FIELDS):
        if float(start):
            yield float(start), float(end), int(slots)
