"""What the options of a reservation were, as they are now: the values of the form that alters it (`option_form`).

Owns the form of each option's value, which the option itself would read as it was; as `job_values` for jobs. Source: qrsub(1).
"""

from __future__ import annotations

from datetime import tzinfo

from daemons.web.pages.job_values import date_text
from gridengine.state.reservations import AdvanceReservation
from gridengine.units import format_time

_SWITCH = {True: "y", False: "n"}


def reservation_values(one: AdvanceReservation, zone: tzinfo) -> dict[str, str]:
    """Values by the names of a form's fields; those that say nothing are left out. `zone`: of the times.

    The window has its start and its end: -d would say one of them twice.
    """
    slots = (one.allocation_rule or one.pe, one.pe_range)
    found = {
        "-a": date_text(one.start_time, zone),
        "-e": date_text(one.end_time, zone),
        "-l": ",".join(f"{name}={value}" for name, value in one.hard.items()),
        "-q": ",".join(one.hard_queues),
        "-masterq": ",".join(one.master_queues),
        "-ckpt": one.checkpoint,
        "-N": one.name,
        "-u": ",".join([*one.allowed, *(f"!{name}" for name in one.denied)]),
        "-A": "" if one.account == "sge" else one.account,
        "-he": _SWITCH[one.hard_errors],
        "-heal": _SWITCH[one.heal],
        "-idle": format_time(one.idle_limit) if one.idle_limit else "",
        "-m": one.mail_options,
        "-M": ",".join(one.mail_list),
        "-alloc" if one.allocation_rule else "-pe": " ".join(slots).strip(),
    }
    return {name: value for name, value in found.items() if value}
