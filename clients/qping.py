"""qping: whether a daemon of the cell answers, and how it is. Source: qping(1); QP-1, QP-2.

Owns the lines of 8.1.9. A look is a TCP connection to the port that was named, and then a question to the qmaster by the road of
all commands, which checks who asks. What an exec host is like, the qmaster knows by its reports.
"""

import os
import socket
import sys
import time

from clients import gdi, program
from gridengine.options.ping import PING_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: seconds: who watches a daemon by qping gives up after ten
_CONNECT_S, _ANSWER_S = 3.0, 5.0


class Silent(Exception):
    """Nobody answers there; the texts say why, a line each."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


def qping(arguments: list[str]) -> int:
    """Look again and again, or once with -info; the exit status."""
    fields, operands = program.simple_options("qping", PING_OPTIONS, arguments)
    if len(operands) != 4 or not (operands[1].isdecimal() and 0 < int(operands[1]) < 65536 and operands[3].isdecimal()):
        return program.misused("qping", "qping: host, port, name and id are needed")
    host, port, name, number = operands
    address = _address(host)
    if not address:
        program.complain(f"could not resolve hostname {host}")
        return 1
    unique = host if "noalias" in fields else _unique(host)
    looks = 0
    while True:
        looks += 1
        try:
            known = _look(unique, address, int(port), name, number)
            _print(known, looks, f"{unique}/{name}/{number}", int(port), "info" in fields or "full" in fields)
        except Silent as silent:
            for line in silent.lines:
                program.complain(line)
            program.complain(f"endpoint {unique}/{name}/{number} at port {port}: can't find connection")
            if "info" in fields or silent.lines[0].startswith("access denied"):
                return 1
        if "info" in fields:
            return 0
        sys.stdout.flush()
        time.sleep(fields.get("interval", 0) or 1)


def _address(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return ""


def _unique(host: str) -> str:
    """The name that host_aliases gives a host. Source: host_aliases(5)."""
    try:
        with open(f"{gdi.common_directory()}/host_aliases", errors="replace") as file:
            lines = [line.split() for line in file if not line.startswith("#")]
    except OSError:
        return host
    return next((names[0] for names in lines if host.lower() in map(str.lower, names)), host)


def _look(host: str, address: str, port: int, name: str, number: str) -> "dict[str, Any]":
    """What is known of a daemon. Raises Silent, gdi.Unreachable."""
    if name != "execd":  # which has no port of its own
        try:
            socket.create_connection((address, port), _CONNECT_S).close()
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise Silent(f"got select error: {reason}") from None
    known = program.read("ping", {"host": host, "port": port, "name": name}, _ANSWER_S)
    there = known.get("name", "")
    if (there, "1") != (name, number):
        if not there:
            raise Silent(f"no daemon of this cell is known at port {port} of {host}")
        local, wanted = f"{host}/{there}/1", f"{host}/{name}/{number}"
        raise Silent(f'access denied: local endpoint "{local}" doesn\'t match requested endpoint "{wanted}"')
    return dict(known)


def _print(known: "dict[str, Any]", looks: int, endpoint: str, port: int, full: bool) -> None:
    now = time.strftime("%m/%d/%Y %H:%M:%S")
    if not full:
        program.show([f"{now} endpoint {endpoint} at port {port} is up for {known['run']:.0f} seconds\n"])
        return
    began = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(known["start"]))
    rows = (
        ("SIRM version", "0.1"),
        ("SIRM message id", looks),
        ("start time", f"{began} ({known['start']:.0f})"),
        ("run time [s]", f"{known['run']:.0f}"),
        ("messages in read buffer", known["reading"]),
        ("messages in write buffer", known["writing"]),
        ("no. of connected clients", known["clients"]),
        ("status", known["status"]),
        ("info", known["info"]),
        ("Monitor", known["monitor"] or "disabled"),
    )
    program.show([f"{now}:\n", *(f"{f'{label}:':<26}{value}\n" for label, value in rows), "\n\n"])


def main() -> int:
    return program.run("qping", qping)
