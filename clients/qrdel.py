"""qrdel: delete advance reservations with their jobs. Source: qrdel(1); statements AR-101 … AR-106."""

from clients import program
from gridengine.options.reservation import RESERVATION_OPTIONS


def qrdel(arguments: list[str]) -> int:
    """Delete the named reservations; the exit status."""
    fields, operands = program.simple_options("qrdel", RESERVATION_OPTIONS, arguments)
    targets = [target for operand in operands for target in operand.replace(",", " ").split()]
    if not targets and not fields.get("users"):
        return program.report_misuse("qrdel", "qrdel: no reservations are named")
    body = {"targets": targets, "users": fields.get("users", [])}
    body |= {name: True for name in ("force", "series") if name in fields}
    return program.request("delete_reservations", body)
