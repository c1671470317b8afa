"""Taking the ids of the job's owner, or of a method's user: user id, group ids, additional group id.

Runs in processes of the shepherd that are root: permanently (`become`), for a while (`as_user`), or for the start of another
process (`real_ids`). Without root these do nothing, for then only the own user's jobs may run (EX-19).
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gridengine.errors import GridEngineError
from gridengine.protocols.task_file import TaskConfig
from shepherd.process_tree import end_on_failure


class IdentityError(GridEngineError):
    """The user does not exist on this host, or may not run jobs here."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Ids of a process. `groups`: supplementary group ids, without the additional one of the job. `home`, `shell`: of the
    user of a method; the environment of a job already contains the owner's."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str = "/"
    shell: str = "/bin/sh"

    @property
    def environment(self) -> dict[str, str]:
        """Source: sge_submit(1) HOME, LOGNAME, SHELL, USER (EN-1)."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}


def owner(config: TaskConfig) -> Identity:
    """The identity of the job's owner. Raises IdentityError (sge_conf(5) min_uid, min_gid, EX-14, EX-19)."""
    if config.uid is None or config.gid is None:
        raise IdentityError(f'user "{config.owner}" is unknown on this host')
    if os.geteuid() != 0 and config.uid != os.geteuid():
        raise IdentityError(f'a shepherd without root cannot run jobs of user "{config.owner}"')
    if config.uid < config.min_uid:
        raise IdentityError(f'user id {config.uid} of "{config.owner}" is below min_uid {config.min_uid}')
    if config.gid < config.min_gid:
        raise IdentityError(f'group id {config.gid} of "{config.owner}" is below min_gid {config.min_gid}')
    groups = config.groups
    if groups is None:
        try:
            groups = os.getgrouplist(config.owner, config.gid)
        except OSError as error:
            raise IdentityError(f'cannot read the groups of user "{config.owner}": {error.strerror}') from error
    return Identity(config.owner, config.uid, config.gid, tuple(groups))


def find_identity(user: str) -> Identity:
    """The user of a method's `user@` prefix. Raises IdentityError."""
    try:
        entry = pwd.getpwnam(user)
    except KeyError as error:
        raise IdentityError(f'user "{user}" is unknown on this host') from error
    if os.geteuid() != 0 and entry.pw_uid != os.geteuid():
        raise IdentityError(f'a shepherd without root cannot run a method as user "{user}"')
    groups = tuple(os.getgrouplist(user, entry.pw_gid))
    return Identity(user, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, entry.pw_shell or "/bin/sh")


@contextmanager
def as_user(identity: Identity) -> Iterator[None]:
    """Effective ids of `identity` inside the block, so that the kernel checks file access as for that user."""
    if os.geteuid() != 0:
        yield
        return
    gid, groups = os.getegid(), os.getgroups()
    os.setgroups(identity.groups)
    os.setegid(identity.gid)
    os.seteuid(identity.uid)
    try:
        yield
    finally:
        with end_on_failure():
            os.seteuid(0)
            os.setegid(gid)
            os.setgroups(groups)


@contextmanager
def real_ids(identity: Identity, additional_gid: int | None) -> Iterator[None]:
    """Groups and real ids of `identity` inside the block: a process that posix_spawn(3) with RESETIDS starts has no other ids.

    Inside, the user may send this process signals, and no more (adr/0122).
    """
    if os.geteuid() != 0:
        yield
        return
    uid, gid, groups = os.getuid(), os.getgid(), os.getgroups()
    try:
        os.setgroups(_with_additional(identity.groups, additional_gid))
        os.setresgid(identity.gid, -1, -1)
        os.setresuid(identity.uid, -1, -1)
        yield
    finally:
        with end_on_failure():
            os.setresuid(uid, -1, -1)
            os.setresgid(gid, -1, -1)
            os.setgroups(groups)


def become(identity: Identity, additional_gid: int | None = None) -> None:
    """Take the ids permanently. `additional_gid` marks the processes of a job (sge_conf(5) gid_range)."""
    if os.geteuid() != 0:
        return
    os.setgroups(_with_additional(identity.groups, additional_gid))
    os.setresgid(identity.gid, identity.gid, identity.gid)
    os.setresuid(identity.uid, identity.uid, identity.uid)


def _with_additional(groups: tuple[int, ...], additional_gid: int | None) -> tuple[int, ...]:
    return groups if additional_gid is None else (*groups, additional_gid)
