"""Which setrlimit calls follow from the limits of a job (QC-39, RL-6, RL-7, RL-10)."""

from __future__ import annotations

import pytest

from shepherd.limits import ResourceLimit, resource_limits


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
