"""Advance reservations as qconf and qstat meet them: guarded changes, the number in a job's details."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.clients.shell import Shell
from tests.unit.reservations.conftest import ReservingCell


@pytest.fixture
def shell(cell: ReservingCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shell:
    monkeypatch.setenv("TZ", "UTC")
    return Shell(cell, tmp_path, monkeypatch, capsys)


@pytest.mark.statement("QF-40", "QF-11", "QF-20", "HG-8", "GD-11")
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("-mattr queue slots 1 all.q@h1", "slots"),
        ("-rattr queue slots 1 all.q", "slots"),
        ("-mqattr slots 1 all.q", "slots"),
        ("-dattr queue pe_list smp all.q", "smp"),
        ("-dp smp", "smp"),
        ("-dq all.q", "all.q"),
        ("-de h1", "h1"),
    ],
)
def test_objects_of_a_reservation_stay_until_its_deletion(shell: Shell, cell: ReservingCell, options: str, what: str) -> None:
    number = cell.qrsub(pe="smp", pe_range="3", hard_queues=["all.q@h1"])
    before = {kind: dict(cell.state.kind(kind)) for kind in ("cluster_queue", "parallel_environment", "exec_host")}
    outcome = shell.as_root(f"qconf {options}")
    assert (outcome.out, outcome.status) == ("", 1)
    assert what in outcome.err
    assert {kind: cell.state.kind(kind) for kind in before} == before
    assert cell.ar(number).granted, "it is shown, and still there"


@pytest.mark.statement("ST-19", "GD-11")
def test_a_job_shows_its_reservation(shell: Shell, cell: ReservingCell) -> None:
    number = cell.qrsub(hard_queues=["all.q@h1"])
    shell(f"qsub -ar {number} -b y sleep 9")
    shell("qsub -b y sleep 9")
    shown = [line.split() for line in shell("qstat -j 1").lines]
    assert ["ar_id:", str(number)] in shown
    assert not any(line.startswith("ar_id") for line in shell("qstat -j 2").lines)
    assert cell.ask("delete_reservations", targets=[str(number)]).status == 0
