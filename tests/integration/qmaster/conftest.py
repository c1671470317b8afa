"""Fixtures of the tests of what the qmaster starts."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture
def groups_of_root() -> Iterator[None]:
    """Supplementary groups as a login as root has them, which no other user's process may keep."""
    before = os.getgroups()
    os.setgroups([0, 4, 6])
    yield
    os.setgroups(before)
