"""The `messages` files of daemons on this host: their list, their permissions, and their last lines.

Owns the reading from the end, and the check of a user's permissions: the web server runs as the admin user, and must not show
files that the user could not read. Access lists beyond the permission bits are ignored. Source: sge_conf(5) loglevel, GC-4.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import NamedTuple

from daemons.runtime.cell import Cell

MAX_BYTES = 4 * 2**20
"""Bytes of a file that are read, from its end."""
_LEVELS = ("C", "E", "W", "I")


class Message(NamedTuple):
    """A line. `time`, `thread`: as written; `level`: I, W, E or C, "" for other lines, such as the text of a crash."""

    time: str
    thread: str
    level: str
    text: str


def read_messages(path: Path) -> tuple[list[Message], bool]:
    """The last lines of a file, the newest first, and whether the file has older lines. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_BYTES))
        lines = file.read(MAX_BYTES).decode(errors="backslashreplace").splitlines()
    is_cut = size > MAX_BYTES
    return [_parse_message(line) for line in reversed(lines[is_cut:])], is_cut


def _parse_message(line: str) -> Message:
    fields = line.split("|", 4)
    if len(fields) == 5 and fields[3] in _LEVELS:
        return Message(fields[0], fields[1].strip(), fields[3], fields[4])
    return Message("", "", "", line)


def local_exec_hosts(cell: Cell) -> list[str]:
    """Exec hosts with spool directories on this host, or shared with this host."""
    try:
        return sorted(entry.name for entry in cell.execd_spool_dir.iterdir() if (entry / "messages").exists())
    except OSError:
        return []


def may_read(path: Path, user: str, uid: int, gid: int) -> bool:
    """Whether the permissions of a file and its parent directories let this user of this host read it. Raises OSError."""
    if uid == 0:
        return True
    try:
        groups = {gid, *os.getgrouplist(user, pwd.getpwuid(uid).pw_gid)}
    except KeyError:
        groups = {gid}
    target = path.resolve()
    searchable = (_permission_bits(each.stat(), uid, groups) & 0o1 for each in target.parents)
    return all(searchable) and bool(_permission_bits(target.stat(), uid, groups) & 0o4)


def _permission_bits(status: os.stat_result, uid: int, groups: set[int]) -> int:
    """The permission bits that apply to a user."""
    mode = stat.S_IMODE(status.st_mode)
    return (mode >> 6 if status.st_uid == uid else mode >> 3 if status.st_gid in groups else mode) & 0o7
