"""Cgroups as files, where the kernel of the test machine has none of their version, and group ids of a range (EX-6, EX-14)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import pytest

from shepherd import containment, task_files
from shepherd.cgroup_limits import CgroupLimits, settings
from shepherd.containment import Containment, establish, read_recorded
from shepherd.group_ids import NoGroupLeftError, drop_claims
from tests.unit.shepherd.descriptors import open_descriptors

MOST_CALLS = 300
"""A little more than were counted."""


def cgroup(path: Path, **files: str) -> Path:
    """A directory with files as the kernel makes them; a dot in a name is written as two underscores."""
    path.mkdir(parents=True)
    for name, content in files.items():
        (path / name.replace("__", ".")).write_text(content)
    return path


def content(path: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in path.iterdir()}


def task(spool: Path, name: str = "7.1") -> Path:
    """The directory of a task whose shepherd this process is."""
    directory = spool / "active_jobs" / name
    directory.mkdir(parents=True)
    assert task_files.claim(directory)
    return directory


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_processes_of_a_cgroup_of_v1_are_killed_one_by_one_while_they_are_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "freezer.state").write_text("THAWED")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n{os.getppid()}\n")
    killed = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append((pid, (tmp_path / "freezer.state").read_text())))
    Containment([tmp_path], None).kill()
    assert killed == [(os.getpid(), "FROZEN"), (os.getppid(), "FROZEN")]
    assert (tmp_path / "freezer.state").read_text() == "THAWED"


def test_killing_a_frozen_process_leaves_alone_what_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    Containment([cgroup(tmp_path / "v1", freezer__state="", cgroup__procs=f"{os.getpid()} 99999999")], None).kill()
    assert killed == [(os.getpid(), signal.SIGKILL)]


def test_a_cgroup_of_v2_is_killed_at_one_stroke(tmp_path: Path) -> None:
    v2 = cgroup(tmp_path / "v2", cgroup__kill="", cgroup__procs="")
    Containment([v2], None).kill()
    assert content(v2) == {"cgroup.kill": "1", "cgroup.procs": ""}


@pytest.mark.statement("EX-6")
def test_a_task_enters_each_of_its_cgroups(tmp_path: Path) -> None:
    cgroups = [cgroup(tmp_path / name, cgroup__procs="") for name in ("memory", "pids")]
    Containment(cgroups, None).enter()
    assert [content(each) for each in cgroups] == [{"cgroup.procs": "0"}] * 2
    opened = open_descriptors()
    Containment(cgroups, None).enter()
    assert open_descriptors() == opened


@pytest.mark.statement("EX-8")
def test_processor_time_of_a_cgroup_is_in_seconds(tmp_path: Path) -> None:
    v1 = cgroup(tmp_path / "v1", cpuacct__usage="2500000000\n")
    v2 = cgroup(tmp_path / "v2", cpu__stat="usage_usec 3500000\nuser_usec 1000000\n")
    other = cgroup(tmp_path / "other")
    gone = cgroup(tmp_path / "gone")
    (gone / "cpu.stat").mkdir()  # cannot be read
    assert Containment([v1], None).cpu_seconds() == pytest.approx(2.5, rel=1e-12)
    assert Containment([v2], None).cpu_seconds() == pytest.approx(3.5, rel=1e-12)
    assert Containment([other, gone, v2], None).cpu_seconds() == pytest.approx(3.5, rel=1e-12)
    assert Containment([other], None).cpu_seconds() is None


@pytest.mark.statement("EX-6", "RL-5")
def test_memory_in_use_and_what_it_cost(tmp_path: Path) -> None:
    other = cgroup(tmp_path / "other")
    v2 = cgroup(tmp_path / "v2", memory__current="8192\n", memory__events="low 0\nmax 7\noom 5\noom_kill 2\n")
    v1 = cgroup(tmp_path / "v1", memory__usage_in_bytes="4096\n", memory__oom_control="under_oom 0\noom_kill 3\n")
    seen = [(held.memory_bytes(), held.oom_kills()) for held in (Containment([other, each], None) for each in (v2, v1))]
    assert seen == [(8192, 2), (4096, 3)]
    assert (Containment([other], None).memory_bytes(), Containment([other], None).oom_kills()) == (None, 0)


@pytest.mark.statement("EX-6", "EX-8")
def test_file_cache_is_no_memory_in_use_but_files_without_a_disk_are(tmp_path: Path) -> None:
    stat = "anon 3000\nfile 5000\nkernel 192\nshmem 1000\n"
    v2 = cgroup(tmp_path / "v2", memory__current="8192\n", memory__peak="9192\n", memory__stat=stat)
    stat = "cache 10\nshmem 5\ntotal_cache 5000\ntotal_rss 3000\ntotal_shmem 1000\n"
    v1 = cgroup(tmp_path / "v1", memory__usage_in_bytes="8192\n", memory__max_usage_in_bytes="9192\n", memory__stat=stat)
    for each in (v2, v1):
        held = Containment([each], None)
        assert (held.memory_bytes(), held.peak_memory_bytes()) == (4192, 5192)
    older = cgroup(tmp_path / "older", memory__current="8192\n")
    assert Containment([older], None).peak_memory_bytes() is None


@pytest.mark.statement("EX-6", "TI-2")
def test_the_limits_of_a_parallel_job_are_those_of_all_its_tasks_on_the_host(tmp_path: Path) -> None:
    outer = cgroup(tmp_path / "7.1", memory__max="", memory__current="300\n", memory__peak="400\n")
    inner = cgroup(outer / "7.1.2", memory__max="", memory__current="30\n", memory__peak="40\n")
    held = Containment([inner], None, [outer])
    for setting in settings(CgroupLimits(memory=4096)):
        held.limit(setting)
    assert ((outer / "memory.max").read_text(), (inner / "memory.max").read_text()) == ("4096", "")
    assert (held.memory_bytes(), held.memory_bytes(limited=True)) == (30, 300)
    assert (held.peak_memory_bytes(), held.peak_memory_bytes(limited=True)) == (40, 400)


@pytest.mark.statement("EX-6", "TI-2")
def test_tasks_of_a_parallel_job_share_the_cgroup_of_the_job_which_goes_with_the_last(tmp_path: Path) -> None:
    parent = tmp_path / "cg"
    for name in ("7.1", "7.1.2"):  # as the kernel makes their files
        cgroup(parent / "7.1" / name, cgroup__procs="")
    master, slave = (establish(task(tmp_path, name), [str(parent)], None, shared=True) for name in ("7.1", "7.1.2"))
    assert [each.cgroups for each in (master, slave)] == [[parent / "7.1" / "7.1"], [parent / "7.1" / "7.1.2"]]
    assert list(master.outer) == list(slave.outer) == [parent / "7.1"]
    again = read_recorded(tmp_path / "active_jobs" / "7.1.2")
    assert (again.cgroups, list(again.outer)) == (slave.cgroups, list(slave.outer))
    for each in (*master.cgroups, *slave.cgroups):
        (each / "cgroup.procs").unlink()
    assert master.release(tmp_path / "active_jobs" / "7.1") and (parent / "7.1").exists()
    assert again.release(tmp_path / "active_jobs" / "7.1.2") and not (parent / "7.1").exists()


@pytest.mark.statement("EX-6", "EX-7")
def test_a_cgroup_is_recorded_before_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shepherd may be killed in between: the launcher finds and removes it."""
    directory, parent = task(tmp_path), tmp_path / "cg"
    parent.mkdir()
    recorded: list[list[Path]] = []
    make = Path.mkdir
    monkeypatch.setattr(
        Path, "mkdir", lambda path, *rest, **more: (recorded.append(read_recorded(directory).cgroups), make(path, *rest, **more))
    )
    establish(directory, [str(parent)], None)
    assert recorded == [[parent / "7.1"]]


