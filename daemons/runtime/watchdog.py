"""Notifies systemd that a daemon serves, while it really does: the watchdog of a unit with WatchdogSec.

Owns the interval and the heartbeats. The daemon provides the check; systemd restarts a daemon whose heartbeats stop. Called by
the four daemons. Source: sd_watchdog_enabled(3), systemd.service(5) WatchdogSec.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from daemons.runtime.daemon import notify

_HEARTBEATS = 4
"""Heartbeats in the time that systemd waits for a heartbeat: a check that takes a whole interval does no harm."""


def interval_s(environment: Mapping[str, str] = os.environ) -> float:
    """Seconds between two heartbeats; 0.0 if systemd expects none from this process."""
    try:
        if int(environment.get("WATCHDOG_PID", os.getpid())) != os.getpid():
            return 0.0  # inherited by a child of that daemon
        return max(0.0, int(environment.get("WATCHDOG_USEC", "0")) / 1e6 / _HEARTBEATS)
    except ValueError:
        return 0.0


async def is_loop_running() -> bool:
    """True: that the event loop runs this is the proof."""
    return True


@asynccontextmanager
async def feed_watchdog(is_serving: Callable[[], Awaitable[bool]] = is_loop_running) -> AsyncIterator[None]:
    """Send heartbeats inside of this block while `is_serving()` returns true in time."""
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
