"""The current options of a reservation as values of the form that alters it (`option_form`).

Owns the text of each option's value, which the option parses to the same value; `job_values` does the same for jobs. Source:
qrsub(1).
"""

from __future__ import annotations

from datetime import tzinfo

from daemons.web.pages.job_values import date_text
from gridengine.state.reservations import AdvanceReservation
from gridengine.values.units import format_time

_SWITCH = {True: "y", False: "n"}


def reservation_values(reservation: AdvanceReservation, zone: tzinfo) -> dict[str, str]:
    """Values by the names of a form's fields, without empty values. `zone`: of the times.

    Start and end define the window, so -d is left out.
    """
    slots = (reservation.allocation_rule or reservation.pe, reservation.pe_range)
    values = {
        "-a": date_text(reservation.start_time, zone),
        "-e": date_text(reservation.end_time, zone),
        "-l": ",".join(f"{name}={value}" for name, value in reservation.hard.items()),
        "-q": ",".join(reservation.hard_queues),
        "-masterq": ",".join(reservation.master_queues),
        "-ckpt": reservation.checkpoint,
        "-N": reservation.name,
        "-u": ",".join([*reservation.allowed, *(f"!{name}" for name in reservation.denied)]),
        "-A": "" if reservation.account == "sge" else reservation.account,
        "-he": _SWITCH[reservation.hard_errors],
        "-heal": _SWITCH[reservation.heal],
        "-idle": format_time(reservation.idle_limit) if reservation.idle_limit else "",
        "-m": reservation.mail_options,
        "-M": ",".join(reservation.mail_list),
        "-alloc" if reservation.allocation_rule else "-pe": " ".join(slots).strip(),
    }
    return {name: value for name, value in values.items() if value}
