"""The seeded simulation with named units: lost hosts, given up tasks and dying masters, and no unit with two processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.placement import unit_choice
from tests.simulation.seeds import run_seed
from tests.simulation.units import UnitsSimulation

SEEDS = range(3)


@pytest.mark.statement("SP-3", "EX-9")
def test_no_unit_has_two_processes_when_hosts_and_masters_fail(tmp_path: Path) -> None:
    given = 0
    for seed in SEEDS:
        simulation, broken = run_seed(tmp_path / "cell", seed, cell=UnitsSimulation)
        assert not broken
        assert isinstance(simulation, UnitsSimulation)
        given += simulation.given
    assert given > 20 * len(SEEDS)


def test_the_rule_finds_units_that_are_given_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_choice, "free_shares", lambda *place: dict(unit_choice.shares_of(*place)))
    _, broken = run_seed(tmp_path / "cell", SEEDS[0], cell=UnitsSimulation)
    assert ": units: " in broken
