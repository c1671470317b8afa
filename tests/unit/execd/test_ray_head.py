"""When an exec host takes the head of the cell's Ray cluster for gone."""

from __future__ import annotations

import asyncio

from daemons.execd.ray_head import wait_until_head_gone


class Listener:
    """Something that listens where a head does; `held`: the connections that it has."""

    def __init__(self) -> None:
        self.held: list[asyncio.StreamWriter] = []
        self.came = asyncio.Event()

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return f"127.0.0.1:{port}"

    async def _take(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.held.append(writer)
        self.came.set()

    async def again(self) -> None:
        self.came.clear()
        await self.came.wait()

    def hang_up(self) -> None:
        while self.held:
            self.held.pop().close()

    def end(self) -> None:
        self._server.close()
        self.hang_up()


def test_a_head_that_refuses_is_gone() -> None:
    async def play() -> None:
        listener = Listener()
        head = await listener.start()
        gone = asyncio.create_task(wait_until_head_gone(head))
        await listener.came.wait()
        listener.end()
        async with asyncio.timeout(30):
            await gone

    asyncio.run(play())


def test_a_connection_that_is_closed_is_made_again() -> None:
    async def play() -> None:
        listener = Listener()
        gone = asyncio.create_task(wait_until_head_gone(await listener.start()))
        await listener.came.wait()
        for _ in range(3):
            listener.hang_up()
            async with asyncio.timeout(30):
                await listener.again()
        assert not gone.done(), "its head listens still"
        listener.end()
        async with asyncio.timeout(30):
            await gone

    asyncio.run(play())
