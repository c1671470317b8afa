"""What qrsub and qralter check of a reservation before they ask for it.

Owns what only the caller's host can tell. Called by both. Source: qrsub(1) -u; O.
"""

import pwd

from clients.program import Failure


def check_users(names: list[str]) -> None:
    """Users of -u must be known on this host: nobody could use what a slip of the pen reserves. Raises program.Failure."""
    for name in (item.removeprefix("!") for item in names):
        if not name.startswith("@") and name != "$user" and not is_user(name):
            raise Failure(f"error: {name} is not known as a user", 1)


def is_user(name: str) -> bool:
    """Whether the password database has the user."""
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True
