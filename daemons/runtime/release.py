"""The release of a running daemon, and the release that the next start on this host would use.

Owns the reading of `release.json` for daemons, and the lock that keeps a release on disk while one of its daemons runs. The
releases themselves are `make install`'s. Source: docs/adr/0149.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from gridengine.files.release_lock import lock_release_shared

CHECKOUT = "checkout"
"""The release name of a daemon that runs without an installation."""
DIRECTORY = Path(__file__).resolve().parents[3]


def own_release() -> str:
    """The name of the release that this process was loaded from."""
    return _name_of(DIRECTORY)


def installed_release(program: str) -> str:
    """The name of the release that `program`, the path it was started by, belongs to now."""
    return _name_of(Path(program).resolve().parents[1])


@cache
def ray_version() -> str:
    """The versions that all nodes of a Ray cluster must share, read without loading Ray. Cached: every hello needs it."""
    from importlib import metadata  # imported late: the daemon serves before it sends hello

    return f"Ray {metadata.version('ray')} on Python {sys.version_info.major}.{sys.version_info.minor}"


def hold_release() -> None:
    """Hold the lock of this release until this process ends; nothing in a checkout, which has none."""
    with suppress(OSError):  # a file system without locks must not prevent the start
        lock_release_shared(os.open(DIRECTORY / "lock", os.O_RDONLY | os.O_CLOEXEC))


def _name_of(directory: Path) -> str:
    return directory.name if (directory / "release.json").exists() else CHECKOUT
