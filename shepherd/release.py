"""Lock on the release from which a shepherd was loaded: the release stays on disk while the shepherd runs, though the host
may have a newer release by then.

Owns that one lock. Called by `shepherd_process`. Source: docs/adr/0149.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gridengine.files.release_lock import lock_release_shared


def hold_release() -> list[int]:
    """Hold the lock of this release until this process ends, and return its descriptor; none in a checkout, which has no lock."""
    held = []
    with suppress(OSError):  # a disk that does not answer keeps no job from running
        held.append(os.open(Path(__file__).resolve().parents[2] / "lock", os.O_RDONLY | os.O_CLOEXEC))
        lock_release_shared(held[0])
    return held
