"""What the resolver and host_aliases say of a host, as the programs in `utilbin` print it.

Owns the three forms of an answer. Sensors call these programs every few seconds: nothing slow is imported.
Source: O (gethostname, gethostbyname, gethostbyaddr of 8.1.9); host_aliases(5).
"""

import _socket
import os
import sys

TYPE_CHECKING = False  # as typing has it: each call pays for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Entry = tuple[str, list[str], list[str]]

FORMS = ("-name", "-aname", "-all")
_CAUSES = {
    **{_socket.EAI_NONAME: "HOST_NOT_FOUND", _socket.EAI_AGAIN: "TRY_AGAIN"},
    **{_socket.EAI_FAIL: "NO_RECOVERY", _socket.EAI_NODATA: "NO_DATA"},
    **{1: "HOST_NOT_FOUND", 2: "TRY_AGAIN", 3: "NO_RECOVERY", 4: "NO_DATA"},
}


class Unresolved(Exception):
    """The resolver does not know it; the text is the cause in brackets."""


def is_address(text: str) -> bool:
    """Whether a text is an IPv4 address."""
    try:
        _socket.inet_pton(_socket.AF_INET, text)
    except (OSError, ValueError):
        return False
    return True


def by_name(name: str) -> "Entry":
    """Name, other names and addresses of a host, which an address may stand for. Raises Unresolved."""
    if is_address(name):
        try:
            return _socket.gethostbyaddr(name)
        except OSError:
            raise Unresolved("Success") from None
    return _asked(_socket.gethostbyname_ex, name)


def by_address(address: str) -> "Entry":
    """The same of an address alone. Raises Unresolved."""
    if not is_address(address):
        raise Unresolved("h_errno = TRY_AGAIN")
    return _asked(_socket.gethostbyaddr, address)


def _asked(look_up: "Callable[[Any], Entry]", name: str) -> "Entry":
    try:
        return look_up(os.fsencode(name))  # of bytes: the codec of international names is slow to load
    except OSError as error:
        raise Unresolved(f"h_errno = {_CAUSES.get(error.errno or 0, 'NO_RECOVERY')}") from None
    except (ValueError, TypeError):
        raise Unresolved("h_errno = HOST_NOT_FOUND") from None


def answer(form: str, entry: "Entry") -> str:
    """What is printed of a host. `form`: one of FORMS, "" for all but the name of the cell."""
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
    """The name under which the cell knows a host; its own where host_aliases names none of its names."""
    name, others, _ = entry
    known = {each.lower() for each in (name, *others)}
    path = os.path.join(os.environ.get("SGE_ROOT", ""), os.environ.get("SGE_CELL") or "default", "common", "host_aliases")
    try:
        with open(path) as file:
            lines = [line.split() for line in file if not line.startswith("#")]
    except (OSError, ValueError):
        return name
    return next((words[0] for words in lines if known & {word.lower() for word in words}), name)


def show(form: str, look_up: "Callable[[], Entry]", subject: str, what: str) -> int:
    """Print the answer about a host; exit status 1 and a line on stderr if there is none."""
    try:
        entry = look_up()
    except Unresolved as fault:
        sys.stderr.write(f"error resolving {subject}: can't resolve {what} ({fault})\n")
        return 1
    sys.stdout.write(answer(form, entry) + "\n")
    return 0


def misused(usage: str) -> int:
    """Print how a program is called."""
    sys.stderr.write(f"Version: 8.1.9\n{usage}\n")
    return 1


def about_argument(program: str, gap: str, subject: str, what: str, look_up: "Callable[[str], Entry]") -> int:
    """The program that is called `program [FORM] SUBJECT`. `gap`: what the usage has before the name of the argument."""
    words = sys.argv[1:]
    form = words[0] if words and words[0] in FORMS else ""
    rest = words[1:] if form else words[:1]
    if len(rest) != 1 or rest == ["-help"]:
        return misused(f"usage: {program} [-help|-name|-aname|-all]{gap}")
    return show(form, lambda: look_up(rest[0]), f'{subject} "{rest[0]}"', what)
