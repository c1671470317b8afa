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
    """Print what the options ask for; the exit status."""
    given, operands = program.simple_options("qrstat", RESERVATION_OPTIONS, arguments)
    if operands:
        return program.misused("qrstat", f'error: invalid option argument "{operands[0]}"')
    fields: dict[str, Any] = {}
    for option, values, place in default_settings("sge_qrstat", options_of("qrstat", RESERVATION_OPTIONS)):
        option.apply(fields, values, place)
    fields.update(given)
    body = {"targets": fields.get("reservations"), "users": fields.get("users", [])}
    data = program.read("status", {"reservations": body})["reservations"]
    output = output_of(fields)
    output.write(output.reservations(data, fields))
    if body["targets"]:
        sys.stdout.flush()
        for one in data["reservations"]:
            _hint_at_lost_hosts(one)
    if data["unknown"]:
        sys.stdout.flush()
        program.complain("Following advance reservations do not exist:")
        program.complain(", ".join(data["unknown"]))
    return 1 if data["unknown"] and not data["reservations"] else 0


def _hint_at_lost_hosts(one: "dict[str, Any]") -> None:
    """A line on stderr about a reservation whose host is lost: what becomes of it. Deviation: 8.1.9 leaves it at "is unknown"."""
    if not any(text.endswith(" is unknown") for text in one["errors"]):
        return
    bound = [f"{name}={value}" for name, value in one["hard"] if name == "hostname"]
    if bound:
        way_out = f"its request {bound[0]} leaves no other host"
    elif one["heal"]:
        way_out = "its slots move to other hosts as soon as these have room"
    else:
        way_out = f"qralter -heal y {one['id']} moves its slots to other hosts"
    program.hint(f"reservation {one['id']}: a host of it is lost (qhost); {way_out}")


def main() -> int:
    return program.run("qrstat", qrstat)
