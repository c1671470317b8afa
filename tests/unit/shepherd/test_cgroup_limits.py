"""The limits of a cgroup, as files of both versions of cgroups (EX-6, RL-5, RL-10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from shepherd.cgroup_limits import CgroupLimits, apply, settings, share
from tests.unit.shepherd.test_containment import cgroup, content

V2 = ("cpuset__cpus", "cpu__max", "cpu__weight", "io__weight")
V1 = ("cpuset__cpus", "cpu__cfs_quota_us", "cpu__shares", "blkio__bfq__weight")


@pytest.mark.statement("EX-6", "RL-5")
@pytest.mark.parametrize(
    ("files", "written"),
    [
        (
            ("memory__max", "memory__high", "memory__swap__max", "memory__oom__group"),
            {"memory.max": "4096", "memory.high": "2048", "memory.swap.max": "0", "memory.oom.group": "1"},
        ),
        (("memory__max", "memory__high"), {"memory.max": "4096", "memory.high": "2048"}),
        (
            ("memory__limit_in_bytes", "memory__memsw__limit_in_bytes", "memory__soft_limit_in_bytes"),
            {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096", "memory.soft_limit_in_bytes": "2048"},
        ),
        (
            ("memory__limit_in_bytes", "memory__soft_limit_in_bytes"),
            {"memory.limit_in_bytes": "4096", "memory.soft_limit_in_bytes": "2048"},
        ),
    ],
)
def test_memory_is_limited_with_swap_included_where_the_kernel_knows_that(
    tmp_path: Path, files: tuple[str, ...], written: dict[str, str]
) -> None:
    other, limited = cgroup(tmp_path / "other"), cgroup(tmp_path / "limited", **dict.fromkeys(files, ""))
    for setting in settings(CgroupLimits(memory=4096, soft_memory=2048)):
        apply([other, limited], setting)
    assert (content(other), content(limited)) == ({}, written)


@pytest.mark.statement("EX-6", "RL-10")
def test_a_limit_needs_its_controller(tmp_path: Path) -> None:
    other, pids = cgroup(tmp_path / "other"), cgroup(tmp_path / "pids", pids__max="")
    (setting,) = settings(CgroupLimits(processes=5))
    apply([other, pids], setting)
    assert (content(other), content(pids)) == ({}, {"pids.max": "5"})
    with pytest.raises(FileNotFoundError, match="processes"):
        apply([other], setting)


@pytest.mark.statement("EX-6", "EX-18")
@pytest.mark.parametrize(
    ("files", "written"),
    [
        (V2, {"cpuset.cpus": "1,3", "cpu.max": "200000 100000", "cpu.weight": "200", "io.weight": "200"}),
        (V1, {"cpuset.cpus": "1,3", "cpu.cfs_quota_us": "200000", "cpu.shares": "2048", "blkio.bfq.weight": "200"}),
    ],
)
def test_processors_and_devices_are_shared_by_slots(tmp_path: Path, files: tuple[str, ...], written: dict[str, str]) -> None:
    limited = cgroup(tmp_path / "limited", **dict.fromkeys(files, ""))
    for setting in settings(CgroupLimits(processors=(1, 3), slots=2, quota=True, io=True)):
        apply([limited], setting)
    assert content(limited) == written


@pytest.mark.statement("EX-6")
def test_defaults_of_the_kernel_are_not_written_and_only_promised_limits_keep_a_job_from_running() -> None:
    assert settings(CgroupLimits()) == []
    all_of_them = settings(CgroupLimits(1, 1, 1, (0,), 2, 0, quota=True, io=True))
    assert [each.what for each in all_of_them if each.promised] == ["memory", "processes"]


@pytest.mark.statement("EX-16")
@pytest.mark.parametrize(
    ("slots", "nice", "weights"), [(1, 5, ("33", "336")), (2, -20, ("10000", "177636")), (1, 19, ("1", "15"))]
)
def test_nice_values_count_between_jobs_although_each_has_its_own_cgroup(slots: int, nice: int, weights: tuple[str, str]) -> None:
    v2, v1 = share(slots, nice).files
    assert (v2["cpu.weight"], v1["cpu.shares"]) == weights
