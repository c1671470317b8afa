"""Telling systemd that a daemon serves, for as long as it really does: the watchdog of a unit with WatchdogSec.

Owns the interval and the beats. What serving means comes from the daemon; one that does not say so in time is started again by
systemd. Called by the four daemons. Source: sd_watchdog_enabled(3), systemd.service(5) WatchdogSec.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from daemons.runtime.daemon import notify

_BEATS = 4
"""Beats in the time that systemd waits for one: a question that takes a whole interval costs none of them."""


def interval_s(environment: Mapping[str, str] = os.environ) -> float:
    """Seconds between two beats; 0.0 where systemd wants none of this process."""
    try:
        if int(environment.get("WATCHDOG_PID", os.getpid())) != os.getpid():
            return 0.0  # inherited by a child of the daemon that is meant
        return max(0.0, int(environment.get("WATCHDOG_USEC", "0")) / 1e6 / _BEATS)
    except ValueError:
        return 0.0


async def turning() -> bool:
    """That the event loop comes to this is all that there is to say."""
    return True


@asynccontextmanager
async def watched(serves: Callable[[], Awaitable[bool]] = turning) -> AsyncIterator[None]:
    """Beat inside of this block whenever `serves()` says so in time."""
    beats = asyncio.create_task(_beat(serves, interval_s()))
    try:
        yield
    finally:
        beats.cancel()
        await asyncio.gather(beats, return_exceptions=True)


async def _beat(serves: Callable[[], Awaitable[bool]], interval: float) -> None:
    while interval:
        await asyncio.sleep(interval)
        try:
            async with asyncio.timeout(interval):
                served = await serves()
        except (OSError, TimeoutError):
            served = False
        if served:
            notify("WATCHDOG=1")
