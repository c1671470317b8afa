"""`qacct -ar ID -reserved`: the slots that an advance reservation held, and their use by its jobs, as plain data.

Owns the join of two sources: the qmaster knows the slots of a reservation, the accounting records contain its jobs. Called by
qacct. Source: AR-124; adr/0127; docs/gdi.md `held_slots`.
"""

import time

from clients import program
from gridengine.usage.reservation_utilisation import ReservationUtilisation

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clients.accounting_source import File, Index

    Fields = dict[str, Any]

_FIELDS = ("start_time", "end_time", "slots")
_STATES = {"x": "ended", "d": "deleted"}


def reserved_slots(source: "File | Index", criteria: "Fields") -> "Fields":
    """The reservation `ar` of the criteria, and its use by the jobs that match them. Raises CommandError if it is unknown."""
    number = int(criteria["ar"])
    rows = program.read("held_slots", {"ar": number})["held"]
    if not rows:
        raise program.CommandError(f"error: advance reservation {number} not found", 1)
    last = rows[-1]
    use = ReservationUtilisation(_reserved_intervals(rows), _used_intervals(source, criteria))
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


def _reserved_intervals(rows: "list[Fields]") -> "Iterator[tuple[float, float, int]]":
    """(begin, end, slots) of each interval: a row is valid from its time until the next row's time, the first from the start.

    Whole seconds, as in accounting records: otherwise a job would seem to begin before its reservation.
    """
    until = [row["time"] for row in rows[1:]] + [time.time()]
    for at, (row, end) in enumerate(zip(rows, until, strict=True)):
        if not row["over"]:
            yield int(max(row["start_time"], row["time"])), int(end), row["slots"]
        elif not at:  # of a reservation that an earlier version granted only the end is known
            yield int(row["start_time"]), int(row["time"]), row["slots"]


def _used_intervals(source: "File | Index", criteria: "Fields") -> "Iterator[tuple[float, float, int]]":
    """(begin, end, slots) of each job. The record of a parallel job includes the slots of all its slave tasks."""
    for start, end, slots in source.fields({**criteria, "master_only": True}, _FIELDS):
        if float(start):
            yield float(start), float(end), int(slots)
