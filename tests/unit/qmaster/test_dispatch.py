"""Delivery to hosts: the times without starts, pauses between retries, and the log lines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemons.qmaster.serve.hosts.dispatch import Dispatcher
from gridengine.protocols.delivery import Acknowledgement, Batch, Load, Start, decode, encode
from gridengine.values.task_key import TaskKey
from tests.harness import LOAD, Cell

HOST = "h1"


@pytest.fixture
def one(tmp_path: Path) -> Cell:
    return Cell(tmp_path, hosts=1, slots=50)


def placed(cell: Cell, tasks: str) -> int:
    job = cell.submit(tasks=tasks)
    cell.place()
    return job


def starts(data: bytes) -> list[TaskKey]:
    return [instruction.key for instruction in decode(data).instructions if isinstance(instruction, Start)]


@pytest.mark.statement("EX-9")
def test_no_task_is_started_on_a_host_that_is_lost(one: Cell) -> None:
    """A start that is long on its way would begin a task that is placed elsewhere by then. The instruction is sent when the
    host is back."""
    job, sent = placed(one, "1-3"), []

    async def call(host: str, data: bytes) -> bytes:
        sent.append(starts(data))
        return encode(Batch(acknowledgements=[Acknowledgement() for _ in decode(data).instructions]))

    async def scene() -> None:
        dispatcher = Dispatcher(one.master, call, one.master.flush, {HOST})
        one.master.lose_host(HOST)
        one.master.flush()
        dispatcher.wake(HOST)
        async with asyncio.timeout(60):
            while not sent:
                await asyncio.sleep(0)
            assert sent == [[]], "it is configured alone"
            one.report(HOST, Load(one.now, dict(LOAD), full=True, incarnation="boot1"))
            while len(sent) < 2:
                await asyncio.sleep(0)
        await dispatcher.stop()

    asyncio.run(scene())
    assert sent[1] == [TaskKey(job, task, 1) for task in (1, 2, 3)]


@pytest.mark.statement("EX-9")
def test_a_host_that_refused_before_its_inventory_gets_the_instruction_again_at_once(
    one: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a pause: else the host would request an inventory each time, if it is out of touch again by the next."""
    for name in ("FIRST_PAUSE_S", "LONGEST_PAUSE_S"):
        monkeypatch.setattr(f"daemons.qmaster.serve.hosts.dispatch.{name}", 1000.0)
    job, sent = placed(one, ""), []

    async def scene() -> None:
        async def call(host: str, data: bytes) -> bytes:
            sent.append(starts(data))
            if len(sent) == 1:
                dispatcher.inventoried(host)
            return encode(Batch(acknowledgements=[Acknowledgement(len(sent) > 1, again=True) for _ in decode(data).instructions]))

        dispatcher = Dispatcher(one.master, call, one.master.flush, {HOST})
        dispatcher.wake(HOST)
        async with asyncio.timeout(60):
            while len(sent) < 2:
                await asyncio.sleep(0)
        await dispatcher.stop()

    asyncio.run(scene())
    assert sent[:2] == [[TaskKey(job, 1, 1)]] * 2


@pytest.mark.statement("GC-4")
def test_a_host_that_cannot_be_reached_is_logged_once_while_it_is_up(one: Cell, caplog: pytest.LogCaptureFixture) -> None:
    async def call(host: str, data: bytes) -> bytes:
        raise LookupError("it has not joined")

    async def scene() -> None:
        dispatcher = Dispatcher(one.master, call, one.master.flush, {HOST})
        for _ in range(2):
            dispatcher._warn_once(HOST, "it has not joined")
        one.master.lose_host(HOST)
        dispatcher._warn_once(HOST, "another reason")

    asyncio.run(scene())
    assert [record.getMessage() for record in caplog.records if "cannot reach" in record.getMessage()] == [
        f"cannot reach execd on host {HOST}: it has not joined"
    ]


def test_a_host_that_is_down_is_retried_seldom_and_served_at_once_when_it_is_back(
    one: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    pauses: list[float] = []

    async def call(host: str, data: bytes) -> bytes:
        tried.append(host)
        raise LookupError("it has not joined")

    async def scene() -> None:
        dispatcher = Dispatcher(one.master, call, one.master.flush, {HOST})
        rest = dispatcher._wait_for_return

        async def rests(host: str, seconds: float) -> None:
            pauses.append(seconds)
            await rest(host, 0.0 if len(pauses) < 12 else 1000.0)

        monkeypatch.setattr(dispatcher, "_wait_for_return", rests)
        one.master.lose_host(HOST)
        one.master.flush()
        dispatcher.wake(HOST)
        while len(pauses) < 12:
            await asyncio.sleep(0)
        before = len(tried)
        dispatcher.note_reconnection(HOST)
        while len(tried) == before:
            await asyncio.sleep(0)
        await dispatcher.stop()

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert pauses[0] < 1.0 and pauses[11] == 60.0
