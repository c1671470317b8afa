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
        ({"h_fsize": 10, "s_fsize": 5}, 3, [ResourceLimit("fsize", 5, 10)]),
        ({"h_fsize": 10, "s_fsize": 20}, 1, [ResourceLimit("fsize", 10, 10)]),
        ({"h_fsize": 10, "s_fsize": None}, 1, [ResourceLimit("fsize", 10, 10)]),
        ({"h_fsize": None, "s_fsize": 5}, 1, [ResourceLimit("fsize", 5, None)]),
        ({"h_core": None, "s_core": None}, 1, [ResourceLimit("core", None, None)]),
        ({"h_vmem": 100, "s_vmem": 50}, 3, [ResourceLimit("vmem", 150, 300)]),
        ({"h_cpu": 0.5}, 1, [ResourceLimit("cpu", 1, 1)]),
        ({"h_stack": 8, "h_data": 9}, 2, [ResourceLimit("data", 18, 18), ResourceLimit("stack", 16, 16)]),
        ({"s_descriptors": 7}, 2, [ResourceLimit("descriptors", 7, 7)]),
        ({"h_maxproc": 7, "s_maxproc": 5}, 2, [ResourceLimit("maxproc", 5, 7)]),
    ],
)
def test_calls(limits: dict[str, float | None], slots: int, expected: list[ResourceLimit]) -> None:
    assert resource_limits(limits, slots) == expected


def test_limits_of_the_whole_job_are_not_multiplied() -> None:
    limits = {"h_vmem": 100, "s_vmem": 50}
    assert resource_limits(limits, 3, ["h_vmem"]) == [ResourceLimit("vmem", 100, 100)]
