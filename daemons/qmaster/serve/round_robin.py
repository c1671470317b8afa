"""Rounds of the event loop: of all large requests together, one part is done in each.

So the connections of one user do not add up. Called by `service` with the parts of `slices` and `reading_slices`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

_Part = TypeVar("_Part")


class RoundRobin:
    """Shared by all requests of a master."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def of(self, parts: Iterator[_Part | None]) -> AsyncIterator[_Part]:
        """The parts of a request; after one that is None, and between any two, others are served. A single one does not wait."""
        for number, part in enumerate(parts):
            if number or part is None:
                async with self._one_at_a_time:
                    await asyncio.sleep(0)
            if part is not None:
                yield part
