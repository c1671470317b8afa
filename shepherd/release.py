"""The release that a shepherd was loaded from stays on disk for as long as it runs, though hosts may have a newer one by then.

Owns that one lock. Called by `guardian`. Source: docs/adr/0149.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


def hold_release() -> None:
    """Hold the lock of this release until this process ends; nothing in a checkout, which has none."""
    with suppress(OSError):  # a disk that does not answer keeps no job from running
        fcntl.flock(os.open(Path(__file__).resolve().parents[2] / "lock", os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH)
