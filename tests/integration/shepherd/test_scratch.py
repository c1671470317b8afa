"""The scratch directory of a task whose shepherd was killed: removed before the task's end is reported, and no other file."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.integration.shepherd.cell import Cell, Task, wait_for

FILL = """
mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/file && chmod 0 $TMPDIR/a/b $TMPDIR/a
ln -s "$HOME" $TMPDIR/link
touch $HOME/kept $HOME/filled
sleep 1000
"""


def filled(cell: Cell, script: str = FILL) -> tuple[Task, Path]:
    """A running task, and its scratch directory with a file of the job."""
    scratch = cell.tmp / f"{cell._next_id + 1}.1.all.q"
    environment = {"TMPDIR": str(scratch), "PATH": "/usr/bin:/bin", "HOME": str(cell.home)}
    task = cell.task(script, tmpdir=str(scratch), environment=environment)
    task.start()
    task.job_pid()
    wait_for((cell.home / "filled").exists, "the job to fill its scratch directory")
    (cell.home / "filled").unlink()
    return task, scratch


@pytest.mark.statement("QC-19", "EX-10")
def test_the_directory_is_gone_when_the_end_of_a_killed_shepherds_task_is_reported(cell: Cell) -> None:
    task, scratch = filled(cell)
    bystander, kept = filled(cell)
    os.kill(task.start(), signal.SIGKILL)
    wait_for((task.directory / "exit").exists, "the end")
    assert not scratch.exists()
    assert (cell.home / "kept").exists() and (kept / "link").is_symlink()
    assert task.wait()["failed"] == 100
    assert task.client.ask(op="list")["running"] == [str(bystander.directory)]


@pytest.mark.statement("QC-19", "EX-10")
@pytest.mark.parametrize("time_of_death", range(3))
def test_the_directory_is_gone_also_if_the_launcher_died_with_the_shepherd(cell: Cell, time_of_death: int) -> None:
    task, scratch = filled(cell)
    shepherd = task.start()
    assert cell.launcher is not None
    for pid in (shepherd, cell.launcher.pid)[:: 1 if time_of_death % 2 else -1]:
        os.kill(pid, signal.SIGKILL)
    cell.stop_launcher(signal.SIGKILL)
    cell.start_launcher()
    wait_for((task.directory / "exit").exists, "the end")
    assert not scratch.exists() and (cell.home / "kept").exists()
    assert task.client.ask(op="list")["running"] == []


@pytest.mark.statement("QC-19", "EX-10")
def test_thousands_of_files_delay_no_other_task_and_a_launcher_that_dies_meanwhile_has_a_successor(cell: Cell) -> None:
    fill = "for i in $(seq 100); do for j in $(seq 100); do : >$i/$j; done; done"  # a shell opens them itself
    thousands = f"cd $TMPDIR; mkdir $(seq 100); {fill}; touch $HOME/filled; exec sleep 1000"
    task, scratch = filled(cell, thousands)
    os.kill(task.start(), signal.SIGKILL)
    assert cell.run("true\n").exit["failed"] == 0, "others are served meanwhile"
    cell.stop_launcher(signal.SIGKILL)
    cell.start_launcher()
    wait_for((task.directory / "exit").exists, "the end")
    assert not scratch.exists()
    assert task.exit["failed"] == 100


@pytest.mark.statement("QC-19", "EX-10")
def test_shepherds_that_die_at_any_moment_leave_none(cell: Cell) -> None:
    chance = random.Random(15)
    tasks = []
    for number in range(40):
        scratch = cell.tmp / f"{number}.1.all.q"
        task = cell.task("touch $TMPDIR/file; sleep 0.01\n", tmpdir=str(scratch), environment={"TMPDIR": str(scratch)})
        pid = task.start()
        time.sleep(chance.uniform(0, 0.02))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it was faster
        tasks.append(task)
    for task in tasks:
        task.wait()
    assert list(cell.tmp.iterdir()) == []
