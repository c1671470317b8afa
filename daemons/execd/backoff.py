"""Exponential backoff with jitter: the time for which an exec host waits before it retries a failed action.

A hundred hosts lose the same master at the same moment; without jitter they would all reconnect in the same moment.
Called by the supervisor, the execd actor and `ray_head`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from daemons.runtime.cell import CellError
from daemons.runtime.ray_node import RayNodeError
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 10.0
STABLE_S = 30.0
"""Work that lasted this long was stable: the next pause is the first pause again, and its next failure is logged."""

_DOUBLINGS = 30  # beyond which no pause grows: a power of a float has an end


def backoff_s(failures: int, jitter: float, first_s: float, longest_s: float) -> float:
    """Seconds to wait after so many failures in a row (1 or more): between half and all of a time that doubles from `first_s`.

    `jitter`: from 0 to 1, different for each host and each attempt. No pause is longer than `longest_s`.
    """
    whole = min(longest_s, first_s * 2.0 ** min(failures - 1, _DOUBLINGS))
    return whole * (1.0 + jitter) / 2.0


async def keep_running(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do `work` forever: when it ends or fails it is restarted, with growing pauses if that happens at once.

    A failure is logged once until it changes, with a traceback where it is a bug.
    """
    failures, known = 0, ""
    clock = asyncio.get_running_loop().time
    while True:
        began, fault = clock(), None
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a bug in one work is not the end of the host
            fault = error
        stable = clock() - began > STABLE_S
        failures = 1 if stable else failures + 1
        text = f"{type(fault).__name__}: {plain_fault(fault)}" if fault is not None else ""
        if fault is not None and (stable or text != known):
            bug = not isinstance(fault, (OSError, CellError, RayNodeError))
            _log.error("%s failed, it is restarted: %s", name, plain_fault(fault), exc_info=fault if bug else None)
        known = text
        await asyncio.sleep(backoff_s(failures, random.random(), _FIRST_PAUSE_S, _LONGEST_PAUSE_S))
