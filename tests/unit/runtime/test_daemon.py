"""Pid files and the environment of children."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemons.runtime.cell import read_cell
from daemons.runtime.daemon import DaemonFault, PidFile, announce_end, module_environment, start_ticks
from daemons.runtime.ray_node import RayNodeFault, head_spec, ray_environment, worker_spec

TOP = Path(__file__).parents[3]


def test_one_daemon_only(tmp_path: Path) -> None:
    path = tmp_path / "x.pid"
    first = PidFile(path, "sge_x")
    assert path.read_text() == f"{os.getpid()} {start_ticks(os.getpid())}\n"
    with pytest.raises(DaemonFault, match=f"sge_x runs already, as process {os.getpid()} "):
        PidFile(path, "sge_x")
    first.release()
    assert path.read_text() == ""
    PidFile(path, "sge_x").release()


def test_a_successor_waits_for_a_daemon_that_was_told_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pid"
    first = PidFile(path, "sge_x")
    assert announce_end(path) == os.getpid()
    with pytest.raises(DaemonFault, match=f"sge_x has not ended yet, as process {os.getpid()} "):
        PidFile(path, "sge_x", patience_s=-1)
    monkeypatch.setattr("daemons.runtime.daemon.time.sleep", lambda _: first.release())
    second = PidFile(path, "sge_x")
    assert path.read_text() == f"{os.getpid()} {start_ticks(os.getpid())}\n"
    second.release()


def test_children_find_our_modules() -> None:
    assert module_environment({"PYTHONPATH": "/x"})["PYTHONPATH"] == f"{TOP}:/x"


@pytest.fixture
def cell_root(tmp_path: Path) -> Path:
    common = tmp_path / "c" / "common"
    (common / "secrets").mkdir(parents=True)
    (common / "secrets" / "ray_token").write_text("t\n")
    (common / "host_aliases").write_text("h1 localhost\n")
    (common / "bootstrap").write_text(
        "admin_user root\nqmaster_spool_dir /q\nexecd_spool_dir /e\nrun_dir /run/x\nqmaster_port 1\nray_port 2\n"
    )
    return tmp_path


def test_ray_always_runs_with_the_token(cell_root: Path) -> None:
    cell = read_cell({"SGE_ROOT": str(cell_root), "SGE_CELL": "c"})
    environment = ray_environment(cell, {"RAY_ADDRESS": "evil", "HOME": "/h"})
    assert environment["RAY_AUTH_MODE"] == "token"
    assert environment["RAY_AUTH_TOKEN_PATH"] == str(cell.secrets / "ray_token")
    assert "RAY_ADDRESS" not in environment and environment["HOME"] == "/h"


def test_nodes_of_one_machine_have_their_own_places(cell_root: Path) -> None:
    cell = read_cell({"SGE_ROOT": str(cell_root), "SGE_CELL": "c"})
    head, worker = head_spec(cell, "h1"), worker_spec(cell, "h1", "127.0.0.1:2")
    assert (head.port, head.resources, head.directory) == (2, {"qmaster": 1.0}, "/run/x/ray/qmaster")
    assert (worker.head, worker.resources, worker.directory) == ("127.0.0.1:2", {"host-h1": 1.0}, "/run/x/ray/h-h1")
    with pytest.raises(RayNodeFault, match="too long"):
        worker_spec(cell, "h" * 100, "127.0.0.1:2")
