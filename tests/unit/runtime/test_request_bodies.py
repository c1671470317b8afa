"""Bodies of requests: the limit of one, the budget of all, the share of a user, and the timeout."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from daemons.runtime import request_bodies
from daemons.runtime.cell import Limits
from daemons.runtime.request_bodies import SMALL_BYTES, RequestBodies, RequestBodyError

PATIENCE_S = 60.0
LIMITS = Limits(max_request_size=SMALL_BYTES * 2, max_submit_size=SMALL_BYTES * 8)


class Pieces:
    """Content that comes in the given pieces. `taken`: how many were read."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = [*pieces, b""]
        self.taken = 0

    async def readany(self) -> bytes:
        self.taken += 1
        return self.pieces[self.taken - 1]


class Silence:
    """Content that never comes."""

    async def readany(self) -> bytes:
        await asyncio.Event().wait()
        return b""


async def read(name: str, length: int | None, *pieces: bytes) -> bytes:
    async with RequestBodies(LIMITS).read(name, length, Pieces(*pieces), "alice") as body:
        return body


def test_a_body_is_what_its_pieces_are() -> None:
    assert asyncio.run(read("status", 4, b"ab", b"cd")) == b"abcd"
    assert asyncio.run(read("status", None, b"ab", b"cd")) == b"abcd"
    assert asyncio.run(read("status", 0)) == b""


@pytest.mark.parametrize(("name", "limit"), [("status", LIMITS.max_request_size), ("submit", LIMITS.max_submit_size)])
def test_a_body_that_declares_too_large_a_size_is_not_read(name: str, limit: int) -> None:
    content = Pieces(b"x")

    async def ask() -> None:
        async with RequestBodies(LIMITS).read(name, limit + 1, content, "alice"):
            pass

    with pytest.raises(RequestBodyError, match=f"larger than {limit} bytes"):
        asyncio.run(ask())
    assert content.taken == 0
    assert len(asyncio.run(read(name, limit, b"x" * limit))) == limit


def test_a_body_that_becomes_too_large_is_read_no_further() -> None:
    content = Pieces(*[b"x" * SMALL_BYTES] * 100)

    async def ask() -> None:
        async with RequestBodies(LIMITS).read("status", None, content, "alice"):
            pass

    with pytest.raises(RequestBodyError, match="max_request_size"):
        asyncio.run(ask())
    assert content.taken == 3


def test_a_user_has_a_share_of_the_budget_and_small_requests_always_get_in() -> None:
    async def ask() -> list[str]:
        refused = []
        bodies = RequestBodies(LIMITS)
        async with AsyncExitStack() as stack:
            for client in ("alice", "alice", "alice", "bob", "bob", "carol"):
                try:
                    await stack.enter_async_context(bodies.read("submit", LIMITS.max_submit_size, Pieces(), client))
                except RequestBodyError as error:
                    assert error.may_retry
                    refused.append(client)
            await stack.enter_async_context(bodies.read("submit", SMALL_BYTES, Pieces(b"x" * SMALL_BYTES), "alice"))
            assert bodies.bytes_held == 4 * LIMITS.max_submit_size
        assert bodies.bytes_held == 0
        await stack.enter_async_context(bodies.read("submit", LIMITS.max_submit_size, Pieces(), "alice"))
        return refused

    assert asyncio.run(ask()) == ["alice", "carol"]


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bodies, "IDLE_S", 0.0)
    bodies = RequestBodies(LIMITS)

    async def ask() -> None:
        async with asyncio.timeout(PATIENCE_S), bodies.read("submit", LIMITS.max_submit_size, Silence(), "alice"):
            pass

    with pytest.raises(RequestBodyError, match="did not arrive in time"):
        asyncio.run(ask())
    assert bodies.bytes_held == 0
