"""A directory of small files that goes to another host as a whole: read here, put in the place of the old one there.

Owns which files that are, and that the tree is never half of each. Its files and directories are for their owner alone. Called by
the sender (`serve.replica_sender`) and by `shadow.replica_endpoint`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

_CLOSED, _CLOSED_DIRECTORY = 0o600, 0o700


def read_tree(directory: Path) -> dict[str, bytes]:
    """Its plain files by their path within it; one that goes meanwhile is left out. Raises OSError."""
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
    """Have exactly these files in it. Raises ValueError for a path that leads out of it, OSError."""
    draft, old = (directory.with_name(f".{directory.name}.{word}") for word in ("new", "old"))
    if not directory.exists() and old.exists():
        old.rename(directory)  # an earlier try ended between its two renames
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
        with open(os.open(draft / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _CLOSED), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    if directory.exists():
        directory.rename(old)
    draft.rename(directory)
    shutil.rmtree(old, ignore_errors=True)
