"""Accounts of jobs' owners on this host, and homes of users that a job's paths name. Called by `tasks`."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace

from daemons.execd.active_jobs import TaskStartError
from daemons.execd.environment import Account
from daemons.execd.standard_files import named_users
from daemons.runtime.name_service import Lookups, find_user, group_name
from gridengine.state.jobs import Job
from gridengine.usage.failed import EARLY


class Accounts:
    """Looks accounts up, for one event loop. `host`: the name of this host."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._accounts = Lookups(find_account, lambda owner: f'user "{owner}"')
        self._homes = Lookups(find_home, lambda user: f'user "{user}"')

    async def find(self, job: Job) -> Account | TaskStartError:
        """The account of the job's owner, or the reason why their jobs cannot run here. Raises NameServiceError."""
        try:
            account = await self._accounts.find(job.owner)
        except TaskStartError as fault:
            return fault
        homes = {user: await self._homes.find(user) for user in named_users(job, self._host)}
        return replace(account, homes=homes) if homes else account


def find_account(owner: str) -> Account:
    """The account of the job's owner on this host. Blocks. Raises NameServiceError, and TaskStartError: unknown, or not allowed
    without root (EX-4, EX-19)."""
    try:
        entry = find_user(owner)
    except KeyError:
        raise TaskStartError(EARLY, f'user "{owner}" is unknown on this host') from None
    if os.geteuid() not in (0, entry.pw_uid):
        own = pwd.getpwuid(os.geteuid()).pw_name
        raise TaskStartError(EARLY, f'sge_execd runs as "{own}" and runs jobs of that user only, not of "{owner}"')
    name, uid, gid = entry.pw_name, entry.pw_uid, entry.pw_gid
    groups = tuple(group for group in os.getgrouplist(name, gid) if group != gid)
    return Account(name, uid, gid, group_name(gid), entry.pw_dir, entry.pw_shell, groups)


def find_home(user: str) -> str | None:
    """The home directory of a user, None when there is no such user. Blocks. Raises NameServiceError."""
    try:
        return find_user(user).pw_dir
    except KeyError:
        return None
