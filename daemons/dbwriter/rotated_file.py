"""Reading of a file that grows and is rotated: complete lines after a position, each exactly once.

Owns the identity of files in positions. The first record identifies a file, whatever its present name, compressed or not;
so a rotated file is read to its end before the next file. Called by the writer and the import. Source: DB-12.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

CHUNK_BYTES = 2**21
"""Bytes of one read; a longer line is read completely."""
_MAX_LINE_BYTES = 2**26
"""Bytes from which a line without an end is dropped, not held in memory."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position of a reader. `file`: identity of the file, "" for none yet; `offset`: bytes; `line`: lines before it."""

    file: str = ""
    offset: int = 0
    line: int = 0
    time: float = 0.0
    """Epoch seconds when the reader was there."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive `lines` without line ends, and the `position` after them. `gap`: a message about lost lines, or ""."""

    lines: list[bytes]
    position: Position
    gap: str = ""


class RotatedFile:
    """The file `path` and its rotated predecessors: files beside it whose names begin with its name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, position: Position) -> Chunk:
        """The lines after a position, possibly none. Raises OSError."""
        files = self._find_files()
        if not files:
            return Chunk([], position)
        identities = {file: _identity(file) for file in files}
        current = next((file for file in files if position.file and identities[file] == position.file), None)
        if current is None:
            return self._read_first(position, files, identities)
        # the newer file is looked up before the read: so the older file is complete by then
        newer = next((file for file in files[files.index(current) + 1 :] if identities[file]), None)
        lines, offset = _read_lines(current, position.offset)
        if lines or newer is None:
            return Chunk(lines, replace(position, offset=offset, line=position.line + len(lines)))
        return self.read(Position(identities[newer], 0, 0, position.time))

    def unread_bytes(self, position: Position) -> int:
        """Unread bytes of the newest file; compressed and older files do not count."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return 0
        return max(0, size - position.offset) if _identity(self.path) == position.file else size

    def _read_first(self, position: Position, files: list[Path], identities: dict[Path, str]) -> Chunk:
        """Begin a file: the newest file for a new reader; if the reader's file is gone, the oldest file after its last read."""
        if not position.file:
            first = files[-1]
            gap = ""
        else:
            later = [file for file in files if file.stat().st_mtime >= position.time and identities[file]]
            first = later[0] if later else files[-1]
            gap = f"the file of which line {position.line} was read last is gone: later lines of it, if any, are lost"
        if not identities[first]:
            return Chunk([], position)
        lines, offset = _read_lines(first, 0)
        return Chunk(lines, Position(identities[first], offset, len(lines), position.time), gap)

    def _find_files(self) -> list[Path]:
        """The file and its rotated predecessors, oldest first."""
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
    """The identity of a file: a hash of its first record; "" while it has no complete record."""
    try:
        with _open(path) as file:
            for raw in iter(lambda: file.readline(CHUNK_BYTES), b""):
                if not raw.startswith(b"#") and raw.strip():
                    return hashlib.sha256(raw).hexdigest()[:32] if raw.endswith(b"\n") else ""
    except (OSError, EOFError):  # removed meanwhile, or compression is under way
        pass
    return ""


def _read_lines(path: Path, offset: int) -> tuple[list[bytes], int]:
    """The complete lines after an offset, about CHUNK_BYTES, and the offset after them."""
    with _open(path) as file:
        file.seek(offset)
        data = file.read(CHUNK_BYTES)
        while data and b"\n" not in data and len(data) < _MAX_LINE_BYTES and (more := file.read(CHUNK_BYTES)):
            data += more
    if len(data) >= _MAX_LINE_BYTES and b"\n" not in data:
        return [data[:1000]], offset + len(data)
    whole = data[: data.rfind(b"\n") + 1]
    return whole.split(b"\n")[:-1], offset + len(whole)
