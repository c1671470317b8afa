"""The resources given to a task instead of its usage (EX-16)."""

from __future__ import annotations

import pytest

from gridengine.usage.reserved_usage import Allocation, reserved


@pytest.mark.statement("EX-16")
def test_wall_clock_and_memory_limit_count() -> None:
    assert reserved(Allocation.of(3, {"h_vmem": 2.0**30}, []), 10.0) == {"cpu": 30.0, "mem": 30.0, "maxvmem": 3 * 2.0**30}
    assert reserved(Allocation.of(3, {"h_vmem": None, "s_vmem": 2.0**30}, ["s_vmem"]), 10.0)["mem"] == 10.0
    assert reserved(Allocation.of(1, {"h_vmem": None}, []), 10.0) == {"cpu": 10.0}
