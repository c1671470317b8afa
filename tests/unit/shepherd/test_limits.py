"""The setrlimit calls that follow from the limits of a job (QC-39, RL-6, RL-7, RL-10)."""

from __future__ import annotations

import resource

import pytest

from shepherd.limits import ResourceLimit, apply, method_limits, resource_limits


@pytest.mark.statement("QC-39", "RL-6", "RL-7", "RL-10")
@pytest.mark.parametrize(
    ("limits", "slots", "expected"),
    [
        ({}, 1, []),
        ({"h_rt": 5, "s_rt": 5}, 1, []),
        ({"h_fsize": 40000, "s_fsize": 20000}, 3, [ResourceLimit("fsize", 20000, 40000)]),
        ({"h_fsize": 20000, "s_fsize": 40000}, 1, [ResourceLimit("fsize", 20000, 20000)]),
        ({"h_fsize": 20000, "s_fsize": None}, 1, [ResourceLimit("fsize", 20000, 20000)]),
        ({"h_fsize": None, "s_fsize": 20000}, 1, [ResourceLimit("fsize", 20000, None)]),
        ({"h_core": None, "s_core": None}, 1, [ResourceLimit("core", None, None)]),
        ({"h_vmem": 10**8, "s_vmem": 5 * 10**7}, 3, [ResourceLimit("vmem", 15 * 10**7, 3 * 10**8)]),
        ({"h_cpu": 2.5}, 1, [ResourceLimit("cpu", 3, 3)]),
        ({"h_stack": 2**21, "h_data": 2**24}, 2, [ResourceLimit("data", 2**25, 2**25), ResourceLimit("stack", 2**22, 2**22)]),
        # none is lower than what a shell needs to start
        ({"h_cpu": 0}, 1, [ResourceLimit("cpu", 2, 2)]),
        ({"h_fsize": 0}, 1, [ResourceLimit("fsize", 15360, 15360)]),
        ({"h_data": 1}, 1, [ResourceLimit("data", 10485760, 10485760)]),
        ({"s_stack": 1, "h_stack": 2**21}, 1, [ResourceLimit("stack", 1048576, 2**21)]),
        ({"h_rss": 1}, 1, [ResourceLimit("rss", 10485760, 10485760)]),
        ({"h_vmem": 2**20}, 2, [ResourceLimit("vmem", 10485760, 10485760)]),
        ({"h_core": 0}, 1, [ResourceLimit("core", 0, 0)]),
        ({"s_descriptors": 7}, 2, [ResourceLimit("descriptors", 7, 7)]),
        ({"h_maxproc": 7, "s_maxproc": 5}, 2, [ResourceLimit("maxproc", 5, 7)]),
        # none is higher than what the kernel takes
        ({"h_fsize": 1e23}, 1, [ResourceLimit("fsize", 2**63 - 1, 2**63 - 1)]),
        ({"h_vmem": 2**62}, 5, [ResourceLimit("vmem", 2**63 - 1, 2**63 - 1)]),
    ],
)
def test_calls(limits: dict[str, float | None], slots: int, expected: list[ResourceLimit]) -> None:
    assert resource_limits(limits, slots) == expected


def test_limits_of_the_whole_job_are_not_multiplied() -> None:
    limits = {"h_vmem": 10**8, "s_vmem": 5 * 10**7}
    assert resource_limits(limits, 3, ["h_vmem"]) == [ResourceLimit("vmem", 10**8, 10**8)]


@pytest.mark.statement("QC-39", "RL-4", "RL-5", "RL-10")
@pytest.mark.parametrize("side", ["s", "h"])
@pytest.mark.parametrize(
    "name", ["cpu", "fsize", "data", "stack", "core", "rss", "vmem", "descriptors", "maxproc", "memorylocked", "locks"]
)
def test_four_limits_grow_with_the_slots_and_those_of_execd_params_are_set_for_both(name: str, side: str) -> None:
    amount = 2**30
    multiplied = 3 * amount if name in ("cpu", "data", "stack", "vmem") else amount
    lone = name in ("descriptors", "maxproc", "memorylocked", "locks") or side == "h"
    expected = ResourceLimit(name, multiplied, multiplied if lone else None)
    assert resource_limits({f"{side}_{name}": amount}, 3) == [expected]