@pytest.mark.statement("EX-6", "EX-7")
def test_leftovers_of_an_earlier_attempt_are_made_anew_and_a_parent_never(tmp_path: Path) -> None:
    directory, parent = task(tmp_path), tmp_path / "cg"
    (parent / "7.1").mkdir(parents=True)
    held_open = os.open(parent / "7.1", os.O_RDONLY)  # so that no new directory gets its number
    establish(directory, [str(parent), str(tmp_path / "gone")], None)
    assert (parent / "7.1").is_dir() and not (tmp_path / "gone").exists()
    assert (parent / "7.1").stat().st_ino != os.fstat(held_open).st_ino
    os.close(held_open)


@pytest.mark.statement("EX-6")
def test_without_a_freezer_processes_are_killed_until_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    procs = cgroup(tmp_path / "v1", cgroup__procs=f"{os.getpid()}") / "cgroup.procs"
    killed: list[int] = []

    def kill(pid: int, _: int) -> None:
        killed.append(pid)
        procs.write_text(f"{os.getppid()}" if len(killed) == 1 else "")

    monkeypatch.setattr(os, "kill", kill)
    Containment([procs.parent], None).kill()
    assert killed == [os.getpid(), os.getppid()]


@pytest.mark.statement("EX-6")
def test_a_recorded_cgroup_that_a_reboot_removed_has_nothing_to_kill_and_nothing_to_release(tmp_path: Path) -> None:
    (tmp_path / task_files.CGROUP).write_text("".join(f"{tmp_path}/{name}/28.1\n" for name in ("freezer", "memory")))
    recorded = read_recorded(tmp_path)
    recorded.kill()
    assert recorded.release(tmp_path)
    assert recorded.oom_kills() == 0 and recorded.cpu_seconds() is recorded.peak_memory_bytes() is None


def test_a_cgroup_is_given_back_unless_processes_linger_in_it(tmp_path: Path) -> None:
    directory = task(tmp_path)
    empty, busy = cgroup(tmp_path / "empty"), cgroup(tmp_path / "busy", cgroup__procs="7")
    assert not Containment([busy, tmp_path / "gone", empty], None).release(directory)
    assert (empty.exists(), busy.exists()) == (False, True)
    assert Containment([tmp_path / "gone", empty], None).release(directory)


