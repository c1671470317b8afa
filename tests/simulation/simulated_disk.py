"""A disk below SQLite that is full, fails, or loses unsynced data.

Defines a VFS over real files: it keeps the writes since the last sync, so that a power failure can undo any of them, in whole
or in part; and it ends its process before any chosen write, so that a process can die in the middle of a commit. Files of a
dead process take nothing any more. Must know nothing of the spool. Called by the simulation. Source:
https://www.sqlite.org/atomiccommit.html, 2.0.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


@dataclass
class Disk:
    """Of one host. `full`: nothing can be written. `writes_left`: how many writes and syncs come before `dies()` is called
    instead of the next, -1 for no end. `writes`, `syncs`: how many there were."""

    random: random.Random
    full: bool = False
    writes_left: int = -1
    dies: Callable[[], None] = lambda: None
    writes: int = 0
    syncs: int = 0
    _life: int = 0
    _unsynced: dict[str, list[tuple[int, bytes, bytes]]] = field(default_factory=dict)
    _synced_texts: dict[Path, int] = field(default_factory=dict)

    def abandon(self) -> None:
        """The process that had the files open is dead; its writes stay."""
        self._life += 1
        self.writes_left = -1

    def lose_power(self, texts: list[Path]) -> None:
        """All, none or half of the unsynced writes are lost. `texts`: files that are only appended to."""
        self.abandon()
        for name, written in self._unsynced.items():
            if os.path.exists(name):
                self._take_back(name, written)
        self._unsynced.clear()
        for text in texts:
            if text.exists():
                size, synced = text.stat().st_size, self._synced_texts.get(text, 0)
                os.truncate(text, self.random.randint(min(synced, size), size))

    def _take_back(self, name: str, written: list[tuple[int, bytes, bytes]]) -> None:
        with open(name, "r+b") as file:
            for offset, before, after in reversed(written):
                file.seek(offset)
                file.write(before)
                if len(before) < len(after):
                    file.truncate(offset + len(before))
            for offset, _, after in written:
                kept = self.random.choice((0, len(after), self.random.randrange(0, len(after) + 1, SECTOR)))
                if kept:
                    file.seek(offset)
                    file.write(after[:kept])

    def synced(self, path: Path) -> None:
        """A file was synced as it is now."""
        self._synced_texts[path] = path.stat().st_size

    # --- what its files ask --------------------------------------------------------------------------------

    @property
    def life(self) -> int:
        return self._life

    def before(self, life: int, *, takes_space: bool) -> None:
        """A file is about to be changed. Raises apsw.Error."""
        if self.writes_left == 0 and life == self._life:
            self.abandon()
            self.dies()
        if life != self._life:
            raise apsw.IOError("its process is dead")
        if self.writes_left > 0:
            self.writes_left -= 1
        if takes_space and self.full:
            raise apsw.FullError("the disk is full")

    def note(self, name: str, offset: int, before: bytes, after: bytes) -> None:
        self.writes += 1
        self._unsynced.setdefault(name, []).append((offset, before, after))

    def sync(self, name: str) -> None:
        self.syncs += 1
        self._unsynced.pop(name, None)


class _File(apsw.VFSFile):
    """`None` for a disk: a file that is not simulated."""

    def __init__(self, name: Any, flags: list[int], disk: Disk | None) -> None:
        super().__init__("unix", name, flags)
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._disk, self._life = disk, disk.life if disk is not None else 0

    def xLock(self, level: int) -> None:
        try:
            super().xLock(level)
        except apsw.IOError:  # opened for reading: SQLite, which asks at the end, takes the one for the other
            raise apsw.BusyError("opened for reading") from None

    def xWrite(self, data: bytes, offset: int) -> None:
        if (disk := self._disk) is not None:
            disk.before(self._life, takes_space=True)
            size = super().xFileSize()
            known = max(0, min(len(data), size - offset))
            disk.note(self._name, offset, super().xRead(known, offset) if known else b"", bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        if (disk := self._disk) is not None:
            disk.before(self._life, takes_space=False)
            disk.sync(self._name)  # what is cut off had been taken over elsewhere
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        if (disk := self._disk) is not None:
            disk.before(self._life, takes_space=False)
            disk.sync(self._name)
        else:
            super().xSync(flags)


class _Vfs(apsw.VFS):
    """The default VFS while it is there: a file opened below `place` is on `disk`."""

    def __init__(self, place: Path, disk: Disk) -> None:
        super().__init__("simulated", "unix", makedefault=True)
        self._place, self._disk = str(place), disk

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _File(name, flags, self._disk if path is not None and path.startswith(self._place) else None)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        if filename.startswith(self._place):
            self._disk.before(self._disk.life, takes_space=False)
            self._disk.sync(filename)
        super().xDelete(filename, syncdir)


@contextmanager
def simulated(place: Path, disk: Disk) -> Iterator[None]:
    """All that SQLite has below `place` is on this disk."""
    vfs = _Vfs(place, disk)
    try:
        yield
    finally:
        vfs.unregister()
