"""Where a process is in hierarchies of both versions, also where a part of one is mounted, as in a container."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shepherd import own_cgroups as module
from shepherd.own_cgroups import own_cgroups

V1 = """24 1 0:20 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
25 1 0:21 /box/7 /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
26 1 0:22 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
27 1 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
28 1 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
29 1 0:25 / /sys rw - sysfs sysfs rw
"""
OWN = """9:name=systemd:/init.scope
5:pids:/sge/jobs
4:memory:/box/7/a:b
3:cpu,cpuacct:/
0::/user.slice
"""


@pytest.fixture(autouse=True)
def proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str, str], None]]:
    """Has the module read these texts of /proc/self/mountinfo and /proc/self/cgroup."""

    def played(mounts: str, own: str) -> None:
        (tmp_path / "mountinfo").write_text(mounts)
        (tmp_path / "cgroup").write_text(own)
        forget()

    def forget() -> None:
        module.mounts.cache_clear()
        module.mount_of.cache_clear()

    monkeypatch.setattr(module, "Path", lambda path: Path(str(path).replace("/proc/self", str(tmp_path))))
    played(V1, OWN)
    yield played
    forget()


@pytest.mark.parametrize(
    ("beside", "own"),
    [
        ("/sys/fs/cgroup/pids/sge/node1", "/sys/fs/cgroup/pids/sge/jobs"),
        ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids/sge/jobs"),
        ("/sys/fs/cgroup/memory/node1", "/sys/fs/cgroup/memory/a:b"),
        ("/sys/fs/cgroup/cpu,cpuacct/node1", "/sys/fs/cgroup/cpu,cpuacct"),
        ("/sys/fs/cgroup/unified/node1", "/sys/fs/cgroup/unified/user.slice"),
        ("/sys/fs/cgroup/systemd/node1", "/sys/fs/cgroup/systemd/init.scope"),
    ],
)
def test_the_cgroup_in_the_same_hierarchy(beside: str, own: str) -> None:
    assert own_cgroups([beside]) == own_cgroups([Path(beside)]) == [own]


def test_the_order_is_that_of_the_question() -> None:
    found = own_cgroups(["/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/pids/x"])
    assert found == ["/sys/fs/cgroup/memory/a:b", "/sys/fs/cgroup/pids/sge/jobs"]


@pytest.mark.parametrize("beside", ["/tmp/x", "/sys/fs/cgroup", "/sys/fs/cgroup/pids2/x"])
def test_a_directory_of_no_hierarchy_is_an_error(beside: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"no cgroup beside {beside}"):
        own_cgroups([beside])


def test_a_process_outside_of_what_is_mounted_is_an_error(proc: Callable[[str, str], None]) -> None:
    """A cgroup beside the mounted one whose name begins alike is outside."""
    proc(V1, OWN.replace("/box/7/a:b", "/box/77"))
    with pytest.raises(FileNotFoundError):
        own_cgroups(["/sys/fs/cgroup/memory/x"])


def test_a_process_that_has_moved_is_found_where_it_is(proc: Callable[[str, str], None], tmp_path: Path) -> None:
    assert own_cgroups(["/sys/fs/cgroup/pids/x"]) == ["/sys/fs/cgroup/pids/sge/jobs"]
    (tmp_path / "cgroup").write_text(OWN.replace("/sge/jobs", "/sge/jobs/1.1"))
    assert own_cgroups(["/sys/fs/cgroup/pids/x"]) == ["/sys/fs/cgroup/pids/sge/jobs/1.1"]
