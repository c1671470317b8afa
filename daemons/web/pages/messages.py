"""What daemons have written into their `messages` files, the newest first.

Owns the filters. Operators see what they could read on this host themselves, nobody sees more.
Source: sge_conf(5) loglevel, GC-4.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemons.qmaster.permissions import is_operator, not_operator
from daemons.web.message_files import Message, local_exec_hosts, may_read, read_messages
from daemons.web.pages.page import Data, Page, Visit

ROWS = 100
QMASTER = "qmaster"
_LEVELS = [("", "all"), ("W", "Warning and above"), ("E", "Error and above"), ("C", "Critical")]
_MEANT = {"W": "WEC", "E": "EC", "C": "C"}


async def messages(visit: Visit) -> Data:
    """The lines of a daemon's file that the filters mean; why there are none, if they cannot be shown."""
    cell, daemon, level, find = visit.shared.cell, visit.said("of") or QMASTER, visit.said("level"), visit.said("find")
    hosts = await asyncio.to_thread(local_exec_hosts, cell)
    path = cell.qmaster_spool_dir / "messages" if daemon == QMASTER else cell.execd_spool(daemon) / "messages"
    found: list[Message] = []
    is_cut, refusal = False, _refusal(visit, daemon, hosts)
    if not refusal:
        try:
            found, is_cut = await asyncio.to_thread(_read, visit, path)
        except PermissionError:
            refusal = f"{visit.caller.user} may not read {path} on this host, so it is not shown here either."
        except OSError as error:
            refusal = f"{path} cannot be read: {error.strerror}."
    wanted = _MEANT.get(level)
    found = [each for each in found if (wanted is None or each.level in [*wanted]) and find.lower() in each.text.lower()]
    number = min(visit.number("page"), max(1, -(-len(found) // ROWS)))
    return {
        **{"rows": found[(number - 1) * ROWS : number * ROWS], "total": len(found), "page": number, "size": ROWS},
        **{"daemons": [(QMASTER, QMASTER), *((name, f"execd of {name}") for name in hosts)], "levels": _LEVELS},
        **{"of": daemon, "level": level, "find": find, "cut": is_cut, "refusal": refusal, "path": path},
    }


def _refusal(visit: Visit, daemon: str, hosts: list[str]) -> str:
    """Why this file is not looked at."""
    shared = visit.shared
    if not is_operator(shared.mirror.state, visit.caller, shared.cell.admin_user):
        return not_operator(visit.caller)
    master, here = shared.cell.master_host(), shared.cell.own_name()
    if daemon == QMASTER:
        return "" if master == here else f"The qmaster runs on {master}, and its file is there; this web server is on {here}."
    return "" if daemon in hosts else f"There is no messages file of an execd of {daemon} on {here}."


def _read(visit: Visit, path: Path) -> tuple[list[Message], bool]:
    """Raises OSError."""
    caller = visit.caller
    if not may_read(path, caller.user, caller.uid, caller.gid):
        raise PermissionError
    return read_messages(path)


PAGES = [Page("/messages", "messages.html", messages)]
