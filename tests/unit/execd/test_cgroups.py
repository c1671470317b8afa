"""Finding cgroups in hierarchies of both versions, as a kernel shows them (EX-6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemons.execd.cgroups import HostCgroups, directory_of, find_cgroups, note_cgroups, remove_leftovers
from daemons.execd.systemd_scope import SLICE, scope_name
from gridengine.protocols.protocol import CGROUPS_FILE


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    return tmp_path / "cgroup"


def hierarchy(path: Path, *names: str, controllers: str | None = None) -> None:
    """A directory with the files of a cgroup, and others below it. `controllers`: of v2, which are enabled."""
    for directory in (path, *(path / name for name in names)):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "cgroup.procs").touch()
        if controllers is not None:
            (directory / "cgroup.subtree_control").write_text(controllers)


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own"
    path.write_text(text)
    return path


def find(mount: Path, path: Path, scope: str | None = None) -> HostCgroups:
    """`scope`: the answer of systemd, None where there is none."""
    enter = None if scope is None else lambda cell, root, host, pid: scope
    return find_cgroups("default", ROOT, "g1", os.getpid(), mount, path, enter)


def found_in(path: Path, *controllers: str) -> HostCgroups:
    return HostCgroups(2, dict.fromkeys(("cgroup", *controllers), str(path)))


ROOT = "/opt/gridengine/cells"
HERE = Path(directory_of("default", ROOT, "g1"))
LEVELS = (HERE.parts[0], str(HERE))


@pytest.mark.statement("EX-6")
def test_v2_below_the_own_cgroup(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount, controllers="")
    hierarchy(mount / "box", *LEVELS, controllers="cpu memory pids cpuset io")
    found = find(mount, own(tmp_path, "0::/box\n"))
    assert found == found_in(mount / "box" / HERE, "cpu", "memory", "pids", "cpuset", "io")
    assert found.limit_memory and found.limit_processes
    assert found.directories() == [str(mount / "box" / HERE)]
    assert found.text() == "v2 (processor time, processors, memory, processes)"


def test_cells_of_one_name_on_a_host_have_directories_of_their_own(mount: Path, tmp_path: Path) -> None:
    """Else one would remove the cgroups of the other's tasks as leftovers, and kill them with a task of the same number."""
    roots = ("/opt/a", "/opt/a", "/opt/b")
    names = [directory_of("default", root, "g1") for root in roots]
    assert names[0] == names[1] != names[2]
    assert scope_name("default", "/opt/a", "g1") == scope_name("default", "/opt/a", "g1") != scope_name("default", "/opt/b", "g1")
    for root, name in zip(roots, names, strict=True):
        hierarchy(mount, Path(name).parts[0], name, controllers="memory")
        found = find_cgroups("default", root, "g1", os.getpid(), mount, own(tmp_path, "0::/\n"))
        assert found.directories() == [str(mount / name)]


@pytest.mark.statement("EX-6")
def test_v2_at_the_top_where_the_own_cgroup_holds_processes(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount, *LEVELS, controllers="cpu memory")
    hierarchy(mount / "box", *LEVELS, controllers="memory")
    control = mount / "box" / "cgroup.subtree_control"
    control.unlink()
    control.mkdir()  # cannot be written to, for root either
    found = find(mount, own(tmp_path, "0::/box\n"))
    assert found == found_in(mount / HERE, "cpu", "memory")


@pytest.mark.statement("EX-6")
def test_in_a_scope_of_systemd_processes_are_moved_into_a_leaf(mount: Path, tmp_path: Path) -> None:
    scope = mount / SLICE / scope_name("default", ROOT, "g1")
    hierarchy(mount, *LEVELS, controllers="memory")
    hierarchy(scope, "daemons", controllers="cpu memory pids cpuset io")
    found = find(mount, own(tmp_path, f"0::/{scope.relative_to(mount)}\n"), scope="")
    assert found == found_in(scope, "cpu", "memory", "pids", "cpuset", "io")
    assert find(mount, own(tmp_path, f"0::/{scope.relative_to(mount)}/daemons\n"), scope="") == found, "it is there already"


