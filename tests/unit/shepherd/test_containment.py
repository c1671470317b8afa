"""Cgroups as files, where the kernel of the test machine has none of their version, and group ids of a range (EX-6, EX-14)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from shepherd import task_files
from shepherd.containment import Containment, NoGroupLeftError, drop_claims, establish, read_recorded
from tests.unit.shepherd.descriptors import open_descriptors


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
def test_memory_is_limited_with_swap_included(tmp_path: Path) -> None:
    other = cgroup(tmp_path / "other")
    v2 = cgroup(tmp_path / "v2", memory__max="", memory__swap__max="", memory__oom__group="")
    Containment([other, v2], None).limit_memory(4096)
    assert content(v2) == {"memory.max": "4096", "memory.swap.max": "0", "memory.oom.group": "1"}
    v1 = cgroup(tmp_path / "v1", memory__limit_in_bytes="", memory__memsw__limit_in_bytes="")
    Containment([other, v1], None).limit_memory(4096)
    assert content(v1) == {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"}


@pytest.mark.statement("EX-6", "RL-5")
def test_memory_is_limited_by_kernels_that_know_less(tmp_path: Path) -> None:
    v2, v1 = cgroup(tmp_path / "v2", memory__max=""), cgroup(tmp_path / "v1", memory__limit_in_bytes="")
    Containment([v2], None).limit_memory(4096)
    Containment([v1], None).limit_memory(4096)
    assert (content(v2), content(v1)) == ({"memory.max": "4096"}, {"memory.limit_in_bytes": "4096"})
    with pytest.raises(FileNotFoundError, match="memory"):
        Containment([cgroup(tmp_path / "other")], None).limit_memory(4096)


@pytest.mark.statement("EX-6", "RL-10")
def test_processes_are_limited_where_there_is_the_controller(tmp_path: Path) -> None:
    other, pids = cgroup(tmp_path / "other"), cgroup(tmp_path / "pids", pids__max="")
    Containment([other, pids], None).limit_processes(5)
    assert (content(other), content(pids)) == ({}, {"pids.max": "5"})
    with pytest.raises(FileNotFoundError, match="pids"):
        Containment([other], None).limit_processes(5)


@pytest.mark.statement("EX-6", "RL-5")
def test_memory_in_use_and_what_it_cost(tmp_path: Path) -> None:
    other = cgroup(tmp_path / "other")
    v2 = cgroup(tmp_path / "v2", memory__current="8192\n", memory__events="low 0\nmax 7\noom 5\noom_kill 2\n")
    v1 = cgroup(tmp_path / "v1", memory__usage_in_bytes="4096\n", memory__oom_control="under_oom 0\noom_kill 3\n")
    seen = [(held.memory_bytes(), held.oom_kills()) for held in (Containment([other, each], None) for each in (v2, v1))]
    assert seen == [(8192, 2), (4096, 3)]
    assert (Containment([other], None).memory_bytes(), Containment([other], None).oom_kills()) == (None, 0)


@pytest.mark.statement("EX-6")
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
