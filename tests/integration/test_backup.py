"""The commands of docs/operations.md in a cell with jobs: the cell is saved while it runs, and restored unchanged."""

from __future__ import annotations

import re
import shlex
import shutil
import stat
import sys
import threading

import pytest

from tests.integration.cells import ROOT, DemoCell, eventually, hosts_ready, process_state, run
from tests.integration.test_jobs import record, state, submit
from tests.integration.test_lost_spool import cell, running_job

__all__ = ["cell"]

_SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def commands(section: str) -> list[str]:
    """The commands of a section of the page."""
    sections = dict(_SECTION.findall((ROOT / "docs" / "operations.md").read_text()))
    return re.findall(r"^ {4}(gridengine .+)$", sections[section], re.MULTILINE)


def play(cell: DemoCell, command: str) -> str:
    """Run a command of the page, with this cell's directory and the host name of the machine; return its output."""
    arguments = shlex.split(command.replace("/backup", str(cell.place / "backup")))
    for option, value in (("--root", str(cell.place)), ("--cell", "test")):
        if option in arguments:
            arguments[arguments.index(option) + 1] = value
    if arguments[1] == "start":
        arguments += ["--host-name", cell.host]
    return cell.must(*arguments)


def heard(cell: DemoCell) -> None:
    eventually("the exec host reports", lambda: hosts_ready(cell.must("qstat", "-f")) == {cell.host})


@pytest.mark.statement("BU-1", "BU-2")
def test_the_commands_of_the_page_bring_a_cell_back(cell: DemoCell) -> None:
    (cell.place / "backup").mkdir()
    file = cell.place / "backup" / "cell.tar.gz"
    known, note = running_job(cell, "known")
    waiting = submit(cell, "-h", "-N", "waiting", "-b", "y", "true")
    cell.must("qconf", "-mattr", "queue", "priority", "5", "all.q")
    for command in commands("The configuration as files"):
        play(cell, command)

    [backing_up], [verifying], restoring = commands("Back up"), commands("Verify"), commands("Restore")
    submitting = threading.Thread(target=lambda: [submit(cell, "-h", "-N", "amid", "-b", "y", "true") for _ in range(10)])
    submitting.start()
    text = play(cell, backing_up)
    submitting.join()
    assert re.search(r"^saved \d+ jobs?, 1 queue, .*\n.*cell.tar.gz: [0-9.]+ [KM]B, made and read back in [0-9.]+ s$", text, re.M)
    assert stat.filemode(file.stat().st_mode) == "-rw-------"
    assert [path.name for path in file.parent.glob("cell*")] == ["cell.tar.gz"]
    assert "is whole" in play(cell, verifying)

    later, later_note = running_job(cell, "later")
    cell.must("qconf", "-mattr", "queue", "priority", "7", "all.q")
    refused = cell.command("gridengine", "restore", str(file))
    assert refused.returncode == 1 and "sge_qmaster runs already, as process" in refused.stderr
    for command in restoring:
        play(cell, command)
    heard(cell)
    assert state(cell, known) == "r" and state(cell, waiting) == "hqw" and state(cell, later) == ""
    assert "priority              5" in cell.must("qconf", "-sq", "all.q")
    assert [path.name for path in (cell.place / "spool" / "qmaster").glob("*before-restore*")] != []
    eventually("the stranger is listed", lambda: f"task {later}.1 " in cell.command("gridengine", "doctor").stdout)
    cell.must("qdel", "-f", later)
    eventually("and ended by force", lambda: process_state(later_note.read_text().strip()) in ("", "Z"))

    interrupted(cell, str(file))
    lost_as_a_whole(cell, *commands("The master host is lost"))
    assert state(cell, known) == "r" and state(cell, waiting) == "hqw"
    assert process_state(note.read_text().strip()) not in ("", "Z"), "the job ran on through all of it"
    (cell.work / "go").touch()
    eventually("it ends", lambda: state(cell, known) == "")
    assert record(cell, known)["exit_status"] == "7"
    daily(cell)


def interrupted(cell: DemoCell, file: str) -> None:
    """A restore that is killed amid its renames is completed by the next start."""
    cell.must("gridengine", "stop")
    settings = cell.common / "settings.sh"
    whole = settings.read_text()
    settings.write_text("damaged\n")
    amid = "import os, sys; os.link = lambda *a, **k: os.kill(os.getpid(), 9); sys.argv[0] = 'sge_backup'\n"
    killed = run(
        [sys.executable, "-c", f"{amid}from daemons.qmaster.backup.__main__ import main\nmain()", "restore", file],
        env={**cell.environment, "PYTHONPATH": str(ROOT), "TMPDIR": str(cell.work)},
    )
    assert killed.returncode == -9 and settings.read_text() == "damaged\n"
    assert "completed a restore that was interrupted" in play(cell, "gridengine start")
    assert settings.read_text() == whole
    heard(cell)


def lost_as_a_whole(cell: DemoCell, command: str) -> None:
    """The disk of the master host is lost; the files of the exec host are not."""
    cell.must("gridengine", "stop")
    for lost in (cell.common, cell.place / "spool" / "qmaster"):
        shutil.rmtree(lost)
    assert "next: gridengine start" in play(cell, command)
    play(cell, "gridengine start")
    heard(cell)


def daily(cell: DemoCell) -> None:
    """The daily backups of the qmaster."""
    text = cell.must("sge_backup", "daily")
    [made] = (cell.place / "spool" / "qmaster" / "backups").iterdir()
    assert text.startswith(f"{made}: ") and "is whole" in cell.must("gridengine", "verify", str(made))
