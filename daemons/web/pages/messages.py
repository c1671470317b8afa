"""The `messages` files of daemons, the newest lines first.

Owns the filters. Operators only see files that they may read on this host themselves; other users see none.
Source: sge_conf(5) loglevel, GC-4.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from daemons.qmaster.permissions import is_operator, not_operator
from daemons.web.message_files import Message, local_exec_hosts, may_read, read_messages
from daemons.web.pages.page import CsvTable, Data, Page, Visit, rows_of_page

ROWS = 100
QMASTER = "qmaster"
_LEVELS = [("", "all"), ("W", "Warning and above"), ("E", "Error and above"), ("C", "Critical")]
_LEVELS_FROM = {"W": "WEC", "E": "EC", "C": "C"}


class MatchingMessages(NamedTuple):
    """The `lines` of the file at `path` that match the filters; `is_cut`: older lines are left out. `refusal`: why the file is
    not shown, "" if it is. `hosts`: exec hosts with files here."""

    lines: list[Message]
    path: Path
    is_cut: bool
    refusal: str
    hosts: list[str]


async def messages(visit: Visit) -> Data:
    """The lines of a daemon's file that match the filters, or the refusal."""
    matching = await _matching_messages(visit)
    shown, pager = rows_of_page(visit, matching.lines, ROWS)
    return pager | {
        "rows": shown,
        "daemons": [(QMASTER, QMASTER), *((name, f"execd of {name}") for name in matching.hosts)], "levels": _LEVELS,
        "of": visit.parameter("of") or QMASTER, "level": visit.parameter("level"), "find": visit.parameter("find"),
        "cut": matching.is_cut, "refusal": matching.refusal, "path": matching.path,
    }


async def messages_csv(visit: Visit) -> CsvTable:
    """All shown lines of a daemon's file that match the filters; none if the visitor may not see them."""
    lines = (await _matching_messages(visit)).lines
    rows = [(each.time, each.level, each.thread, each.text) for each in lines]
    return CsvTable("messages", ("time", "level", "thread", "message"), rows)


async def _matching_messages(visit: Visit) -> MatchingMessages:
    cell, daemon = visit.shared.cell, visit.parameter("of") or QMASTER
    level, find = visit.parameter("level"), visit.parameter("find").lower()
    hosts = await asyncio.to_thread(local_exec_hosts, cell)
    path = cell.qmaster_spool_dir / "messages" if daemon == QMASTER else cell.execd_spool(daemon) / "messages"
    lines: list[Message] = []
    is_cut, refusal = False, _refusal(visit, daemon, hosts)
    if not refusal:
        try:
            lines, is_cut = await asyncio.to_thread(_read, visit, path)
        except PermissionError:
            refusal = f"{visit.caller.user} may not read {path} on this host, so the file is not shown here."
        except OSError as error:
            refusal = f"{path} cannot be read: {error.strerror}."
    shown_levels = _LEVELS_FROM.get(level)
    lines = [each for each in lines if (shown_levels is None or each.level in [*shown_levels]) and find in each.text.lower()]
    return MatchingMessages(lines, path, is_cut, refusal, hosts)


def _refusal(visit: Visit, daemon: str, hosts: list[str]) -> str:
    """The reason why this file is not shown, "" for none."""
    shared = visit.shared
    if not is_operator(shared.mirror.state, visit.caller, shared.cell.admin_user):
        return not_operator(visit.caller)
    master, here = shared.cell.master_host(), shared.cell.own_name()
    if daemon == QMASTER:
        return "" if master == here else f"The qmaster runs on {master}, where the file is; this web server runs on {here}."
    return "" if daemon in hosts else f"There is no messages file of an execd of {daemon} on {here}."


def _read(visit: Visit, path: Path) -> tuple[list[Message], bool]:
    """The lines of a file, and whether its beginning is left out. Raises OSError."""
    caller = visit.caller
    if not may_read(path, caller.user, caller.uid, caller.gid):
        raise PermissionError
    return read_messages(path)


PAGES = [Page("/messages", "messages.html", messages, csv=messages_csv)]
