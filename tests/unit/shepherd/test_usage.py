"""What is added up of a job's memory, and when it is looked at (EX-8)."""

from __future__ import annotations

import pytest

from shepherd import usage
from shepherd.usage import GIGABYTE, JobUsage


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Virtual memory of processes, in bytes, as /proc would show it."""
    held: dict[int, int] = {}

    def stat_fields(pid: int) -> list[bytes] | None:
        return [str(held[pid] if index == 20 else 0).encode() for index in range(40)] if pid in held else None

    monkeypatch.setattr(usage, "stat_fields", stat_fields)
    monkeypatch.setattr(usage, "io_bytes", lambda pid: 0)
    return held


@pytest.mark.statement("EX-8")
def test_every_job_is_looked_at_early_and_then_left_alone() -> None:
    used = JobUsage()
    assert used.deadline() is None
    used.began(100.0)
    looks = []
    while (at := used.deadline()) is not None:
        looks.append(at - 100.0)
        assert not used.due(at - 0.1)
        assert used.due(at)
    assert looks == [1, 3, 7, 15, 31]


@pytest.mark.statement("EX-8")
def test_memory_counts_from_the_start_of_the_job_to_its_end(memory: dict[int, int]) -> None:
    used = JobUsage()
    used.began(100.0)
    memory[7] = 2 * GIGABYTE
    used.sample([7], 101.0)
    memory[7] = 4 * GIGABYTE
    used.sample([7], 103.0)
    used.ended(104.0)
    final = used.final(4.0)
    assert final["mem"] == pytest.approx(2 * 1 + 3 * 2 + 4 * 1)
    assert final["maxvmem"] == 4 * GIGABYTE
    assert used.deadline() is None


@pytest.mark.statement("EX-8")
def test_job_that_was_never_looked_at_has_no_memory() -> None:
    used = JobUsage()
    used.began(100.0)
    used.ended(100.5)
    assert used.final(0.5)["mem"] == 0
