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

_HEARTBEATS = 4
"""Beats in the time that systemd waits for one: a question that takes a whole interval costs none of them."""


def interval_s(environment: Mapping[str, str] = os.environ) -> float:
    """Seconds between two beats; 0.0 where systemd wants none of this process."""
    try:
        if int(environment.get("WATCHDOG_PID", os.getpid())) != os.getpid():
            return 0.0  # inherited by a child of the daemon that is meant
        return max(0.0, int(environment.get("WATCHDOG_USEC", "0")) / 1e6 / _HEARTBEATS)
    except ValueError:
        return 0.0


async def is_loop_running() -> bool:
    """That the event loop comes to this is all that there is to say."""
    return True


@asynccontextmanager
async def feed_watchdog(is_serving: Callable[[], Awaitable[bool]] = is_loop_running) -> AsyncIterator[None]:
    """Beat inside of this block whenever `is_serving()` says so in time."""
    heartbeats = asyncio.create_task(_send_heartbeats(is_serving, interval_s()))
    try:
        yield
    finally:
        heartbeats.cancel()
        await asyncio.gather(heartbeats, return_exceptions=True)


async def _send_heartbeats(is_serving: Callable[[], Awaitable[bool]], interval: float) -> None:
    while interval:
        await asyncio.sleep(interval)
        try:
            async with asyncio.timeout(interval):
                is_alive = await is_serving()
        except (OSError, TimeoutError):
            is_alive = False
        if is_alive:
            notify("WATCHDOG=1")
