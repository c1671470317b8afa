"""A subscription: the items between a publisher and one subscriber on the same event loop, such as the client of a stream.

Owns the queue, its limit, the wake-up of the subscriber, the heartbeat and the end. A publisher never waits: a subscriber with
more unread items than the limit is too slow. Called by the streams of the qmaster and of the web server.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Subscription(Generic[Item]):
    """The publisher calls `publish` and `close`; the subscriber iterates (`async for`) until the subscription is closed.

    `limit`: the largest number of unread items, None for no limit. `heartbeat`: seconds, and the item that the subscriber gets
    after so many seconds without another item. `unread`: items that the subscriber has not taken yet.
    """

    def __init__(self, limit: int | None = None, heartbeat: tuple[float, Item] | None = None) -> None:
        self.unread: deque[Item] = deque()
        self._limit, self._heartbeat = limit, heartbeat
        self._closed = False
        self._wakeup = asyncio.Event()

    def publish(self, *items: Item) -> bool:
        """Add items. Returns False if the subscription is closed: earlier, or now, because an item exceeds the limit."""
        for item in items:
            if self._limit is not None and len(self.unread) >= self._limit:
                self.close()
            if self._closed:
                return False
            self.unread.append(item)
            self._wakeup.set()
        return True

    def close(self, *, discard: bool = False) -> None:
        """End the iteration after the unread items, or at once: `discard` removes them."""
        self._closed = True
        if discard:
            self.unread.clear()
        self._wakeup.set()

    def __aiter__(self) -> Subscription[Item]:
        return self

    async def __anext__(self) -> Item:
        """Return the next item, or the heartbeat. Raises StopAsyncIteration once the subscription is closed and all is read."""
        while not self.unread:
            if self._closed:
                raise StopAsyncIteration
            self._wakeup.clear()
            if self._heartbeat is None:
                await self._wakeup.wait()
                continue
            interval_s, item = self._heartbeat
            try:
                async with asyncio.timeout(interval_s):
                    await self._wakeup.wait()
            except TimeoutError:
                return item
        return self.unread.popleft()
