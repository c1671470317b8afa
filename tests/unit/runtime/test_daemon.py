"""Pid files and the environment of children."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from daemons.runtime.cell import CellError, read_cell
from daemons.runtime.daemon import DaemonError, PidFile, announce_end, is_ending, module_environment, start_ticks
from daemons.runtime.ray_node import RayNodeError, head_spec, ray_environment, worker_spec

TOP = Path(__file__).parents[3]


def test_a_second_daemon_with_the_same_pid_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pid"
    first = PidFile(path, "sge_x")
    assert path.read_text() == f"{os.getpid()} {start_ticks(os.getpid())} checkout\n"
    with pytest.raises(DaemonError, match=f"sge_x runs already, as process {os.getpid()} "):
        PidFile(path, "sge_x")
    first.release()
    assert path.read_text() == ""
    PidFile(path, "sge_x").release()


def test_a_reader_of_the_pid_file_cannot_block_a_daemon(tmp_path: Path) -> None:
    """flock(2) needs no write permission: the locked file must be one that no other user can open."""
    path = tmp_path / "x.pid"
    PidFile(path, "sge_x").release()
    with path.open() as another_users:
        fcntl.flock(another_users, fcntl.LOCK_EX)
        daemon = PidFile(path, "sge_x", patience_s=-1)
    assert [stat.filemode(each.stat().st_mode) for each in daemon.files] == ["-rw-r--r--", "-rw-------"]
    daemon.release()


def test_a_daemon_of_a_release_without_lock_files_is_known_by_its_pid_file(tmp_path: Path) -> None:
    path, parent = tmp_path / "x.pid", os.getppid()
    path.write_text(f"{parent} {start_ticks(parent)} 0.1.0-1\n")
    with pytest.raises(DaemonError, match=f"sge_x runs already, as process {parent} "):
        PidFile(path, "sge_x")
    path.write_text(f"{parent} {start_ticks(parent) + 1} 0.1.0-1\n")  # its number is another process's by now
    PidFile(path, "sge_x").release()


def test_a_successor_waits_for_a_daemon_that_got_its_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pid"
    first = PidFile(path, "sge_x")
    assert not is_ending(path) and not is_ending(path.with_name("none"))
    assert announce_end(path) == os.getpid() and is_ending(path)
    assert path.read_text().split()[2:] == ["ending"]
    with pytest.raises(DaemonError, match=f"sge_x has not ended yet, as process {os.getpid()} "):
        PidFile(path, "sge_x", patience_s=-1)
    monkeypatch.setattr("daemons.runtime.daemon.time.sleep", lambda _: first.release())
    second = PidFile(path, "sge_x")
    assert path.read_text() == f"{os.getpid()} {start_ticks(os.getpid())} checkout\n"
    second.release()


def test_children_find_our_modules_and_no_others() -> None:
    of_another_user = dict.fromkeys(("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONWARNINGS"), "/home/alice")
    assert module_environment({**of_another_user, "LANG": "C"}) == {"LANG": "C", "PYTHONPATH": str(TOP)}


@pytest.fixture
def cell_root(tmp_path: Path) -> Path:
    common = tmp_path / "c" / "common"
    common.mkdir(parents=True)
    for name in ("c/common/tls.crt", "q/keys/tls.crt", "q/keys/tls.key", "run/ray/qmaster.token"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (common / "host_aliases").write_text("h1 localhost\n")
    (common / "bootstrap").write_text(
        f"admin_user root\nqmaster_spool_dir {tmp_path}/q\nexecd_spool_dir /e\nrun_dir {tmp_path}/run\n"
        "qmaster_port 1\nray_port 2\n"
    )
    return tmp_path


def test_ray_always_runs_with_token_and_keys(cell_root: Path) -> None:
    cell = read_cell({"SGE_ROOT": str(cell_root), "SGE_CELL": "c"})
    spec = head_spec(cell, "h1")
    environment = ray_environment(cell, spec, {"RAY_ADDRESS": "evil", "HOME": "/h", "RAY_USE_TLS": "0"})
    assert (environment["RAY_AUTH_MODE"], environment["RAY_USE_TLS"]) == ("token", "1")
    assert environment["RAY_AUTH_TOKEN_PATH"] == str(cell_root / "run/ray/qmaster.token")
    assert environment["RAY_TLS_SERVER_KEY"] == str(cell_root / "q/keys/tls.key")
    assert environment["RAY_TLS_CA_CERT"] == str(cell.common / "tls.crt")
    assert "RAY_ADDRESS" not in environment and environment["HOME"] == "/h"


@pytest.mark.parametrize("missing", ["q/keys/tls.crt", "q/keys/tls.key", "c/common/tls.crt", "run/ray/qmaster.token"])
def test_ray_never_runs_without_them(cell_root: Path, missing: str) -> None:
    cell = read_cell({"SGE_ROOT": str(cell_root), "SGE_CELL": "c"})
    (cell_root / missing).unlink()
    with pytest.raises(CellError, match=f"cannot read .*{missing}: No such file"):
        ray_environment(cell, head_spec(cell, "h1"))


def test_nodes_of_one_machine_have_their_own_places(cell_root: Path) -> None:
    cell = read_cell({"SGE_ROOT": str(cell_root), "SGE_CELL": "c"})
    head, worker = head_spec(cell, "h1"), worker_spec(cell, "h1", "127.0.0.1:2")
    assert (head.port, head.resources, head.directory) == (2, {"qmaster": 1.0}, f"{cell_root}/run/ray/qmaster")
    assert (worker.head, worker.resources, worker.directory) == ("127.0.0.1:2", {"host-h1": 1.0}, f"{cell_root}/run/ray/h-h1")
    with pytest.raises(RayNodeError, match="too long"):
        worker_spec(cell, "h" * 100, "127.0.0.1:2")
