"""The umask for the files of a cell, which all users read, also if the umask of the administrator is stricter.

Secret files have modes of their own. Called by what makes directories and files of a cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def readable_by_all() -> Iterator[None]:
    """Let all users read what is made meanwhile, unless its mode is given."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)
