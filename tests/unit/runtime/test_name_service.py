"""Lookups of users and groups: off the event loop, in limited time, and with the last answer while no new one comes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from daemons.runtime import local_users, name_service
from daemons.runtime.local_users import LocalUsers, UnknownCallerError
from daemons.runtime.name_service import Lookups, NameServiceError, find_user, group_name, user_name
from gridengine.protocols.gdi.requests import Caller


class Directory:
    """A directory server that answers at once, hangs or is away."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.known = {"ann": 900}
        self.is_away = False
        self.hangs, self._released = False, threading.Event()

    def __call__(self, name: str) -> int:
        self.asked.append(name)
        if self.hangs:
            assert self._released.wait(30), "only the loop can release it"
        if self.is_away:
            raise NameServiceError("away")
        return self.known[name]

    def answer(self) -> None:
        self.hangs = False
        self._released.set()


@pytest.fixture
def directory() -> Directory:
    return Directory()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clock on."""
    moved = [0.0]
    monkeypatch.setattr(name_service.time, "monotonic", lambda real=time.monotonic: real() + moved[0])
    return lambda seconds: moved.__setitem__(0, moved[0] + seconds)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scene())  # type: ignore[arg-type]


def test_the_loop_goes_on_while_a_directory_hangs_and_one_lookup_serves_all(directory: Directory) -> None:
    directory.hangs = True

    async def scene() -> None:
        lookups = Lookups(directory)
        requests = [asyncio.get_running_loop().create_task(lookups.find("ann")) for _ in range(3)]
        while not directory.asked:
            await asyncio.sleep(0)
        assert not any(request.done() for request in requests)
        directory.answer()
        assert await asyncio.gather(*requests) == [900, 900, 900]

    play(scene)
    assert directory.asked == ["ann"]


def test_a_lookup_that_takes_too_long_is_an_error_and_its_late_answer_serves_the_next(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.hangs = True
    monkeypatch.setattr(name_service, "PATIENCE_S", 0.01)

    async def scene() -> None:
        lookups = Lookups(directory, lambda name: f'user "{name}"')
        for _ in range(2):
            with pytest.raises(NameServiceError, match=r'cannot look up user "ann": the name service .* does not answer'):
                await lookups.find("ann")
        directory.answer()
        monkeypatch.setattr(name_service, "PATIENCE_S", 60.0)
        assert await lookups.find("ann") == 900

    play(scene)
    assert directory.asked == ["ann"]


@pytest.mark.parametrize("failure", ["away", "hangs"])
def test_the_last_answer_serves_while_the_directory_fails_but_not_without_end(
    directory: Directory, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    async def scene() -> None:
        lookups = Lookups(directory)
        assert await lookups.find("ann") == 900
        monkeypatch.setattr(name_service, "PATIENCE_S", 0.01 if failure == "hangs" else 60.0)
        directory.is_away, directory.hangs = failure == "away", failure == "hangs"
        assert await lookups.find("ann") == 900
        assert directory.asked == ["ann", "ann"]
        clock(name_service.KEPT_S)
        with pytest.raises(NameServiceError):
            await lookups.find("ann")
        directory.answer()

    play(scene)


def test_a_user_who_is_removed_is_unknown_at_the_next_lookup_and_a_new_one_known(
    directory: Directory, clock: Callable[[float], None]
) -> None:
    async def scene() -> None:
        lookups = Lookups(directory)
        assert await lookups.find("ann") == 900
        with pytest.raises(KeyError):
            await lookups.find("joe")
        directory.known = {"joe": 901}
        assert await lookups.find("joe") == 901
        with pytest.raises(KeyError):
            await lookups.find("ann")
        directory.is_away = True
        with pytest.raises(NameServiceError):
            await lookups.find("ann")

    play(scene)


def test_neither_answers_nor_threads_grow_beyond_their_limit(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_service, "MAX_ANSWERS", 3)
    monkeypatch.setattr(name_service, "MAX_PENDING", 2)
    directory.known = dict.fromkeys("abcdef", 1)

    async def scene() -> None:
        lookups = Lookups(directory)
        for name in "abcd":
            await lookups.find(name)
        directory.is_away = True
        assert await lookups.find("d") == 1
        with pytest.raises(NameServiceError):
            await lookups.find("a")
        directory.is_away, directory.hangs = False, True
        waiting = [asyncio.get_running_loop().create_task(lookups.find(name)) for name in "bf"]
        while len(directory.asked) < 8:
            await asyncio.sleep(0)
        with pytest.raises(NameServiceError):
            await lookups.find("e")
        directory.answer()
        assert await asyncio.gather(*waiting) == [1, 1]

    play(scene)


@pytest.mark.parametrize(("status", "is_away"), [(0, False), (2, True), (111, True)])
def test_a_service_that_was_not_reached_is_no_unknown_name(monkeypatch: pytest.MonkeyPatch, status: int, is_away: bool) -> None:
    """`status`: of getpwnam_r(3) and its siblings, 2 with a stopped nslcd."""

    class Library:
        def __getattr__(self, name: str) -> Callable[..., int]:
            return lambda *_: status

    monkeypatch.setattr(name_service, "_libc", Library())
    if is_away:
        for query, key in ((find_user, "no-such-user"), (user_name, 2**31 - 7), (group_name, 2**31 - 7)):
            with pytest.raises(NameServiceError):
                query(key)  # type: ignore[operator]
    else:
        assert (user_name(2**31 - 7), group_name(2**31 - 7)) == (None, str(2**31 - 7))
        with pytest.raises(KeyError):
            find_user("no-such-user")


def test_the_c_library_denies_names_of_files() -> None:
    with pytest.raises(KeyError):
        find_user("no-such-user")
    assert find_user("root").pw_uid == 0
    assert (user_name(0), group_name(0)) == ("root", "root")


def test_a_caller_without_a_name_is_numbers_and_one_who_cannot_be_looked_up_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[int, Any] = {1001: ("alice", "users"), 1003: NameServiceError("away")}

    def names_of(ids: tuple[int, int]) -> tuple[str, str]:
        found = names.get(ids[0], UnknownCallerError("no name"))
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    monkeypatch.setattr(local_users, "_names_of", names_of)
    monkeypatch.setattr(local_users.AccountFiles, "names", lambda *_: None)

    async def scene() -> None:
        users = LocalUsers()
        assert await users.caller(1001, 100, "h1") == Caller("alice", 1001, "users", 100, "h1")
        assert await users.caller(1002, 100, "h1") == Caller("1002", 1002, "100", 100, "h1")
        with pytest.raises(NameServiceError):
            await users.caller(1003, 100, "h1")

    play(scene)
