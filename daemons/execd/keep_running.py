"""Keeps the work of an exec host running, which is restarted after a failure, with growing pauses.

Called by the supervisor and the execd actor.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from daemons.runtime.backoff import Backoff
from daemons.runtime.cell import CellError
from daemons.runtime.log_once import LogOnce
from daemons.runtime.ray_node import RayNodeError
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 10.0
STABLE_S = 30.0
"""Work that lasted this long was stable: the next pause is the first pause again, and its next failure is logged."""


async def keep_running(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do `work` forever: when it ends or fails it is restarted, with growing pauses if that happens at once.

    A failure is logged once until it changes, with a traceback where it is a bug.
    """
    backoff, logged = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S, random.random), LogOnce()
    clock = asyncio.get_running_loop().time
    while True:
        began, fault = clock(), None
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a bug in one work is not the end of the host
            fault = error
        stable = clock() - began > STABLE_S
        if stable:
            backoff.reset()
        if stable or fault is None:
            logged.clear()
        if fault is not None and logged.is_new(f"{type(fault).__name__}: {plain_fault(fault)}"):
            bug = not isinstance(fault, (OSError, CellError, RayNodeError))
            _log.error("%s failed, it is restarted: %s", name, plain_fault(fault), exc_info=fault if bug else None)
        await asyncio.sleep(backoff.next_s())
