"""Names and addresses of a host from the resolver and host_aliases, as the programs in `utilbin` print them.

Owns the three forms of the output. Sensors call these programs every few seconds: slow modules must not be imported.
Source: O (gethostname, gethostbyname, gethostbyaddr of 8.1.9); host_aliases(5).
Deviation: 8.1.9 knows IPv4 addresses alone.
"""

import _socket
import os
import sys

from gridengine.addresses import host_addresses, is_address
from gridengine.errors import UserError

TYPE_CHECKING = False  # as typing has it: each call pays for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Entry = tuple[str, list[str], list[str]]

FORMS = ("-name", "-aname", "-all")
_CAUSES = {
    _socket.EAI_NONAME: "HOST_NOT_FOUND", _socket.EAI_AGAIN: "TRY_AGAIN",
    _socket.EAI_FAIL: "NO_RECOVERY", _socket.EAI_NODATA: "NO_DATA",
    1: "HOST_NOT_FOUND", 2: "TRY_AGAIN", 3: "NO_RECOVERY", 4: "NO_DATA",
}


class UnresolvedHostError(UserError):
    """The resolver does not know the host; the text is the cause in brackets."""


def by_name(name: str) -> "Entry":
    """Name, other names and addresses of a host, given by name or address. Raises UnresolvedHostError."""
    if is_address(name):
        try:
            return _socket.gethostbyaddr(name)
        except OSError:
            raise UnresolvedHostError("Success") from None
    try:
        return _resolve(_socket.gethostbyname_ex, name)
    except UnresolvedHostError:
        addresses = list(host_addresses((name,)))
        if not addresses:
            raise
        return name, [], addresses


def by_address(address: str) -> "Entry":
    """As `by_name`, of an address alone. Raises UnresolvedHostError."""
    if not is_address(address):
        raise UnresolvedHostError("h_errno = TRY_AGAIN")
    return _resolve(_socket.gethostbyaddr, address)


def _resolve(look_up: "Callable[[Any], Entry]", name: str) -> "Entry":
    try:
        return look_up(os.fsencode(name))  # of bytes: the codec of international names is slow to load
    except OSError as error:
        raise UnresolvedHostError(f"h_errno = {_CAUSES.get(error.errno or 0, 'NO_RECOVERY')}") from None
    except (ValueError, TypeError):
        raise UnresolvedHostError("h_errno = HOST_NOT_FOUND") from None


def answer(form: str, entry: "Entry") -> str:
    """The output for a host. `form`: one of FORMS, "" for all but the unique name."""
    name, others, addresses = entry
    if form == "-name":
        return name
    if form == "-aname":
        return unique_name(entry)
    lines = [f"Hostname: {name}"]
    if form == "-all":
        lines.append(f"SGE name: {unique_name(entry)}")
    return "\n".join((*lines, " ".join(("Aliases:", *others)), " ".join(("Host Address(es):", *addresses))))


def unique_name(entry: "Entry") -> str:
    """The unique name of a host in the cell; its own name if host_aliases has none of its names."""
    name, others, _ = entry
    known = {each.lower() for each in (name, *others)}
    path = os.path.join(os.environ.get("SGE_ROOT", ""), os.environ.get("SGE_CELL") or "default", "common", "host_aliases")
    try:
        with open(path) as file:
            lines = [line.split() for line in file if not line.startswith("#")]
    except (OSError, ValueError):
        return name
    return next((names[0] for names in lines if known & {alias.lower() for alias in names}), name)


def show(form: str, look_up: "Callable[[], Entry]", subject: str, what: str) -> int:
    """Print the output for a host; exit status 1 and a line on stderr if the host is unknown."""
    try:
        entry = look_up()
    except UnresolvedHostError as fault:
        sys.stderr.write(f"error resolving {subject}: can't resolve {what} ({fault})\n")
        return 1
    sys.stdout.write(answer(form, entry) + "\n")
    return 0


def print_usage(usage: str) -> int:
    """Print the usage of a program; the exit status."""
    sys.stderr.write(f"Version: 8.1.9\n{usage}\n")
    return 1


def about_argument(program: str, gap: str, subject: str, what: str, look_up: "Callable[[str], Entry]") -> int:
    """Run `program [FORM] SUBJECT`; the exit status. `gap`: the text of the usage before the name of the argument."""
    argv = sys.argv[1:]
    form = argv[0] if argv and argv[0] in FORMS else ""
    rest = argv[1:] if form else argv[:1]
    if len(rest) != 1 or rest == ["-help"]:
        return print_usage(f"usage: {program} [-help|-name|-aname|-all]{gap}")
    return show(form, lambda: look_up(rest[0]), f'{subject} "{rest[0]}"', what)
