"""Fixtures of the tests of processes that the qmaster starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def groups_of_root() -> Iterator[None]:
    """Supplementary groups as a login as root has them, which no other user's process may keep."""
    before = os.getgroups()
    os.setgroups([0, 4, 6])
    yield
    os.setgroups(before)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str, interpreter: str = "/bin/sh") -> Path:
        path = tmp_path / "verifier"
        path.write_text(f"#!{interpreter}\n{text}")
        path.chmod(0o755)
        return path

    return write
