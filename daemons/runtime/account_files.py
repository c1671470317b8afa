"""Names of users and groups in /etc/passwd and /etc/group, for hosts whose name service asks these files first.

The C library reads these files for each lookup; `name_service` starts a thread for each lookup as well. Here an unchanged file is
read once. Answers are as new as from the C library, and cost no thread: a local disk does not hang as a directory server may.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

_STABLE_S = 1.0
"""A file that was changed more recently is read again: a further change may get the same time."""
_Content = TypeVar("_Content")


class AccountFiles:
    """The files below `etc`."""

    def __init__(self, etc: Path = Path("/etc")) -> None:
        self._sources = _Parsed(etc / "nsswitch.conf", _first_sources)
        self._users, self._groups = _Parsed(etc / "passwd", _names_by_id), _Parsed(etc / "group", _names_by_id)

    def names(self, uid: int, gid: int) -> tuple[str, str] | None:
        """The names of a user and a group. None: a file lacks the id, or the name service asks another source first."""
        try:
            sources = self._sources.content()
            if sources.get("passwd") != ["files"] or sources.get("group") != ["files"]:
                return None
            user, group = self._users.content().get(uid), self._groups.content().get(gid)
        except OSError:
            return None
        return None if user is None or group is None else (user, group)


class _Parsed(Generic[_Content]):
    """The parsed content of a file, parsed again when the file has changed."""

    def __init__(self, path: Path, parse: Callable[[str], _Content]) -> None:
        self._path, self._parse = path, parse
        self._known: tuple[tuple[int, ...], _Content] | None = None

    def content(self) -> _Content:
        """Raises OSError."""
        if self._known is not None and self._known[0] == _state(os.stat(self._path)):
            return self._known[1]
        with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
            status = os.fstat(file.fileno())
            content = self._parse(file.read())
        is_stable = time.time() - status.st_mtime > _STABLE_S
        self._known = (_state(status), content) if is_stable else None
        return content


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _first_sources(text: str) -> dict[str, list[str]]:
    """The first source of each database, with its action: {"passwd": ["files"], "group": ["files", "[SUCCESS=merge]"]}."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        database, colon, sources = line.partition("#")[0].partition(":")
        names = sources.split()
        if colon and names:
            found[database.strip()] = names[: 2 if names[1:] and names[1].startswith("[") else 1]
    return found


def _names_by_id(text: str) -> dict[int, str]:
    """The third field of each line -> the first field. Of two lines with one id the first line counts."""
    names: dict[int, str] = {}
    for line in text.split("\n"):
        fields = line.split(":")
        if len(fields) > 2 and fields[2].isdecimal() and not line.startswith(("#", "+", "-")):
            names.setdefault(int(fields[2]), fields[0])
    return names
