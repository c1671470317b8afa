"""Writing a new file. Called by the modules that make cells and hosts."""

from __future__ import annotations

import os
from pathlib import Path


def write_new(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a new file that never has more permissions than `mode`, independent of the umask. Raises OSError, also if it exists.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        os.fchmod(descriptor, mode)
