"""qrstat: the state of advance reservations. Source: qrstat(1); statements AR-107 … AR-116."""

import sys

from clients import program
from clients.render import output_of
from clients.request_files import default_settings
from gridengine.options.option import options_of
from gridengine.options.reservation import RESERVATION_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


def qrstat(arguments: list[str]) -> int:
    """Print the selected reservations; the exit status."""
    given, operands = program.simple_options("qrstat", RESERVATION_OPTIONS, arguments)
    if operands:
        return program.report_misuse("qrstat", f'error: invalid option argument "{operands[0]}"')
    fields: dict[str, Any] = {}
    for option, values, location in default_settings("sge_qrstat", options_of("qrstat", RESERVATION_OPTIONS)):
        option.apply(fields, values, location)
    fields.update(given)
    body = {"targets": fields.get("reservations"), "users": fields.get("users", [])}
    data = program.read("status", {"reservations": body})["reservations"]
    output = output_of(fields)
    output.write(output.reservations(data, fields))
    if body["targets"]:
        sys.stdout.flush()
        for reservation in data["reservations"]:
            _hint_at_lost_hosts(reservation)
    if data["unknown"]:
        sys.stdout.flush()
        program.print_error("Following advance reservations do not exist:")
        program.print_error(", ".join(data["unknown"]))
    return 1 if data["unknown"] and not data["reservations"] else 0


def _hint_at_lost_hosts(reservation: "dict[str, Any]") -> None:
    """Print the remedy for a reservation with a lost host on stderr. Deviation: 8.1.9 only reports "is unknown"."""
    if not any(text.endswith(" is unknown") for text in reservation["errors"]):
        return
    host_requests = [f"{name}={value}" for name, value in reservation["hard"] if name == "hostname"]
    if host_requests:
        remedy = f"its request {host_requests[0]} leaves no other host"
    elif reservation["heal"]:
        remedy = "its slots move to other hosts as soon as they have free slots"
    else:
        remedy = f"qralter -heal y {reservation['id']} moves its slots to other hosts"
    program.hint(f"reservation {reservation['id']}: one of its hosts is lost (qhost); {remedy}")
