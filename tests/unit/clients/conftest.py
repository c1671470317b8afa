"""Fixtures of the clients' unit tests: a cell in this process and a shell that runs commands against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


@pytest.fixture
def shell(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shell:
    monkeypatch.setenv("TZ", "UTC")
    return Shell(cell, tmp_path, monkeypatch, capsys)
