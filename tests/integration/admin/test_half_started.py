"""Messages of `gridengine` about a partly running cell: the truth, without a traceback, and with the same exit codes."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.cells import DemoCell, Done, eventually

pytestmark = pytest.mark.usefixtures("launchers")

#: what an end by force, a full disk or another program may leave in pid files: of the qmaster and of the execd
LEFT = {
    "a process that is gone": (b"999999 12345 0.1\n", b"999998 1 0.1\n"),
    "another process of that number": (f"{os.getpid()} 1\n".encode(), f"{os.getpid()} 1 0.1\n".encode()),
    "nothing, and a word": (b"", b"ending\n"),
    "what is no text, and no number": (b"\xff\xfe\0", b"-1 x y z\n"),
    "a number beyond all": (b"99999999999999999999999 1\n", b"0 0\n"),
}


@pytest.fixture
def new_cell() -> Iterator[DemoCell]:
    cell = DemoCell()
    yield cell
    cell.remove()


class Look:
    """Calls each program of a cell, and checks the rules that hold in every state."""

    def __init__(self, cell: DemoCell) -> None:
        self._cell = cell
        self.qmaster = cell.place / "spool" / "qmaster" / "qmaster.pid"
        self.execd = cell.place / "spool" / "execd" / cell.host / "execd.pid"

    def __call__(self, *command: str) -> Done:
        done = self._cell.command("gridengine", *command)
        assert "Traceback" not in done.stdout + done.stderr and "internal error" not in done.stderr, done
        return done

    def status(self, qmaster: bool, execd: bool) -> str:
        done = self("status")
        runs = {line.split()[0]: "runs, pid" in line for line in done.stdout.splitlines() if line.startswith("sge_")}
        assert runs == {"sge_qmaster": qmaster, "sge_execd": execd}, done
        assert done.returncode == (0 if qmaster and execd else 1), done
        return done.stdout

    def kill(self, pid_file: Path) -> None:
        pid = int(pid_file.read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        eventually("it is dead", lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.statement("GC-5", "GC-6")
def test_a_cell_of_which_a_part_runs(new_cell: DemoCell) -> None:
    cell, look = new_cell, Look(new_cell)
    for directory in (look.qmaster.parent, look.execd.parent, cell.place / "run"):
        directory.mkdir(parents=True, exist_ok=True)
    for name in ("gdi.sock", "gateway.sock"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(cell.place / "run" / name))
    for of_qmaster, of_execd in LEFT.values():
        look.qmaster.write_bytes(of_qmaster)
        look.execd.write_bytes(of_execd)
        look.status(qmaster=False, execd=False)
    stopped = look("stop")
    assert (stopped.returncode, stopped.stdout) == (0, "no daemon of this cell runs on this machine\n")
    asked = look("uninstall")
    assert (asked.returncode, "runs " in asked.stdout) == (1, False) and "nothing was changed" in asked.stderr

    cell.start()
    look.status(qmaster=True, execd=True)
    look.kill(look.execd)
    look.status(qmaster=True, execd=False)
    cell.start()
    look.kill(look.qmaster)
    assert f"{cell.host} waits for the master host node0, which does not answer" in look.status(qmaster=False, execd=True)
    seen = look("doctor")
    assert seen.returncode == 1 and "WRONG  sge_qmaster (node0) does not run" in seen.stdout
    assert f"ok     sge_execd ({cell.host}) runs" in seen.stdout
    assert "qconf -sss says: error: " in seen.stdout
    asked = look("uninstall", "--yes")
    assert asked.returncode == 1 and f"runs     sge_execd ({cell.host})" in asked.stdout and cell.common.exists()
    stopped = look("stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"stopped sge_execd ({cell.host})\n")
    look.status(qmaster=False, execd=False)
