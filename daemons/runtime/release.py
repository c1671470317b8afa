"""Which release a daemon is of, and which one the next start on this host would be of.

Owns the reading of `release.json` for daemons, and the lock that keeps a release on disk while one of its daemons runs. The
releases themselves are `make install`'s. Source: docs/adr/0149.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from gridengine.release_lock import share_release

CHECKOUT = "checkout"
"""Name of what runs without an installation."""
_DIRECTORY = Path(__file__).resolve().parents[3]


def own_release() -> str:
    """The name of the release that this process was loaded from."""
    return _name_of(_DIRECTORY)


def installed_release(program: str) -> str:
    """The name of the release that `program`, a path as it was started by, belongs to by now."""
    return _name_of(Path(program).resolve().parents[1])


@cache
def ray_version() -> str:
    """What the nodes of one Ray cluster must have alike, read without loading Ray; once, for each hello of each host asks."""
    from importlib import metadata  # late: the daemon serves before it says hello

    return f"Ray {metadata.version('ray')} on Python {sys.version_info.major}.{sys.version_info.minor}"


def hold_release() -> None:
    """Hold the lock of this release until this process ends; nothing in a checkout, which has none."""
    with suppress(OSError):  # a file system that knows no locks is no reason not to serve
        share_release(os.open(_DIRECTORY / "lock", os.O_RDONLY | os.O_CLOEXEC))


def _name_of(directory: Path) -> str:
    return directory.name if (directory / "release.json").exists() else CHECKOUT
