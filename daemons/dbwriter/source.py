"""A file that grows and is rotated, read on from where a reader was: whole lines, each once.

Owns which file a position means. A file is known by its first record, whatever name it has by now, and packed with gzip or not;
so a rotated one is read to its end before the next. Called by the writer and the import. Source: DB-12.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

CHUNK_BYTES = 2**21
"""What is read at once; a longer line is read whole."""
_LONGEST = 2**26
"""Bytes of a line that is nobody's: it is given up, not held in memory."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a reader is. `file`: which one, "" for none yet; `offset`: bytes; `line`: lines before it."""

    file: str = ""
    offset: int = 0
    line: int = 0
    time: float = 0.0
    """Epoch seconds when it was there."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines as they follow, without their ends, and the position behind them. `gap`: what is gone unread, "" for nothing."""

    lines: list[bytes]
    position: Position
    gap: str = ""


class Source:
    """The file `path` and what it was rotated to: files beside it whose names begin with its name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, position: Position) -> Chunk:
        """What follows a position; no lines, when there is nothing yet. Raises OSError."""
        files = self._files()
        if not files:
            return Chunk([], position)
        identities = {file: _identity(file) for file in files}
        current = next((file for file in files if position.file and identities[file] == position.file), None)
        if current is None:
            return self._begin(position, files, identities)
        # looked for before the end is read: what follows in the older file is there by now
        newer = next((file for file in files[files.index(current) + 1 :] if identities[file]), None)
        lines, offset = _lines(current, position.offset)
        if lines or newer is None:
            return Chunk(lines, replace(position, offset=offset, line=position.line + len(lines)))
        return self.read(Position(identities[newer], 0, 0, position.time))

    def behind(self, position: Position) -> int:
        """Bytes of the newest file that are still to be read; packed and older ones do not count."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return 0
        return max(0, size - position.offset) if _identity(self.path) == position.file else size

    def _begin(self, position: Position, files: list[Path], identities: dict[Path, str]) -> Chunk:
        """Of a new reader, the newest file; of one whose file is gone, the oldest that is newer than its last reading."""
        if not position.file:
            first = files[-1]
            gap = ""
        else:
            later = [file for file in files if file.stat().st_mtime >= position.time and identities[file]]
            first = later[0] if later else files[-1]
            gap = f"the file of which line {position.line} was read last is gone: lines behind it, if there were any, are lost"
        if not identities[first]:
            return Chunk([], position)
        lines, offset = _lines(first, 0)
        return Chunk(lines, Position(identities[first], offset, len(lines), position.time), gap)

    def _files(self) -> list[Path]:
        """The file and what it was rotated to, oldest first."""
        others = [
            file for file in self.path.parent.glob(self.path.name + "[.-]*") if file.is_file() and not file.name.endswith(".tmp")
        ]
        others.sort(key=lambda file: file.stat().st_mtime)
        return [*others, self.path] if self.path.is_file() else others


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path))
    return path.open("rb")


def _identity(path: Path) -> str:
    """What tells a file by its first record; "" while it has none that is whole."""
    try:
        with _open(path) as file:
            for raw in iter(lambda: file.readline(CHUNK_BYTES), b""):
                if not raw.startswith(b"#") and raw.strip():
                    return hashlib.sha256(raw).hexdigest()[:32] if raw.endswith(b"\n") else ""
    except (OSError, EOFError):  # it was taken away, or is just being packed
        pass
    return ""


def _lines(path: Path, offset: int) -> tuple[list[bytes], int]:
    """The whole lines behind an offset, of some CHUNK_BYTES, and the offset behind them."""
    with _open(path) as file:
        file.seek(offset)
        data = file.read(CHUNK_BYTES)
        while data and b"\n" not in data and len(data) < _LONGEST and (more := file.read(CHUNK_BYTES)):
            data += more
    if len(data) >= _LONGEST and b"\n" not in data:
        return [data[:1000]], offset + len(data)
    whole = data[: data.rfind(b"\n") + 1]
    return whole.split(b"\n")[:-1], offset + len(whole)
