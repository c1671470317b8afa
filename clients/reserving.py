"""Checks of qrsub and qralter before they send a reservation.

Owns the checks for which the caller's host is needed. Called by qrsub and qralter. Source: qrsub(1) -u; O.
"""

import pwd

from clients.program import CommandError


def check_users(names: list[str]) -> None:
    """Check that users of -u exist on this host, since a misspelt user could not use the reservation. Raises CommandError."""
    for name in (item.removeprefix("!") for item in names):
        if not name.startswith("@") and name != "$user" and not is_user(name):
            raise CommandError(f"error: {name} is not known as a user", 1)


def is_user(name: str) -> bool:
    """Whether the password database has the user."""
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True
