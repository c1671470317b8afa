"""The mirror equals the committed state of the qmaster, for changes before and after its start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from msgspec import Raw, structs

from daemons.qmaster.serve.streams import mirrors as qmasters
from daemons.runtime.qmaster_client import LocalCaller, QmasterClient
from daemons.web.mirror import MirroredChange, StateMirror, follow
from gridengine.protocols.gdi.requests import Caller
from gridengine.protocols.mirroring import decode_line
from tests.harness import Cell
from tests.unit.web.followed import ALICE, ROOT, Followed


def _jobs_run(cell: Cell) -> None:
    for name in ("a", "b"):
        cell.submit("alice", name=name)
    cell.submit("alice", name="many", tasks="1-20")
    cell.cycle()


def _one_ends(cell: Cell) -> None:
    _jobs_run(cell)
    cell.end(1)


def _a_queue_changes(cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", slots="2")
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])


def _a_host_is_lost(cell: Cell) -> None:
    cell.master.lose_host("h3")


STEPS = [_jobs_run, _one_ends, _a_queue_changes, _a_host_is_lost]


@pytest.mark.parametrize("step", STEPS)
def test_the_mirror_follows_every_change(followed: Followed, step: Callable[[Cell], None]) -> None:
    before = followed.mirror.state.revision
    step(followed.cell)
    followed.cell.master.flush()
    assert followed.alike()
    assert followed.mirror.state.revision > before


@pytest.mark.parametrize("step", STEPS)
def test_a_mirror_that_comes_later_has_all_of_it(cell: Cell, step: Callable[[Cell], None]) -> None:
    step(cell)
    assert Followed(cell).alike()


def test_an_uncommitted_change_is_not_mirrored(followed: Followed) -> None:
    followed.changes.clear()
    followed.cell.undecided("submit", {"binary": True, "script_file": "/bin/sleep"})
    followed.take()
    assert followed.changes == []
    followed.cell.master.flush()
    followed.take()
    (change,) = followed.changes
    assert change.user == "alice"
    assert change.affected.jobs == {1}
    assert "JobSubmitted" in [type(event).__name__ for event in change.events]


def test_the_start_of_the_mirror_is_one_change_of_everything(followed: Followed) -> None:
    assert [(change.whole, change.events) for change in followed.changes] == [(True, [])]
    followed.mirror.mark_disconnected()
    followed.begin()
    assert [change.whole for change in followed.changes] == [True, True]


def test_the_mirror_knows_its_age(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("daemons.web.mirror.time.monotonic", lambda: clock[0])
    followed.mirrors.send_heartbeat()
    followed.take()
    begin = followed.mirror.now
    assert begin == pytest.approx(followed.cell.now)
    clock[0] += 3
    assert (followed.mirror.now - begin, followed.mirror.age_s) == (pytest.approx(3), 0.0)
    followed.mirror.mark_disconnected()
    clock[0] += 4
    assert (followed.mirror.now, followed.mirror.age_s) == (pytest.approx(begin), pytest.approx(7))
    assert followed.mirror.ready, "what it has can be read"


def test_measures_come_with_the_heartbeat(followed: Followed) -> None:
    followed.measures.commit.note(0.002)
    followed.measures.commit.note(99)
    followed.mirrors.send_heartbeat()
    followed.take()
    commit = followed.mirror.measures.commit
    assert (commit.counts[1], commit.counts[-1], sum(commit.counts), commit.seconds) == (1, 1, 2, 99.002)


@pytest.mark.parametrize("line", [b"", b"{", b'{"line": "Nothing"}', b'{"line": "NoMirror", "reason": "denied"}'])
def test_a_line_that_is_none_breaks_the_connection(followed: Followed, line: bytes) -> None:
    with pytest.raises(ConnectionError):
        followed.mirror.take(line)


def test_an_event_that_cannot_follow_breaks_the_connection(followed: Followed) -> None:
    followed.cell.submit()
    lines = [bytes(line) for line in followed.lines.unread]
    other = Followed(followed.cell).mirror
    with pytest.raises(ConnectionError, match="out of step"):
        for line in lines:
            other.take(line)


def test_a_slow_subscriber_is_cut_off(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qmasters, "MAX_BEHIND", 3)
    slow, quick = followed.mirrors.subscribe(), followed.mirrors.subscribe()
    received: list[Any] = []
    for _ in range(6):
        received += [decode_line(bytes(line)) for line in quick.unread]
        quick.unread.clear()
        followed.mirrors.send_heartbeat()

    async def rest() -> list[Raw]:
        return [line async for line in slow]

    assert asyncio.run(rest()) == []
    assert [line.time for line in received[-5:]] == [followed.cell.now] * 5


@pytest.mark.parametrize(
    ("caller", "first"),
    [
        (structs.replace(ALICE, uid=os.geteuid() + 1), "NoMirror"),
        (ROOT, "WholeState"),
        (structs.replace(ALICE, daemon=True), "WholeState"),
    ],
)
def test_daemons_alone_may_mirror_the_state(followed: Followed, caller: Caller, first: str) -> None:
    async def play() -> bytes:
        app = web.Application()
        app.router.add_post("/", partial(followed.mirrors.stream, body=b"", caller=caller))
        async with TestClient(TestServer(app)) as client, client.post("/") as response:
            return await response.content.readuntil(b'"') + await response.content.read(20)

    assert first in asyncio.run(play()).decode()


def test_a_bug_in_a_follower_is_logged_and_the_mirror_connects_again(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("daemons.web.mirror._PAUSE_S", 0.01)
    mirror, failures = StateMirror(), iter([KeyError("a bug"), None])

    def fail_once(_: MirroredChange) -> None:
        if fault := next(failures, None):
            assert mirror.connected
            raise fault

    mirror.followers.append(fail_once)

    async def play() -> None:
        app = web.Application()
        app.router.add_post("/v1/mirror", partial(followed.mirrors.stream, body=b"", caller=ROOT))
        async with TestClient(TestServer(app)) as client:

            class Connection:
                async def post(self, path: str, body: bytes, caller: LocalCaller) -> Any:
                    return await client.post(path, data=body)

            task = asyncio.create_task(follow(mirror, cast("QmasterClient", Connection()), LocalCaller("root", 0, "root", 0)))
            async with asyncio.timeout(60):
                while not (mirror.connected and "KeyError" in caplog.text):
                    await asyncio.sleep(0.01)
            assert not task.done()
            task.cancel()

    asyncio.run(play())
    assert [record.levelname for record in caplog.records if record.name == "daemons.web.mirror"] == ["ERROR", "WARNING"]
