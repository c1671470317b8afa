"""A cell whose spool is lost, restarted empty and restored: it never starts empty without a request, and running jobs go on."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually, hosts_ready, process_state
from tests.integration.test_jobs import record, state, submit


@pytest.fixture
def cell(launchers: Path) -> Iterator[DemoCell]:
    with DemoCell().running() as made:
        yield made


def running_job(cell: DemoCell, name: str) -> tuple[str, Path]:
    """A job that writes its process id and waits for a file; its number and where the id is."""
    note, script = cell.work / f"{name}.pid", cell.work / f"{name}.sh"
    script.write_text(f"echo $$ > {note}.new; mv {note}.new {note}; while [ ! -e {cell.work}/go ]; do sleep 0.5; done; exit 7\n")
    job = submit(cell, "-N", name, "-b", "y", "-o", "/dev/null", "-j", "y", "/bin/sh", str(script))
    eventually(f"job {name} runs", note.exists)
    return job, note


def start_master(cell: DemoCell, *options: str) -> None:
    """Start the qmaster and wait until the host has sent its inventory."""
    cell.must("gridengine", "start", "--host-name", cell.host, *options)
    eventually("the exec host reports", lambda: hosts_ready(cell.must("qstat", "-f")) == {cell.host})


@pytest.mark.statement("EX-9")
def test_a_lost_spool_costs_no_running_job(cell: DemoCell) -> None:
    spool, doctor = cell.place / "spool" / "qmaster", ("gridengine", "doctor")
    known, note = running_job(cell, "known")
    with closing(sqlite3.connect(spool / "spool.db")) as now, closing(sqlite3.connect(spool / "older.db")) as copy:
        now.backup(copy)
    later, later_note = running_job(cell, "later")
    cell.must("gridengine", "stop")
    assert [path.name for path in spool.glob("spool.db*")] == ["spool.db"], "a clean stop leaves one whole file"
    (spool / "spool.db").rename(spool / "newer.db")

    refused = cell.command("gridengine", "start", "--host-name", cell.host)
    assert refused.returncode == 1
    assert "spool.db is missing, but this cell has run before" in refused.stderr and "--fresh" in refused.stderr
    assert not (spool / "spool.db").exists()

    start_master(cell, "--fresh")
    eventually("both are listed", lambda: cell.command(*doctor).stdout.count("which this cell does not know") == 2)
    assert cell.must("qstat", "-u", "*") == ""
    assert int(submit(cell, "-h", "-b", "y", "true")) > int(later)

    cell.must("gridengine", "stop")
    shutil.copy(spool / "older.db", spool / "spool.db")
    start_master(cell)
    eventually("what it knows is its own again", lambda: state(cell, known) == "r")
    eventually("the other one is listed", lambda: f"task {later}.1 " in cell.command(*doctor).stdout)
    cell.must("qdel", "-f", later)
    eventually("and ended by force", lambda: process_state(later_note.read_text().strip()) in ("", "Z"))

    assert process_state(note.read_text().strip()) not in ("", "Z"), "the job ran on through all of it"
    (cell.work / "go").touch()
    eventually("it ends", lambda: state(cell, known) == "")
    assert record(cell, known)["exit_status"] == "7"
