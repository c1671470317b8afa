"""The keys of attempts: of a task's master, and of its slave tasks.

Owns the order of their numbers; in JSON they are lists of 3 and 4 numbers. Pure, of the standard library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class TaskKey(tuple[int, ...]):
    """Names one attempt to run a task, or (`SlaveKey`) a slave task of it: a tuple (job id, task id, attempt). Serial jobs have
    the task id 1.
    """

    __slots__ = ()

    def __new__(cls, job: int, task: int, attempt: int) -> Self:
        return tuple.__new__(cls, (job, task, attempt))

    @property
    def job(self) -> int:
        return self[0]

    @property
    def task(self) -> int:
        return self[1]

    @property
    def attempt(self) -> int:
        return self[2]

    @property
    def master(self) -> tuple[int, int, int]:
        """Job, task and attempt to which this master or slave task belongs."""
        return self[0], self[1], self[2]

    @staticmethod
    def of(numbers: Sequence[int]) -> TaskKey:
        """The key that was written as these numbers. Raises ValueError."""
        if len(numbers) == 3:
            return TaskKey(*numbers)
        if len(numbers) == 4:
            return SlaveKey(*numbers)
        raise ValueError(f"a task has 3 or 4 numbers, not {len(numbers)}")


class SlaveKey(TaskKey):
    """Names a slave task: (job id, task id, attempt, number of the slave task)."""

    __slots__ = ()

    def __new__(cls, job: int, task: int, attempt: int, number: int) -> Self:
        return tuple.__new__(cls, (job, task, attempt, number))

    @property
    def number(self) -> int:
        return self[3]