@pytest.mark.statement("EX-6")
def test_where_systemd_makes_no_scope_nothing_is_made_in_its_tree(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount, controllers="memory")
    found = find(mount, own(tmp_path, "0::/system.slice/sge_execd.service\n"), scope="systemd does not make it")
    assert found == HostCgroups(obstacle="systemd does not make it")
    assert not [path for path in mount.rglob("*") if path.is_dir()]
    assert found.directories() == [] and found.text() == "none"


@pytest.mark.statement("EX-6")
def test_v1_in_each_controller(mount: Path, tmp_path: Path) -> None:
    for controller in ("freezer", "memory", "pids", "cpuset"):
        hierarchy(mount / controller / "box", *LEVELS)
        (mount / controller / "cgroup.procs").touch()
    for level in ("", *LEVELS):
        for name in ("cpus", "mems"):
            (mount / "cpuset" / "box" / level / f"cpuset.{name}").write_text("" if level else f"0-3 {name}\n")
    text = "4:pids:/box\n3:memory:/box\n2:cpu,cpuacct:/\n1:freezer:/box\n5:cpuset:/box\n"
    found = find(mount, own(tmp_path, text))
    always = [str(mount / each / "box" / HERE) for each in ("freezer", "memory", "pids")]
    assert found.directories() == always
    bound = mount / "cpuset" / "box" / HERE
    assert found.directories(["cpuset"]) == [*always, str(bound)]
    assert [(bound / f"cpuset.{name}").read_text() for name in ("cpus", "mems")] == ["0-3 cpus\n", "0-3 mems\n"]
    assert (bound / "cgroup.clone_children").read_text() == "1"
    assert found.limit_memory and found.limit_processes and found.text() == "v1 (processors, memory, processes)"


@pytest.mark.statement("EX-6")
def test_controllers_that_share_a_hierarchy_of_v1_have_one_directory(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount / "cpu,cpuacct", *LEVELS)
    for name in ("cpu", "cpuacct"):
        (mount / name).symlink_to("cpu,cpuacct")
    assert find(mount, own(tmp_path, "2:cpu,cpuacct:/\n")).directories() == [str(mount / "cpu,cpuacct" / HERE)]


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize(("name", "weight"), [("cpu/cpu.shares", "4096"), ("cpu.weight", "400")])
def test_all_jobs_together_weigh_a_process_on_each_processor(
    mount: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, weight: str
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    file = mount / name
    hierarchy(file.parent, *LEVELS, controllers="cpu memory")
    levels = [file.parent / level / file.name for level in LEVELS]
    for level in levels:
        level.write_text("the default")
    find(mount, own(tmp_path, "1:cpu:/\n0::/\n"))
    assert [level.read_text() for level in levels] == [weight, weight]


@pytest.mark.statement("EX-6")
def test_without_a_memory_controller_or_any_there_is_a_reason(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount / "freezer", *LEVELS)
    found = find(mount, own(tmp_path, "1:freezer:/\n"))
    assert found.parents and not found.limit_memory and not found.limit_processes
    assert found.obstacle == f"{mount / 'memory'} cannot be written to"
    nowhere = find(tmp_path / "nothing", own(tmp_path, ""))
    assert nowhere == HostCgroups(obstacle=f"there are none at {tmp_path / 'nothing'}")


@pytest.mark.statement("EX-6", "EX-7")
def test_empty_cgroups_of_tasks_that_are_not_here_are_removed(tmp_path: Path) -> None:
    for path in ("daemons", "7.1", "8.1", "9.1/9.1", "9.1/9.1.2", "10.1"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "10.1" / "cgroup.procs").touch()  # as a cgroup with processes it cannot be removed
    remove_leftovers(found_in(tmp_path, "memory"), {"7.1"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10.1", "7.1", "daemons"]
    remove_leftovers(HostCgroups(), set())


@pytest.mark.statement("EX-6")
def test_the_cgroups_of_the_host_are_noted_for_the_doctor_while_they_are_switched_on(tmp_path: Path) -> None:
    note_cgroups(tmp_path, HostCgroups(obstacle="no"))
    assert (tmp_path / CGROUPS_FILE).read_text() == "none\nno\n\n"
    for _ in range(2):
        note_cgroups(tmp_path, None)
        assert not (tmp_path / CGROUPS_FILE).exists()
    note_cgroups(tmp_path / "gone", None)
