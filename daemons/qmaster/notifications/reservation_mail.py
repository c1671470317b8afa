"""Mail messages about advance reservations: at the start, at the end, on an error and on the recovery from it.

Owns the rules of -m and -M of qrsub and the texts. Pure. Called by `mail`. Source: qrsub(1) -m; AR-66. Deviation: 8.1.9 writes
to the addresses of -M instead of the requester; here both get the mail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo

from daemons.qmaster.notifications import reservation_log as log
from gridengine.state.events import AnyEvent
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

_SUBJECTS = {
    log.START: ("b", "started"),
    log.END: ("e", "finished"),
    log.DELETED: ("e", "deleted"),
    log.UNSATISFIED: ("a", "is in error"),
    log.SATISFIED: ("a", "is satisfied again"),
}
"""Entry of the log -> flag of -m, and the end of the subject."""

_HEALED = ("a", "has moved")


def is_healing(entry: log.Entry) -> bool:
    """Whether a change replaced lost grants: the reservation has no error, but its users must know the new hosts."""
    return entry.name == log.CHANGED and entry.message.startswith(log.MOVED)


def reservation_messages(
    state: State, events: Iterable[AnyEvent], zone: tzinfo
) -> Iterator[tuple[tuple[str, ...], str, list[str]]]:
    """(recipients, subject, lines) of each mail message that a transaction causes. `zone`: of the times in them."""
    for entry in log.entries(state, events):
        mail_option, outcome = _SUBJECTS.get(entry.name, _HEALED if is_healing(entry) else ("", ""))
        one = entry.reservation
        if mail_option and mail_option in one.mail_options:
            name = f" ({one.name})" if one.name else ""
            subject = f"Advance Reservation {one.id}{name} {outcome}"
            yield tuple(dict.fromkeys((one.owner, *one.mail_list))), subject, _lines(one, entry, zone)


def _lines(one: AdvanceReservation, entry: log.Entry, zone: tzinfo) -> list[str]:
    moments = (("Time", entry.time), ("Start Time", one.start_time), ("End Time", one.end_time))
    lines = [f"Owner           = {one.owner}", f"State           = {one.state}"]
    lines += [f"{label:<15} = {datetime.fromtimestamp(moment, zone):%m/%d/%Y %H:%M:%S}" for label, moment in moments]
    lines.append("Slots           = " + ",".join(f"{grant.instance}={grant.slots}" for grant in one.granted))
    return [*lines, *entry.message.split("; ")]
