"""Names of local users: asked off the event loop, once, and not remembered without end."""

import asyncio
import threading

import pytest

from daemons.runtime import local_users
from daemons.runtime.local_users import LocalUsers
from gridengine.protocols.gdi.requests import Caller


def test_the_loop_goes_on_while_a_directory_server_thinks_and_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    asked: list[int] = []

    def slow(uid: int, gid: int, host: str) -> Caller:
        asked.append(uid)
        assert answered.wait(30), "only the loop can release it"
        return Caller("alice", uid, "users", gid, host)

    monkeypatch.setattr(local_users, "_caller_of", slow)

    async def play() -> None:
        users = LocalUsers()
        first = asyncio.get_running_loop().create_task(users.caller(1001, 100, "h1"))
        while not asked:
            await asyncio.sleep(0)
        assert not first.done()
        answered.set()
        assert await first == await users.caller(1001, 100, "h1") == Caller("alice", 1001, "users", 100, "h1")

    asyncio.run(play())
    assert asked == [1001]


def test_no_more_callers_are_remembered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_users, "MAX_REMEMBERED", 3)
    asked: list[int] = []
    monkeypatch.setattr(local_users, "_caller_of", lambda uid, gid, host: (asked.append(uid), Caller("", uid, "", gid, host))[1])

    async def play() -> None:
        users = LocalUsers()
        for uid in (1, 2, 3, 4, 4, 1):
            await users.caller(uid, 100, "h1")

    asyncio.run(play())
    assert asked == [1, 2, 3, 4, 1]
