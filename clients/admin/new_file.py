"""Writing a file that is not there yet. Called by what makes cells and hosts of them."""

from __future__ import annotations

import os
from pathlib import Path


def write_new(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a new file that never has more rights than `mode`, whatever the umask is. Raises OSError: also where it is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        os.fchmod(descriptor, mode)
