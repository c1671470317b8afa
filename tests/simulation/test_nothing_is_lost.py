"""A seeded simulation of the whole: the real service, scheduler and reporters, with lost and doubled messages, dead hosts,
disks that are full or lose unsynced data, and processes that are killed between any two steps.

A few seeds in each run of the tests; `make simulate` runs any number.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.seeds import run_seed
from tests.simulation.simulation import Simulation

SEEDS = range(12)
FAULTS = {
    "clock set", "execd killed", "full disk", "host cut off", "master died writing", "master ended itself", "master killed",
    "master lost its power", "power failed", "scheduler killed",
}  # fmt: skip
MESSAGES = {"lost", "late", "doubled", "given up", "answers lost", "cut"}


@pytest.mark.statement("SP-3", "SP-4", "SP-6", "EX-9", "EX-10", "EX-11", "CX-46", "TI-5")
def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path) -> None:
    """Through everything that can break, and all of it does."""
    faults: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    for seed in SEEDS:
        simulation, broken = run_seed(tmp_path / "cell", seed)
        assert not broken
        faults += simulation.faults
        messages += simulation.network.broken
    assert {fault.partition(":")[0] for fault in faults} >= FAULTS
    assert messages.keys() >= MESSAGES


@pytest.mark.parametrize("seed", [32, 200, 933, 1030, 1147, 1239, 1578, 1680, 1717, 5165])
def test_seeds_that_once_showed_a_fault_show_none(tmp_path: Path, seed: int) -> None:
    """docs/reliability.md lists the finding of each."""
    _, broken = run_seed(tmp_path / "cell", seed)
    assert not broken


def test_a_seed_is_the_same_run_to_the_very_step(tmp_path: Path) -> None:
    traces = []
    for _ in range(2):
        simulation, broken = run_seed(tmp_path / "cell", 4)
        assert not broken
        traces.append(simulation.trace)
    assert traces[0] == traces[1]
    assert len(traces[0]) > 200


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    one, other = (run_seed(tmp_path / "cell", seed, 20)[0] for seed in (1, 2))
    assert one.trace != other.trace


def test_a_breach_names_seed_and_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it can be looked at."""
    monkeypatch.setattr(Simulation, "_actions", lambda self: [(self.fall_over, 1)])
    monkeypatch.setattr(Simulation, "fall_over", lambda self: self.loop.faults.append(ValueError("fell over")), raising=False)
    simulation, broken = run_seed(tmp_path / "cell", 7, 20)
    assert broken.startswith(f"seed 7, step {simulation.step}: no bugs:")
