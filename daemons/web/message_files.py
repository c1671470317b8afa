"""The `messages` files of daemons that are on this host: which there are, who may read them, and their last lines.

Owns the reading from the end, and the question whether a user could read a file himself: the web server runs as the admin user
and must not show more than that. Access lists beyond the permission bits are not asked. Source: sge_conf(5) loglevel, GC-4.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import NamedTuple

from daemons.runtime.cell import Cell

MOST_BYTES = 4 * 2**20
"""Of a file that are looked at, from its end."""
_LEVELS = ("C", "E", "W", "I")


class Message(NamedTuple):
    """A line. `time`: as it is written; `level`: a letter, I to C, "" of a line that is no message but, say, a crash."""

    time: str
    thread: str
    level: str
    text: str


def read_messages(path: Path) -> tuple[list[Message], bool]:
    """The last lines of a file, the newest first, and whether there are older ones. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST_BYTES))
        lines = file.read(MOST_BYTES).decode(errors="backslashreplace").splitlines()
    is_cut = size > MOST_BYTES
    return [_message(line) for line in reversed(lines[is_cut:])], is_cut


def _message(line: str) -> Message:
    fields = line.split("|", 4)
    if len(fields) == 5 and fields[3] in _LEVELS:
        return Message(fields[0], fields[1].strip(), fields[3], fields[4])
    return Message("", "", "", line)


def hosts_here(cell: Cell) -> list[str]:
    """Exec hosts whose spool directories are on this host, or are shared with it."""
    try:
        return sorted(entry.name for entry in cell.execd_spool_dir.iterdir() if (entry / "messages").exists())
    except OSError:
        return []


def may_read(path: Path, user: str, uid: int, gid: int) -> bool:
    """Whether the permissions of a file, and of the directories to it, let this user of this host read it. Raises OSError."""
    if uid == 0:
        return True
    try:
        groups = {gid, *os.getgrouplist(user, pwd.getpwuid(uid).pw_gid)}
    except KeyError:
        groups = {gid}
    place = path.resolve()
    ways = (_bits(each.stat(), uid, groups) & 0o1 for each in place.parents)
    return all(ways) and bool(_bits(place.stat(), uid, groups) & 0o4)


def _bits(status: os.stat_result, uid: int, groups: set[int]) -> int:
    """The permission bits that count for a user."""
    mode = stat.S_IMODE(status.st_mode)
    return (mode >> 6 if status.st_uid == uid else mode >> 3 if status.st_gid in groups else mode) & 0o7
