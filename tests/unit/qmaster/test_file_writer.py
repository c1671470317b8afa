"""Files of `common/` are written beside the event loop: a disk that hangs delays their lines and nothing else."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve import file_writer
from daemons.qmaster.serve.service import Service
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

ALICE = Caller("alice", 1001, "users", 1001, "h1")
PATIENCE_S = 60


@pytest.fixture
def hanging(cell: Cell) -> Iterator[Path]:
    """A reporting file on a disk that hangs: a pipe without a reader. Opening it for writing blocks. Should that be the
    event loop, the disk is there again after a while, and the test has failed."""
    cell.configure("configuration", "global", reporting_params="reporting=true")
    path = cell.directory / "reporting"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    opened: list[int] = []
    patience = threading.Timer(2 * PATIENCE_S, lambda: opened.append(os.open(path, os.O_RDWR)))
    patience.start()
    yield path
    patience.cancel()
    assert not opened, "the loop waited for the disk"


@asynccontextmanager
async def serving(cell: Cell) -> AsyncIterator[Service]:
    service = Service(cell.master, IdleCallbacks())
    await service.start(cell.directory / "gdi.sock", "master", lambda _: "")
    try:
        yield service
    finally:
        await service.stop()


async def submit(service: Service) -> int:
    """The number of a job, once its submission is answered."""
    body = msgspec.json.encode({"binary": True, "script_file": "/bin/sleep"})
    answer: Answer = await asyncio.wait_for(service.answer("submit", body, ALICE), PATIENCE_S)
    assert answer.status == 0, answer.answers
    return int(answer.data["job_id"])  # type: ignore[index, call-overload]


def jobs(text: str) -> list[int]:
    return [int(line.split(":")[3]) for line in text.splitlines()]


async def read(path: Path, count: int) -> list[int]:
    """The jobs of so many records that come through the pipe."""
    text, pipe = b"", os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    async with asyncio.timeout(PATIENCE_S):
        while text.count(b"\n") < count:
            with suppress(BlockingIOError):
                text += os.read(pipe, 65536)
            await asyncio.sleep(0)
    os.close(pipe)
    return jobs(text.decode())


@pytest.mark.statement("RP-1")
def test_a_disk_that_hangs_holds_no_request_and_loses_nothing(cell: Cell, hanging: Path) -> None:
    async def scenario() -> None:
        async with serving(cell) as service:
            submitted = [await submit(service) for _ in range(3)]
            assert await read(hanging, 3) == submitted

    asyncio.run(scenario())


def test_an_end_does_not_wait_for_a_disk_that_hangs(
    cell: Cell, hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "LONGEST_END_S", 0.0)
    submitted: list[int] = []

    async def scenario() -> None:
        async with serving(cell) as service:
            submitted.extend([await submit(service) for _ in range(2)])

    asyncio.run(scenario())
    assert asyncio.run(read(hanging, 1)), "the disk is there again, but for a file that nobody knows any more"
    hanging.unlink()
    cell.restart()
    assert jobs(hanging.read_text()) == submitted


def test_an_end_waits_for_what_the_disk_takes(cell: Cell) -> None:
    cell.configure("configuration", "global", reporting_params="reporting=true")
    submitted: list[int] = []

    async def scenario() -> None:
        async with serving(cell) as service:
            submitted.extend([await submit(service) for _ in range(5)])

    asyncio.run(scenario())
    assert jobs((cell.directory / "reporting").read_text()) == submitted


def test_a_bug_in_one_thing_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    results: list[Any] = []

    async def scenario() -> None:
        writer = file_writer.FileWriter()
        for work in (lambda: 1, lambda: 1 // 0, lambda: 2):
            writer.carry_out(work, results.append)
        await writer.stop()

    asyncio.run(scenario())
    assert results == [1, None, 2]
    assert "a file could not be written" in caplog.text
