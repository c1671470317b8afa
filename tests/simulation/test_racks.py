"""The seeded simulation with all hosts in one rack: its node dies, hands over, is cut off, and no task is lost or doubled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.racks import RackSimulation
from tests.simulation.seeds import run_seed

SEEDS = range(5)


@pytest.mark.statement("SP-3", "EX-9", "EX-10")
def test_nothing_is_lost_and_nothing_runs_twice_in_a_rack(tmp_path: Path) -> None:
    faults: Counter[str] = Counter()
    takeovers = 0
    for seed in SEEDS:
        simulation, broken = run_seed(tmp_path / "cell", seed, cell=RackSimulation)
        assert not broken
        assert isinstance(simulation, RackSimulation)
        faults += simulation.faults
        takeovers += simulation.rack.takeovers
    assert faults["rack node killed"] > 0 and takeovers > len(SEEDS)
