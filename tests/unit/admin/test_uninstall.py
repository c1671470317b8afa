"""Treatment by `gridengine uninstall` of tasks that run on the host: the cell may not know the host any more."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from clients.admin import uninstall as uninstalling
from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.errors import AdminError
from clients.admin.local_daemons import LocalDaemon
from clients.admin.uninstall import uninstall


class Shepherd:
    """A process that ends its task when it is told to, if it `obeys`."""

    pid = 7

    def __init__(self, task: Path, obeys: bool) -> None:
        self.task, self.obeys = task, obeys

    def send_signal(self, number: int) -> None:
        assert number == signal.SIGRTMIN
        if self.obeys and (self.task / "commands").read_text() == "kill\n":
            (self.task / "exit").write_text("{}")


@pytest.fixture
def shepherd(tmp_path: Path) -> Shepherd:
    return Shepherd(tmp_path / "spool" / "execd" / "h1" / "active_jobs" / "1.1", obeys=True)


@pytest.fixture
def cell(shepherd: Shepherd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledCell:
    """A cell on whose host task 1.1 runs."""
    task = shepherd.task
    task.mkdir(parents=True)
    (tmp_path / "c" / "common").mkdir(parents=True)

    def process_of(daemon: LocalDaemon) -> Shepherd | None:
        return shepherd if daemon.pid_file == task / "pid" else None

    monkeypatch.setattr(uninstalling, "process_of", process_of)
    monkeypatch.setattr(uninstalling, "daemons_of_this_machine", lambda cell: [])
    monkeypatch.setattr(uninstalling, "is_master_here", lambda cell: False)
    monkeypatch.setattr(uninstalling, "units_of", lambda files: [])
    monkeypatch.setattr(uninstalling, "STOP_S", 0.0)
    settings = {
        "qmaster_spool_dir": str(tmp_path / "spool" / "qmaster"),
        "execd_spool_dir": str(tmp_path / "spool" / "execd"),
        "run_dir": str(tmp_path / "run"),
    }
    return InstalledCell(CellFiles(tmp_path, "c"), settings, "m")


def test_tasks_are_named_and_ended_with_their_spool(
    cell: InstalledCell, shepherd: Shepherd, capsys: pytest.CaptureFixture[str]
) -> None:
    uninstall(cell, yes=True, end=True, purge=True)
    assert "ends     task 1.1" in capsys.readouterr().out
    assert not shepherd.task.exists()


@pytest.mark.parametrize(("end", "purge"), [(False, False), (True, False), (False, True)])
def test_tasks_keep_a_cell_otherwise_and_the_refusal_names_the_way_to_end_them(
    cell: InstalledCell, shepherd: Shepherd, end: bool, purge: bool
) -> None:
    with pytest.raises(AdminError, match="--stop --purge ends them"):
        uninstall(cell, yes=True, end=end, purge=purge)
    assert not (shepherd.task / "commands").exists()


def test_nothing_is_removed_of_a_task_that_does_not_end(cell: InstalledCell, shepherd: Shepherd) -> None:
    shepherd.obeys = False
    with pytest.raises(AdminError, match="task 1.1 does not end"):
        uninstall(cell, yes=True, end=True, purge=True)
    assert shepherd.task.exists()


def test_a_task_that_is_over_keeps_nothing(cell: InstalledCell, shepherd: Shepherd) -> None:
    """Its shepherd waits for another task."""
    (shepherd.task / "exit").write_text("{}")
    uninstall(cell, yes=True, end=True, purge=False)
