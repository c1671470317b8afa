"""A web application in a thread, for browsers: their driver keeps the main one busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

from aiohttp import web

T = TypeVar("T")
PATIENCE_S = 60.0


class Serving:
    """`make`: gives the application, on the event loop that it is going to run on."""

    def __init__(self, make: Callable[[], Awaitable[web.Application]]) -> None:
        self._make = make
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready: Future[int] = Future()

    def start(self) -> str:
        """The address of the server."""
        self._thread.start()
        return f"http://127.0.0.1:{self._ready.result(PATIENCE_S)}"

    def call(self, function: Callable[[], T]) -> T:
        """The result of a function that runs between two requests."""

        async def called() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(PATIENCE_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = self._loop.run_until_complete(self._begin())
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _begin(self) -> web.AppRunner:
        # a stream ends with its page
        runner = web.AppRunner(await self._make(), handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._ready.set_result(runner.addresses[0][1])
        return runner