@pytest.mark.statement("RL-5")
def test_a_limit_of_the_whole_job_beside_one_of_each_slot() -> None:
    found = resource_limits({"h_vmem": 2**30, "s_vmem": 2**28, "h_stack": 2**30}, 2, ["h_vmem"])
    assert found == [ResourceLimit("stack", 2**31, 2**31), ResourceLimit("vmem", 2**29, 2**30)]


@pytest.mark.statement("RL-6")
def test_a_soft_limit_that_equals_the_hard_one_or_has_none_stays() -> None:
    assert resource_limits({"s_fsize": 20000, "h_fsize": 20000}, 1) == [ResourceLimit("fsize", 20000, 20000)]
    assert resource_limits({"s_core": 5, "h_core": 6}, 1) == [ResourceLimit("core", 5, 6)]


@pytest.mark.statement("RL-6", "QC-25")
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cpu", 600), ("fsize", 2**30), ("core", 0), ("data", 2**31), ("stack", 2**23), ("rss", 2**31),
        ("vmem", 2**32), ("descriptors", 256), ("memorylocked", 2**16), ("locks", 0),
    ],
)
def test_minimum_limits_of_a_method_of_the_owner(name: str, least: int) -> None:
    [found] = method_limits([ResourceLimit(name, 0, 0), ResourceLimit("maxproc", 0, 0)])
    assert found == ResourceLimit(name, least, least)
    high = [ResourceLimit(name, 2**40, None)]
    assert method_limits(high) == high


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, int]]:
    """The limits that are set; the kernel has none above 1000 for descriptors."""
    made: dict[int, tuple[int, int]] = {}

    def setrlimit(kind: int, limits: tuple[int, int]) -> None:
        if kind == resource.RLIMIT_NOFILE and not 0 <= limits[1] <= 1000:
            raise ValueError("not allowed to raise maximum limit")
        made[kind] = limits

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (500, 1000))
    return made


@pytest.mark.statement("RL-6")
def test_limits_on_memory_are_set_last_and_alone(kernel: dict[int, tuple[int, int]]) -> None:
    limits = resource_limits({f"h_{name}": 2**30 for name in ("cpu", "data", "stack", "rss", "vmem", "locks")}, 1)
    apply(limits, memory=False)
    assert set(kernel) == {resource.RLIMIT_CPU, 10}
    kernel.clear()
    apply(limits, memory=True)
    assert set(kernel) == {resource.RLIMIT_DATA, resource.RLIMIT_STACK, resource.RLIMIT_RSS, resource.RLIMIT_AS}


@pytest.mark.statement("RL-6", "RL-10")
@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (300, 900, (300, 900)), (300, 5000, (300, 1000)), (4000, 5000, (1000, 1000)),
        (None, None, (1000, 1000)), (7, None, (7, 1000)),
    ],
)
def test_a_limit_that_the_kernel_refuses_is_set_as_near_as_it_allows(
    kernel: dict[int, tuple[int, int]], soft: int | None, hard: int | None, expected: tuple[int, int]
) -> None:
    apply([ResourceLimit("descriptors", soft, hard)], memory=False)
    assert kernel == {resource.RLIMIT_NOFILE: expected}


@pytest.mark.statement("RL-6")
def test_no_limit_is_infinity_and_where_nothing_is_the_ceiling_all_is_allowed(
    kernel: dict[int, tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply([ResourceLimit("core", None, None)], memory=False)
    assert kernel == {resource.RLIMIT_CORE: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)}
    refused: list[tuple[int, int]] = []

    def setrlimit(_: int, limits: tuple[int, int]) -> None:
        refused.append(limits)
        if len(refused) == 1:
            raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (0, resource.RLIM_INFINITY))
    apply([ResourceLimit("core", 5, 6)], memory=False)
    assert refused == [(5, 6), (5, 6)]
