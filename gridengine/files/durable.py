"""Writes files whole or not at all: a reader sees the old content or the new content, never a part.

Owns the order of the steps: a draft in the same directory, its data on the disk, its name, the name on the disk. Called by
daemons, shepherds and `gridengine`. Imports nothing but `os` and paths. Source: fsync(2), rename(2).
"""

from __future__ import annotations

import os
from pathlib import Path


def durable_write(path: Path, data: bytes, mode: int = 0o600, *, owner: tuple[int, int] | None = None, writer: str = "") -> None:
    """Replace a file by rename; data and name are on the disk when this returns. Raises OSError.

    After an error the file has its old content, unless only the last step, the sync of the directory, has failed.
    `mode`: the permissions, independent of the umask. `owner`: user and group of the new file, by default those of this process.
    `writer`: name for the draft, which distinguishes processes that may write the file at the same time.
    """
    draft = path.with_name(f".{path.name}.{writer}" if writer else f".{path.name}")
    write_new(draft, data, mode, owner=owner, durable=True)
    draft.rename(path)
    sync_directory(path.parent)


def atomic_write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file by rename, for data that a host may lose with its power: nothing waits for the disk. Raises OSError."""
    draft = path.with_name(f".{path.name}")
    write_new(draft, data, mode)
    draft.rename(path)


def write_new(path: Path, data: bytes, mode: int, *, owner: tuple[int, int] | None = None, durable: bool = False) -> None:
    """Write a new file in place of an existing file. No other user may read it before it is whole. Raises OSError.

    `mode`: the permissions, independent of the umask. `durable`: the data is on the disk when this returns.
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        if owner is not None:
            os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
        if durable:
            os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Sync the names in a directory to the disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
