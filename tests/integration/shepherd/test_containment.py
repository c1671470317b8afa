"""Cgroups of both versions, driven without a launcher: making, entering, killing, measuring, removing (EX-6, EX-7)."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons.execd.cgroups import find_cgroups
from shepherd import containment, process_tree, task_files
from shepherd.group_ids import NoGroupLeftError
from tests import needs
from tests.integration.shepherd.cell import Cell, wait_for

_MOUNTED = "run the tests on a machine that mounts it below /sys/fs/cgroup"
MANY = 1200
"""Their ids do not fit into a page of memory."""


@pytest.fixture(params=["v2", "v1"])
def task_directory(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A task's directory, with only one version of cgroups to be seen."""
    needs.need_root()
    unified = next(
        (path for path in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")) if (path / "cgroup.procs").exists()),
        None,
    )
    mount = tmp_path / "cgroup"
    mount.mkdir()
    if request.param == "v2":
        if unified is None:
            needs.skip("cgroup v2", _MOUNTED)
        (mount / "unified").symlink_to(unified)
    else:
        for name in ("freezer", "cpuacct", "memory"):
            if not Path("/sys/fs/cgroup", name, "cgroup.procs").exists():
                needs.skip(f"the controller {name} of cgroup v1", _MOUNTED)
            (mount / name).symlink_to(f"/sys/fs/cgroup/{name}")
    directory = tmp_path / "spool" / "active_jobs" / f"{os.getpid()}.1"
    directory.mkdir(parents=True)
    (directory / "mount").symlink_to(mount)
    yield directory


def child_in(held: containment.Containment) -> int:
    """A child process inside that forks a further process and uses processor time."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(300)
            held.enter()
            os.fork()
            while True:
                pass
        finally:
            os._exit(1)
    return pid


@pytest.mark.statement("EX-6", "EX-7", "EX-8")
def test_life_of_a_cgroup(task_directory: Path) -> None:
    found = find_cgroups(f"test{os.getpid()}", "/", "h1", os.getpid(), task_directory / "mount")
    held = containment.establish(task_directory, found.directories(), None)
    assert held.cgroups and held.gid is None
    pid = child_in(held)
    procs = held.cgroups[0] / "cgroup.procs"
    wait_for(lambda: len(procs.read_text().split()) == 2, "both processes")
    wait_for(lambda: (held.cpu_seconds() or 0) > 0.05, "some CPU time")
    assert not held.release(task_directory)
    again = containment.read_recorded(task_directory)
    assert again.cgroups == held.cgroups
    again.kill()
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    wait_for(lambda: not procs.read_text().split(), "the other process to end")
    wait_for(lambda: held.release(task_directory), "the cgroup to be removed")
    assert not [cgroup for cgroup in held.cgroups if cgroup.exists()]
    for cgroup in held.cgroups:
        cgroup.parent.rmdir()
        cgroup.parent.parent.rmdir()


@pytest.mark.statement("EX-7")
def test_more_processes_than_the_kernel_lists_at_a_time_are_found_and_killed(task_directory: Path) -> None:
    found = find_cgroups(f"test{os.getpid()}", "/", "h1", os.getpid(), task_directory / "mount")
    held = containment.establish(task_directory, found.directories(), None)
    forks = f"import os, signal\nfor _ in range({MANY}): os.fork() or signal.pause()\nsignal.pause()"
    pid = os.fork()
    if pid == 0:
        held.enter()
        os.execv(sys.executable, ["python", "-IS", "-c", forks])
    procs = held.cgroups[0] / "cgroup.procs"
    try:
        wait_for(lambda: len(procs.read_text().split()) == MANY + 1, "all processes")
        assert len(process_tree.children(pid)) == MANY
    finally:
        held.kill()
        os.waitpid(pid, 0)
    wait_for(lambda: not procs.read_text().split(), "the processes to end")
    wait_for(lambda: held.release(task_directory), "the cgroup to be removed")
    for cgroup in held.cgroups:
        cgroup.parent.rmdir()
        cgroup.parent.parent.rmdir()


def test_a_process_that_could_not_leave_a_cgroup_does_not_enter_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(containment, "own_cgroups", lambda _: [tmp_path / "home"])
    (tmp_path / "cgroup.procs").touch()
    with pytest.raises(PermissionError), containment.Containment([tmp_path], None).visited():
        raise AssertionError("it has entered")
    assert (tmp_path / "cgroup.procs").read_text() == ""


@pytest.mark.statement("EX-6")
def test_without_cgroups_a_group_id_is_taken(task_directory: Path) -> None:
    other = task_directory.with_name("2.1")
    other.mkdir()
    for directory in (task_directory, other):
        task_files.claim(directory)
    held = containment.establish(task_directory, ["/proc"], "40000")
    assert (held.cgroups, held.gid) == ([], 40000)
    assert containment.read_recorded(task_directory).gid == 40000
    with pytest.raises(NoGroupLeftError):
        containment.establish(other, [], "40000")
    held.release(task_directory)
    assert containment.establish(other, [], "40000").gid == 40000
    assert held.release(task_directory)  # a second time does not free what another task has now
    with pytest.raises(NoGroupLeftError):
        containment.establish(task_directory, [], "40000")


@pytest.mark.statement("EX-6")
def test_cgroup_of_another_user_is_not_used(user_cell: Cell) -> None:
    unified = Path("/sys/fs/cgroup/unified")
    needs.need_root()
    if not (unified / "cgroup.procs").exists():
        needs.skip("cgroup v2 beside v1", _MOUNTED)
    taken = unified / f"sge.taken{os.getpid()}" / "1.1"
    taken.mkdir(parents=True)
    try:
        assert user_cell.run("true\n", cgroups=[str(taken.parent)]).exit["failed"] == 0
    finally:
        taken.rmdir()
        taken.parent.rmdir()