@pytest.mark.statement("EX-6", "EX-14")
def test_a_task_makes_its_cgroups_and_records_them(tmp_path: Path) -> None:
    directory = task(tmp_path)
    parents = [tmp_path / "cpu" / "sge", tmp_path / "memory" / "sge"]
    made = [cgroup(parent / "7.1", cgroup__procs="") for parent in parents]
    (tmp_path / "read_only").mkdir()
    held = establish(directory, [*map(str, parents), str(tmp_path / "read_only")], "5-9")
    assert (held.cgroups, held.gid) == (made, None)
    assert (tmp_path / "read_only" / "7.1").is_dir(), "it was made; no kernel has made its files"
    again = read_recorded(directory)
    assert (again.cgroups, again.gid) == (made, None)


@pytest.mark.statement("EX-14")
@pytest.mark.usefixtures("as_root")
def test_without_a_cgroup_a_task_of_root_takes_a_group_id_and_gives_it_back(tmp_path: Path) -> None:
    directory, other = task(tmp_path), task(tmp_path, "8.1")
    held = establish(directory, [str(tmp_path / "no_cgroups")], "5000,6000")
    assert held.cgroups == [] and held.gid in (5000, 6000)
    assert (read_recorded(directory).cgroups, read_recorded(directory).gid) == ([], held.gid)
    assert establish(directory, [], "5000,6000").gid == held.gid, "a task has one id"
    second = establish(other, [], "5000,6000")
    assert {held.gid, second.gid} == {5000, 6000}
    with pytest.raises(NoGroupLeftError, match="all 2 group ids"):
        establish(task(tmp_path, "9.1"), [], "5000,6000")
    assert Containment([], held.gid).release(other), "what another task has claimed is not its to give back"
    assert sorted(path.name for path in (tmp_path / "addgrpids").iterdir()) == ["5000", "6000"]
    assert (tmp_path / "addgrpids").stat().st_mode & 0o777 == 0o700
    assert held.release(directory) and held.release(directory), "once is enough"
    assert [path.name for path in (tmp_path / "addgrpids").iterdir()] == [str(second.gid)]


@pytest.mark.statement("EX-14")
@pytest.mark.usefixtures("as_root")
def test_few_of_many_tasks_search_for_their_group_id_from_the_same_start(tmp_path: Path) -> None:
    gids = {establish(task(tmp_path / str(number), f"{number}.1"), [], "1000-1999").gid for number in range(100, 130)}
    assert len(gids) > 10


@pytest.mark.statement("EX-14", "EX-19")
def test_only_root_adds_a_group_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = task(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert establish(directory, [], "5000-6000").gid is None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert establish(directory, [], "NONE").gid is None
    assert read_recorded(directory).gid is None


@pytest.mark.statement("EX-14")
def test_after_a_reboot_the_group_ids_of_dead_shepherds_are_free_again(tmp_path: Path) -> None:
    drop_claims(tmp_path)  # there are none yet
    claims = tmp_path / "addgrpids"
    claims.mkdir()
    os.link(task(tmp_path) / "pid", claims / "5000")
    (claims / "5001").write_text(f"{os.getpid()} 1\n")
    drop_claims(tmp_path)
    assert [path.name for path in claims.iterdir()] == ["5000"]


@pytest.mark.statement("EX-14")
def test_a_group_id_that_is_released_meanwhile_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = tmp_path / "addgrpids" / "5000"
    claim.parent.mkdir()
    claim.touch()
    monkeypatch.setattr(task_files, "running", lambda path: path.unlink())
    drop_claims(tmp_path)
    assert not claim.exists()


def test_a_cgroup_costs_few_calls_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: from its making to its removal, with four hierarchies of v1. Paths as objects made it twice as much."""
    parents = ["freezer", "cpuacct", "memory", "pids"]
    directory = task(tmp_path)
    homes = [cgroup(tmp_path / "home" / name, cgroup__procs="", tasks="") for name in parents]
    monkeypatch.setattr(containment, "own_cgroups", lambda _: homes)

    def life() -> None:
        held = establish(directory, [str(tmp_path / name) for name in parents], None)
        for limit in settings(CgroupLimits(processes=10)):
            held.limit(limit)
        with held.visited():
            pass
        assert (held.peak_memory_bytes(), held.cpu_seconds()) == (7, 2e-9)
        held.kill()
        assert held.release(directory)

    files = {"tasks": "", "cgroup.procs": "", "pids.max": "", "memory.max_usage_in_bytes": "7", "cpuacct.usage": "2"}
    make, remove = os.mkdir, os.rmdir

    def mkdir(path: Path, mode: int) -> None:
        make(path, mode)
        for name, text in files.items():
            descriptor = os.open(f"{path}/{name}", os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, text.encode())
            os.close(descriptor)

    def rmdir(path: Path) -> None:
        for name in files:
            os.unlink(f"{path}/{name}")
        remove(path)

    for name in parents:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "rmdir", rmdir)
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    life()
    sys.setprofile(count)
    try:
        life()
    finally:
        sys.setprofile(None)
    assert calls <= MOST_CALLS
