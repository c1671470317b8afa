"""The limits of concurrent requests of a user."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemons.web.access import shares
from tests.unit.web.access_server import AccessServer, Client, status
from tests.unit.web.followed import ALICE, BOB

STREAMS = ["/api/v1/events", "/live?page=/jobs"]


@pytest.mark.parametrize("path", STREAMS)
def test_streams_of_a_user_are_limited_over_all_their_tokens(
    access_server: AccessServer, at: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MOST_STREAMS", 2)
    tokens = [{"Authorization": f"Bearer {access_server.sessions.grant(ALICE, 1)[0]}"} for _ in range(3)]
    bobs = {"Authorization": f"Bearer {access_server.sessions.grant(BOB, 1)[0]}"}

    async def play(client: Client) -> list[Any]:
        open_ones = [await client.get(path, headers=token) for token in tokens[:2]]
        async with client.get(path, headers=tokens[2]) as refused:
            seen = [refused.status, "Retry-After" in refused.headers]
        seen.append(await status(client, "/api/v1/jobs", headers=tokens[2]))
        async with client.get(path, headers=bobs) as others:
            seen.append(others.status)
        open_ones.pop().close()
        while await status(client, "/live?page=/nowhere", headers=tokens[2]) == 429:
            await asyncio.sleep(0.01)
        open_ones.pop().close()
        return seen

    assert at(play) == [429, True, 200, 200]


def test_other_requests_of_a_user_wait_for_each_other() -> None:
    async def play() -> int:
        most = now = 0

        async def answered(request: Any) -> Any:
            nonlocal most, now
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

        class Request:
            path = "/api/v1/jobs"

        bounded = shares.Shares()
        await asyncio.gather(*(bounded.answer("alice", Request(), answered) for _ in range(3 * shares.MOST_REQUESTS)))  # type: ignore[arg-type]
        return most

    assert asyncio.run(play()) == shares.MOST_REQUESTS
