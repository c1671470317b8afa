"""Names of this host's users at the other end of local connections, resolved without blocking the event loop.

The names may come from a directory server, so they are looked up in threads and cached. Called by the GDI endpoint and
the web server.
"""

from __future__ import annotations

import asyncio
import grp
import pwd
import time
from collections import OrderedDict

from gridengine.protocols.gdi.answers import Caller

#: seconds for which names are cached, and the largest number of cached callers
REMEMBER_S, MAX_REMEMBERED = 60.0, 4096


class LocalUsers:
    """A bounded cache of names, for one event loop."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, int], tuple[float, Caller]] = OrderedDict()

    async def caller(self, uid: int, gid: int, host: str) -> Caller:
        """The caller that the kernel named; ids without a name are shown as numbers."""
        until, known = self._known.get((uid, gid), (0.0, None))
        if known is not None and until > time.monotonic():
            return known
        caller = await asyncio.get_running_loop().run_in_executor(None, _caller_of, uid, gid, host)
        self._known[uid, gid] = time.monotonic() + REMEMBER_S, caller
        self._known.move_to_end((uid, gid))
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)
        return caller


def _caller_of(uid: int, gid: int, host: str) -> Caller:
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return Caller(user, uid, group, gid, host)
