"""This host's users at the other end of local connections. Called by the GDI endpoint, the gateway and the web server."""

from __future__ import annotations

from daemons.runtime.account_files import AccountFiles
from daemons.runtime.name_service import Lookups, group_name, user_name
from gridengine.errors import RefusalError
from gridengine.protocols.gdi.answers import Caller


class UnknownCallerError(RefusalError):
    """The caller has no name on this host."""


class LocalUsers:
    """Names of callers, for one event loop."""

    def __init__(self) -> None:
        self._files = AccountFiles()
        self._names = Lookups(_names_of, lambda ids: f"user id {ids[0]}")

    async def names(self, uid: int, gid: int) -> tuple[str, str]:
        """The names of the user and the group. Raises UnknownCallerError, NameServiceError."""
        return self._files.names(uid, gid) or await self._names.find((uid, gid))

    async def caller(self, uid: int, gid: int, host: str) -> Caller:
        """The caller that the kernel named; a user without a name is shown as numbers. Raises NameServiceError."""
        try:
            user, group = await self.names(uid, gid)
        except UnknownCallerError:
            user, group = str(uid), str(gid)
        return Caller(user, uid, group, gid, host)


def _names_of(ids: tuple[int, int]) -> tuple[str, str]:
    uid, gid = ids
    user = user_name(uid)
    if user is None:
        raise UnknownCallerError(f"the user id {uid} has no name on this host")
    return user, group_name(gid)
