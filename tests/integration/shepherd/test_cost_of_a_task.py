"""The cost of a plain task to its host, counted and not timed: system calls, and files that are made for it (ADR 155).

The ceilings are a little above the measured numbers: a change that makes tasks dearer has to raise them here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from daemons.execd import recycled_directories
from tests.integration.cells import PATIENCE_S
from tests.integration.debian import need
from tests.integration.shepherd.cell import Cell, Task, wait_for

WARM_UP, TASKS, TURNS = 3, 20, 3
GROUP_ID, CGROUPS = {"gid_range": "40000-40100"}, {"use_cgroups": True}
#: system calls a task, those of the job itself left out; with a cgroup in each of four hierarchies of v1
MOST_OF_LAUNCHER, MOST_OF_SHEPHERD, MOST_WITH_CGROUPS = 18, 195, 265
MOST_BYTES = 1300
#: directories and files that are made for it: its scratch directory
MOST_MADE = 1


class Counted(NamedTuple):
    """Of one task, in the mean: calls of the launcher and of the shepherd, and directories made; bytes of the largest."""

    of_launcher: float
    of_shepherd: float
    made: float
    largest: int


def a_task(cell: Cell, recycled: Path, contained: dict[str, Any]) -> Task:
    """A typical task, in a recycled directory, with a scratch directory and an additional group id or cgroups."""
    task = cell.task(None, command="/bin/true", no_shell=True, stdout="/dev/null", stderr="/dev/null", **contained)
    task.config["tmpdir"] = str(cell.tmp / task.directory.name)
    shutil.rmtree(task.directory)
    if not recycled_directories.take(recycled, task.directory):
        task.directory.mkdir()
    recycled_directories.overwrite(task.directory / "config", json.dumps(task.config).encode())
    return task


def run(cell: Cell, recycled: Path, contained: dict[str, Any]) -> int:
    """A task from its start to the removal of its directory; returns the size of its shepherd's files, in bytes."""
    task = a_task(cell, recycled, contained)
    task.start(cell.user.pw_name)
    assert task.wait()["failed"] == 0
    size = sum(path.stat().st_size for path in task.directory.iterdir() if path.name != "config")
    recycled_directories.recycle(recycled, task.directory)
    return size


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize(("contained", "most_of_shepherd"), [(GROUP_ID, MOST_OF_SHEPHERD), (CGROUPS, MOST_WITH_CGROUPS)])
def test_calls_and_files_of_a_task(root_cell: Cell, tmp_path: Path, contained: dict[str, Any], most_of_shepherd: int) -> None:
    need("strace")
    recycled = root_cell.spool / "spare_jobs"
    recycled.mkdir()
    for _ in range(WARM_UP):
        run(root_cell, recycled, contained)
    assert root_cell.launcher is not None
    launcher = root_cell.launcher.pid
    [shepherd] = map(int, Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split())
    # a machine that is busy adds calls, and takes none away
    a_run = partial(run, root_cell, recycled, contained)
    counted = [count_calls(a_run, launcher, shepherd, tmp_path / f"calls{turn}") for turn in range(TURNS)]
    assert min(each.of_launcher for each in counted) <= MOST_OF_LAUNCHER
    assert min(each.of_shepherd for each in counted) <= most_of_shepherd, counted
    assert max(each.made for each in counted) <= MOST_MADE + (4 if contained is CGROUPS else 0)
    assert max(each.largest for each in counted) <= MOST_BYTES


def count_calls(a_run: Callable[[], int], launcher: int, shepherd: int, report: Path) -> Counted:
    """Watch the two while they run some tasks."""
    attached = ["-p", str(launcher), "-p", str(shepherd)]
    watching = subprocess.Popen(["strace", "-f", "-qq", "-o", str(report), *attached])
    for pid in (launcher, shepherd):
        wait_for(lambda pid=pid: "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text(), "strace to attach")
    sizes = [a_run() for _ in range(TASKS)]
    watching.send_signal(signal.SIGINT)
    watching.wait(PATIENCE_S)
    lines = [line for line in report.read_text().splitlines() if "resumed>" not in line]
    of_launcher, of_shepherd = (sum(line.startswith(f"{pid} ") for line in lines) / TASKS for pid in (launcher, shepherd))
    made = sum(re.match(rf"{shepherd} +mkdir\(.*= 0$", line) is not None for line in lines)
    return Counted(of_launcher, of_shepherd, made / TASKS, max(sizes))


@pytest.mark.parametrize("contained", [GROUP_ID, CGROUPS])
def test_files_of_a_task_are_those_of_an_earlier_one(root_cell: Cell, contained: dict[str, Any]) -> None:
    recycled = root_cell.spool / "spare_jobs"
    recycled.mkdir()
    seen = []
    for _ in range(WARM_UP):
        run(root_cell, recycled, contained)
        [directory] = os.scandir(recycled)
        seen.append({(path.name, path.stat().st_ino) for path in Path(directory).iterdir()})
    assert seen[0] == seen[1] == seen[2]
