"""qping: whether a daemon of the cell answers, and its state. Source: qping(1); QP-1, QP-2.

Owns the lines of 8.1.9. A check is a TCP connection to the given port, and then a request to the qmaster over the commands' own
transport, which authenticates the caller. The qmaster knows the state of an exec host by its reports.
"""

import os
import sys
import time

from clients import gdi, program
from gridengine import addresses
from gridengine.errors import UnavailableError
from gridengine.options.ping import PING_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: seconds: monitoring by qping usually has a timeout of ten
_CONNECT_S, _ANSWER_S = 3.0, 5.0


class PingError(UnavailableError):
    """No daemon answers at the endpoint; the lines are the reason."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


def qping(arguments: list[str]) -> int:
    """Check the daemon repeatedly, or once with -info; the exit status."""
    fields, operands = program.simple_options("qping", PING_OPTIONS, arguments)
    if len(operands) != 4 or not (operands[1].isdecimal() and 0 < int(operands[1]) < 65536 and operands[3].isdecimal()):
        return program.report_misuse("qping", "qping: host, port, name and id are needed")
    host, port, name, number = operands
    known = list(addresses.host_addresses((host,)))
    if not known:
        program.print_error(f"could not resolve hostname {host}")
        return 1
    unique = host if "noalias" in fields else _unique_name(host)
    attempts = 0
    while True:
        attempts += 1
        try:
            state = _query(unique, known, int(port), name, number)
            _print(state, attempts, f"{unique}/{name}/{number}", int(port), "info" in fields or "full" in fields)
        except PingError as error:
            for line in error.lines:
                program.print_error(line)
            program.print_error(f"endpoint {unique}/{name}/{number} at port {port}: can't find connection")
            if "info" in fields or error.lines[0].startswith("access denied"):
                return 1
        if "info" in fields:
            return 0
        sys.stdout.flush()
        time.sleep(fields.get("interval", 0) or 1)


def _unique_name(host: str) -> str:
    """The name that host_aliases gives a host. Source: host_aliases(5)."""
    try:
        with open(f"{gdi.common_directory()}/host_aliases", errors="replace") as file:
            lines = [line.split() for line in file if not line.startswith("#")]
    except OSError:
        return host
    return next((names[0] for names in lines if host.lower() in map(str.lower, names)), host)


def _query(host: str, known: "list[str]", port: int, name: str, number: str) -> "dict[str, Any]":
    """The state of a daemon. Raises NoReplyError, gdi.Unreachable."""
    if name != "execd":  # which has no port of its own
        try:
            addresses.connect(known, port, _CONNECT_S).close()
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise PingError(f"got select error: {reason}") from None
    state = program.read("ping", {"host": host, "port": port, "name": name}, _ANSWER_S)
    answered_name = state.get("name", "")
    if (answered_name, "1") != (name, number):
        if not answered_name:
            raise PingError(f"no daemon of this cell is known at port {port} of {host}")
        local, requested = f"{host}/{answered_name}/1", f"{host}/{name}/{number}"
        raise PingError(f'access denied: local endpoint "{local}" doesn\'t match requested endpoint "{requested}"')
    return dict(state)


def _print(state: "dict[str, Any]", attempts: int, endpoint: str, port: int, full: bool) -> None:
    now = time.strftime("%m/%d/%Y %H:%M:%S")
    if not full:
        program.show([f"{now} endpoint {endpoint} at port {port} is up for {state['run']:.0f} seconds\n"])
        return
    began = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(state["start"]))
    rows = (
        ("SIRM version", "0.1"),
        ("SIRM message id", attempts),
        ("start time", f"{began} ({state['start']:.0f})"),
        ("run time [s]", f"{state['run']:.0f}"),
        ("messages in read buffer", state["reading"]),
        ("messages in write buffer", state["writing"]),
        ("no. of connected clients", state["clients"]),
        ("status", state["status"]),
        ("info", state["info"]),
        ("Monitor", state["monitor"] or "disabled"),
    )
    program.show([f"{now}:\n", *(f"{f'{label}:':<26}{value}\n" for label, value in rows), "\n\n"])
