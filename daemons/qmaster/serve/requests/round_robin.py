"""Shares the event loop among large requests: each round carries out one part of one of them.

Many connections of one user therefore do not slow other users down. Called by `service` with the parts of `slices` and
`reading_slices`.
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
        """The parts of a request; other requests are served between any two parts, and after each None. A single part does
        not wait."""
        for number, part in enumerate(parts):
            if number or part is None:
                async with self._one_at_a_time:
                    await asyncio.sleep(0)
            if part is not None:
                yield part
