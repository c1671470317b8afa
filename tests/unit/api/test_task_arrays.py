"""Division of chunks among tasks."""

from __future__ import annotations

import pytest

from gridengine.api.running_arrays import CallChunk
from gridengine.api.task_arrays import TASKS, group_into_tasks


def chunks_of(function: bytes, number: int, alone: bool) -> list[CallChunk]:
    """The chunks of a map."""
    return [CallChunk(function, b"", "call", 0, lambda outcomes, log: None, alone) for _ in range(number)]


@pytest.mark.parametrize(
    ("number", "alone", "sizes"),
    [
        (TASKS, False, [1] * TASKS),
        (TASKS + 1, False, [2] * 32 + [1]),
        (1000, False, [16] * 62 + [8]),
        (TASKS + 1, True, [1] * (TASKS + 1)),
        (0, False, []),
    ],
)
def test_the_number_of_chunks_of_a_task(number: int, alone: bool, sizes: list[int]) -> None:
    chunks = chunks_of(b"f", number, alone)
    tasks = list(group_into_tasks(chunks))
    assert [len(task) for task in tasks] == sizes and sum(tasks, []) == chunks


def test_chunks_of_two_maps_share_no_task() -> None:
    one, other, back = chunks_of(b"f1", 65, False), chunks_of(b"f2", 1, False), chunks_of(b"f3", 2, True)
    tasks = list(group_into_tasks([*one, *other, *back]))
    assert [len(task) for task in tasks] == [2] * 32 + [1, 1, 1, 1]
    assert all(len({chunk.function for chunk in task}) == 1 for task in tasks)
