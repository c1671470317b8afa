"""Fixtures of the tests of shadows: a cell whose commits are recorded, and a replica of its spool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons.qmaster.shadow.replica import Replica
from tests.unit.shadow.replicated_cell import CELL_ID, ReplicatedCell


@pytest.fixture
def cell(tmp_path: Path) -> ReplicatedCell:
    (tmp_path / "master").mkdir()
    return ReplicatedCell(tmp_path / "master")


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    replica = Replica(tmp_path / "shadow", CELL_ID)
    yield replica
    if (db := replica._db) is not None:
        db.close()
