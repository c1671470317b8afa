"""Fixtures of the web server's unit tests: a cell in this process, with a mirror of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Cell
from tests.unit.web.followed import Followed


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


@pytest.fixture
def followed(cell: Cell) -> Followed:
    return Followed(cell)
