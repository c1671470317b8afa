"""Fixtures of the qmaster's unit tests: a cell in this process (`tests.harness`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)
