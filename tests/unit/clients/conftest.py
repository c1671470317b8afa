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


@pytest.fixture
def busy(shell: Shell, cell: Cell) -> Shell:
    """Job 1 alone on h1, array 2 on h2, parallel job 3 on h3 and h2, job 4 held, array 5 pending."""
    shell("qsub -b y -N hello -q all.q@h1 sleep 10")
    shell("qsub -t 1-5:4 -b y -N arr -q all.q@h2 sleep 20")
    cell.cycle()
    shell("qsub -pe mpi 5 -l h_rt=100 -soft -l mem_free=1G -hard -b y -masterq all.q@h3 -q all.q@h3,all.q@h2 sleep 3")
    cell.cycle()
    shell("qsub -h -b y -N held_job_of_long_name true a 'b c'")
    shell("qsub -t 1-9:2 -h -b y -N waits true")
    cell.state.priorities = {1: (0.25, 0.5, 0.0, 0.5), 2: (0.25, 0.5, 0.0, 0.5), 3: (0.75, 0.5, 1.0, 0.5)}
    return shell
