"""A directory of small files that is copied as a whole, also to another host: read, or exchanged for the old directory.

Owns the selection of files, and the exchange: the tree is never half old, half new. Only the owner may read its files and
directories. Called by the daemons that replicate the spool, and for the keys of a host.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from gridengine.files.durable import sync_directory, write_new

_CLOSED_DIRECTORY = 0o700


def read_tree(directory: Path) -> dict[str, bytes]:
    """The plain files of a directory by their relative path, without files that vanish meanwhile. Raises OSError."""
    found = {}
    for root, _, names in sorted(os.walk(directory)):
        for path in (Path(root, name) for name in sorted(names)):
            try:
                if path.is_file() and not path.is_symlink():
                    found[path.relative_to(directory).as_posix()] = path.read_bytes()
            except FileNotFoundError:
                continue
    return found


def replace_tree(directory: Path, files: Mapping[str, bytes]) -> None:
    """Make these files the exact content of a directory. Raises ValueError for a path that leads out of it, OSError."""
    draft, old = (directory.with_name(f".{directory.name}.{suffix}") for suffix in ("new", "old"))
    if not directory.exists() and old.exists():
        old.rename(directory)  # an earlier attempt ended between its two renames
    if directory.exists() and read_tree(directory) == files:
        return
    for leftover in (draft, old):
        shutil.rmtree(leftover, ignore_errors=True)
    draft.mkdir(mode=_CLOSED_DIRECTORY, parents=True)
    for name, data in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts:
            raise ValueError(f'"{name}" is no path within {directory}')
        for parent in reversed(path.parents[:-1]):
            (draft / parent).mkdir(mode=_CLOSED_DIRECTORY, exist_ok=True)
        write_new(draft / path, data, 0o600, durable=True)
    for written, _, _ in os.walk(draft):
        sync_directory(Path(written))
    if directory.exists():
        directory.rename(old)
    draft.rename(directory)
    sync_directory(directory.parent)
    shutil.rmtree(old, ignore_errors=True)
