"""Finding cgroups in hierarchies of both versions, as a kernel shows them (EX-6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.execd.cgroups import HostCgroups, find_cgroups


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    return tmp_path / "cgroup"


def hierarchy(path: Path, name: str, memory: bool | None = None) -> None:
    """A directory with the files of a cgroup, its child for the cell included. `memory`: of v2, enabled or not."""
    for directory in (path, path / name):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "cgroup.procs").touch()
        if memory is not None:
            (directory / "cgroup.kill").touch()
            (directory / "cgroup.subtree_control").write_text("cpu memory pids" if memory else "cpu")


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own"
    path.write_text(text)
    return path


@pytest.mark.statement("EX-6")
def test_v2_below_the_own_cgroup(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount, "none", memory=True)
    hierarchy(mount / "ge.service", "sge.default", memory=True)
    found = find_cgroups("default", mount, own(tmp_path, "0::/ge.service\n"))
    assert found == HostCgroups((str(mount / "ge.service" / "sge.default"),), limit_processes=True)
    assert found.limit_memory


@pytest.mark.statement("EX-6")
def test_v2_at_the_top_where_the_own_cgroup_holds_processes(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount, "sge.default", memory=True)
    hierarchy(mount / "ge.service", "sge.default", memory=True)
    control = mount / "ge.service" / "cgroup.subtree_control"
    control.unlink()
    control.mkdir()  # cannot be written to, for root either
    found = find_cgroups("default", mount, own(tmp_path, "0::/ge.service\n"))
    assert found == HostCgroups((str(mount / "sge.default"),), limit_processes=True)


@pytest.mark.statement("EX-6")
def test_v1_in_each_controller(mount: Path, tmp_path: Path) -> None:
    for controller in ("freezer", "memory", "pids"):
        hierarchy(mount / controller / "box", "sge.default")
        (mount / controller / "cgroup.procs").touch()
    text = "4:pids:/box\n3:memory:/box\n2:cpu,cpuacct:/\n1:freezer:/box\n"
    found = find_cgroups("default", mount, own(tmp_path, text))
    assert found.parents == tuple(str(mount / each / "box" / "sge.default") for each in ("freezer", "memory", "pids"))
    assert found.limit_memory and found.limit_processes


@pytest.mark.statement("EX-6")
def test_without_a_memory_controller_or_any_there_is_a_reason(mount: Path, tmp_path: Path) -> None:
    hierarchy(mount / "freezer", "sge.default")
    found = find_cgroups("default", mount, own(tmp_path, "1:freezer:/\n"))
    assert found.parents and not found.limit_memory and not found.limit_processes
    assert found.obstacle == f"{mount / 'memory'} cannot be written to"
    nowhere = find_cgroups("default", tmp_path / "nothing", own(tmp_path, ""))
    assert nowhere == HostCgroups(obstacle=f"there are none at {tmp_path / 'nothing'}")
