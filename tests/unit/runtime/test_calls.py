"""Calls over a connection: answered in any order, failed when the other side is gone or breaks the rules."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest

from daemons.runtime.calls import LARGEST, CallFailedError, Handler, Link


async def pair(**handlers: Handler) -> tuple[Link, Link, asyncio.Task[None]]:
    """A caller, the side with these handlers, and the caller's task."""
    ends = socket.socketpair()
    one, other = [await asyncio.open_unix_connection(sock=end) for end in ends]
    caller, answering = Link(*one, {}), Link(*other, handlers)
    running = asyncio.create_task(caller.run())
    asyncio.create_task(answering.run()).add_done_callback(lambda _: None)
    return caller, answering, running


def test_calls_are_answered_in_any_order() -> None:
    async def scene() -> list[Any]:
        first = asyncio.Event()

        async def slow(data: bytes) -> bytes:
            await first.wait()
            return data

        async def quick() -> int:
            first.set()
            return 7

        caller, _, _ = await pair(slow=slow, quick=quick)
        return await asyncio.gather(caller.call("slow", b"x" * 100_000), caller.call("quick"))

    assert asyncio.run(scene()) == [b"x" * 100_000, 7]


def test_a_call_fails_with_the_reason_of_the_other_side() -> None:
    async def scene() -> None:
        async def refuse() -> None:
            raise CallFailedError("denied")

        async def fail() -> None:
            raise ValueError("wrong")

        caller, _, _ = await pair(refuse=refuse, fail=fail)
        for name, text in (("refuse", "^denied$"), ("fail", "ValueError: wrong"), ("missing", "KeyError")):
            with pytest.raises(CallFailedError, match=text):
                await caller.call(name)

    asyncio.run(scene())


def test_calls_fail_when_the_connection_ends() -> None:
    async def scene() -> None:
        async def never() -> None:
            await asyncio.Event().wait()

        caller, answering, running = await pair(never=never)
        waiting = asyncio.create_task(caller.call("never"))
        await asyncio.sleep(0)
        answering.close()
        await running
        for call in (waiting, caller.call("never")):
            with pytest.raises(CallFailedError, match="gone"):
                await call
        assert not caller.is_silent

    asyncio.run(scene())


@pytest.mark.parametrize("data", [struct.pack(">I", LARGEST + 1), struct.pack(">I", 1) + b"\xc1", struct.pack(">I", 1) + b"\x07"])
def test_a_side_that_sends_no_frames_is_cut_off(data: bytes) -> None:
    async def scene() -> None:
        near, far = socket.socketpair()
        link = Link(*await asyncio.open_unix_connection(sock=near), {})
        far.sendall(data)
        await link.run()
        far.close()

    asyncio.run(scene())


def test_a_connection_that_the_kernel_ends_was_silent() -> None:
    async def scene() -> bool:
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=near)
        reader.set_exception(TimeoutError("no answer to probes"))
        link = Link(reader, writer, {})
        await link.run()
        far.close()
        return link.is_silent

    assert asyncio.run(scene())
