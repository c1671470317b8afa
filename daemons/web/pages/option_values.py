"""The options of a job or a reservation: conversion back to the values of a form (`option_form`).

Owns the text of each option's value, which the option parses to the same value. Called by the pages that alter them or clone a
job. Source: qsub(1), qrsub(1).
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo

from gridengine.protocols.gdi.requests import Submit
from gridengine.state.reservations import AdvanceReservation
from gridengine.values.units import format_time

_SWITCH = {True: "y", False: "n", None: ""}


def values_of(request: Submit, zone: tzinfo) -> dict[str, str]:
    """Values by the names of a form's fields, without options that were not given. `zone`: of the times."""
    values = {name: value(request) for name, value in _PLAIN.items()}
    values |= {name: date_text(getattr(request, field), zone) for name, field in (("-a", "start_after"), ("-dl", "deadline"))}
    if request.pe:
        values["-pe"] = f"{request.pe} {request.pe_range}"
    if request.allocation_rule:
        values["-alloc"] = f"{request.allocation_rule} {request.pe_range}"
    return {name: value for name, value in values.items() if value}


def program_of(request: Submit) -> dict[str, str]:
    """The script or the command with its arguments, as fields; only the arguments if the request lacks the script."""
    if request.binary:
        return {"command": shlex.join([request.script_file, *request.args])}
    script = base64.b64decode(request.script or "") if request.script_encoding else (request.script or "").encode()
    return {"script": script.decode(errors="replace"), "command": shlex.join(request.args)}


def _paths(pairs: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{host}:{path}" if host else path for host, path in pairs)


def _pairs(table: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" if value else name for name, value in table.items())


def date_text(when: float, zone: tzinfo) -> str:
    """A moment (epoch s) as -a reads it; "" for 0."""
    return f"{datetime.fromtimestamp(when, zone):%Y%m%d%H%M.%S}" if when else ""


def _variables(request: Submit) -> str:
    """The variables of -v and -V, without values that the option cannot express."""
    given = {name: request.environment[name] for name in request.environment_names if name in request.environment}
    return _pairs({name: value for name, value in given.items() if "," not in value and "\n" not in value})


_PLAIN: dict[str, Callable[[Submit], str]] = {
    "-N": lambda request: request.name,
    "-t": lambda request: request.tasks,
    "-tc": lambda request: str(request.task_concurrency or ""),
    "-P": lambda request: request.project,
    "-p": lambda request: str(request.priority or ""),
    "-js": lambda request: str(request.job_share or ""),
    "-ot": lambda request: str(request.override_tickets or ""),
    "-ar": lambda request: str(request.ar or ""),
    "-comment": lambda request: request.comment,
    "-l": lambda request: ",".join(request.hard),
    "soft -l": lambda request: ",".join(request.soft),
    "-q": lambda request: ",".join(request.hard_queues),
    "soft -q": lambda request: ",".join(request.soft_queues),
    "-masterq": lambda request: ",".join(request.master_queues),
    "-binding": lambda request: request.binding,
    "-R": lambda request: _SWITCH[request.reserve or None],
    "-hold_jid": lambda request: ",".join(request.hold_jid),
    "-hold_jid_ok": lambda request: ",".join(request.hold_jid_ok),
    "-hold_jid_fail": lambda request: ",".join(request.hold_jid_fail),
    "-hold_jid_ad": lambda request: ",".join(request.hold_jid_ad),
    "-now": lambda request: _SWITCH[request.now or None],
    "-wd": lambda request: request.cwd,
    "-o": lambda request: _paths(request.stdout),
    "-e": lambda request: _paths(request.stderr),
    "-i": lambda request: _paths(request.stdin),
    "-S": lambda request: _paths(request.shells),
    "-shell": lambda request: "n" if request.no_shell else "",
    "-j": lambda request: _SWITCH[request.merge or None],
    "-v": _variables,
    "-r": lambda request: _SWITCH[request.rerun],
    "-notify": lambda request: "y" if request.notify else "",
    "-ckpt": lambda request: request.checkpoint,
    "-c": lambda request: request.checkpoint_when,
    "-m": lambda request: request.mail_options,
    "-M": lambda request: ",".join(request.mail_list),
    "-A": lambda request: "" if request.account == "sge" else request.account,
    "-ac": lambda request: _pairs(request.context),
}


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
