"""Running a program as another user: how daemons start mailers, verifiers and load sensors.

Such a process has the complete identity of its user and nothing of the daemon's: user id, group id, the user's groups, an
environment made here, no terminal, `/` as its directory. (Tasks of jobs belong to the shepherd: `shepherd.identity` has the
same rule without this package.) Without root a daemon can only start processes of its own user.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemons.runtime.name_service import find_user
from gridengine.errors import InvalidValueError

#: variables of the daemon's environment that a program inherits
INHERITED = ("PATH", "LANG", "TZ")
NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class LocalUser:
    """A user of this host. `groups`: all of their group ids."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str

    @property
    def is_own(self) -> bool:
        """Whether this process is that user already."""
        return self.uid == os.geteuid()

    def environment(self, daemons: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Variables for a program of this user: inherited variables, the user's home directory and names."""
        return inherited(daemons) | {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}

    def process(self, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Arguments of `subprocess` functions for a process of this user. `environment`: further variables."""
        ids = {"user": self.uid, "group": self.gid, "extra_groups": self.groups} if os.geteuid() == 0 else {}
        return {**ids, "env": {**self.environment(), **(environment or {})}, "cwd": "/", "start_new_session": True}

    def become(self) -> None:
        """Take the ids permanently; to be called with one thread."""
        if os.geteuid() == 0:
            os.setgroups(self.groups)
            os.setresgid(self.gid, self.gid, self.gid)
            os.setresuid(self.uid, self.uid, self.uid)


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a program inherits from a daemon."""
    return {name: environment[name] for name in INHERITED if name in environment}


def named(user: str) -> LocalUser:
    """The user of this name. Blocks. Raises InvalidValueError if there is none, or if this process may not act for them without
    root; NameServiceError."""
    try:
        return _identity(find_user(user))
    except KeyError:
        raise InvalidValueError(f'there is no user "{user}"') from None


def own() -> LocalUser:
    """The user of this process. Blocks."""
    try:
        return _identity(pwd.getpwuid(os.geteuid()))
    except KeyError:
        uid = os.geteuid()
        return LocalUser(str(uid), uid, os.getegid(), tuple(os.getgroups()), "/", "/bin/sh")


def unprivileged() -> LocalUser:
    """The user for programs that need no rights: `nobody`; without root, the user of this process. Raises InvalidValueError."""
    return named(NOBODY) if os.geteuid() == 0 else own()


def _identity(entry: pwd.struct_passwd) -> LocalUser:
    name, uid, gid = entry.pw_name, entry.pw_uid, entry.pw_gid
    if os.geteuid() not in (0, uid):
        raise InvalidValueError(f'without root nothing can be run as user "{name}"')
    return LocalUser(name, uid, gid, tuple(os.getgrouplist(name, gid)), entry.pw_dir or "/", entry.pw_shell or "/bin/sh")
