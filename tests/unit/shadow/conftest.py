"""Fixtures of the tests of shadows: a cell whose commits are recorded, and a copy of its spool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons.qmaster.shadow.spool_copy import SpoolCopy
from tests.unit.shadow.followed_cell import CELL_ID, FollowedCell


@pytest.fixture
def cell(tmp_path: Path) -> FollowedCell:
    (tmp_path / "master").mkdir()
    return FollowedCell(tmp_path / "master")


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[SpoolCopy]:
    copy = SpoolCopy(tmp_path / "shadow", CELL_ID)
    yield copy
    if (db := copy._db) is not None:
        db.close()
