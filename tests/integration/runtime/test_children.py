"""Children of an event loop, with programs whose own children hold their pipes or fill them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Iterator

import psutil
import pytest

from daemons.runtime import children

LONG = 60.0


@pytest.fixture
def sleeps() -> Iterator[str]:
    """Duration of the sleepers of this test in seconds, unique to it; no sleeper is left."""
    seconds = f"{10**6 + os.getpid()}.{time.monotonic_ns()}"
    yield seconds
    for process in sleepers(seconds):
        process.kill()


def sleepers(seconds: str) -> list[psutil.Process]:
    """The sleepers themselves: a shell or setsid that has not executed sleep yet may still be in the session of its parent."""
    return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", seconds]]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LONG):
        while not condition():
            await asyncio.sleep(0.01)


def begin(script: str) -> Awaitable[Process]:
    return children.begin("/bin/sh", "-c", script, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=1024)


@pytest.mark.parametrize("turns", range(8))
def test_cancelling_the_start_of_a_process_leaves_no_process(sleeps: str, turns: int) -> None:
    async def play() -> None:
        beginning = asyncio.ensure_future(begin(f"sleep {sleeps} & cat /dev/zero"))
        for _ in range(turns):
            await asyncio.sleep(0)
        time.sleep(0.05)  # the process is further than the loop
        if beginning.done():
            await children.end(beginning.result())
        else:
            beginning.cancel()
            done, _ = await asyncio.wait([beginning], timeout=LONG)
            assert done and beginning.cancelled()
        await until(lambda: sleepers(sleeps) == [])

    asyncio.run(play())


def test_a_missing_program_raises_file_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(children.begin("/no/such/program"))


@pytest.mark.parametrize(
    ("script", "lives_on"),
    [
        ("sleep {} & exec cat /dev/zero", False),
        ("sleep {} & cat /dev/zero", False),
        ("exec 3<&0; setsid sleep {} <&3 & exec sleep 1000", True),
        ("exec 3<&0; setsid sleep {} <&3 & exit 3", True),
    ],
    ids=["fills its pipe", "its child fills it", "a child elsewhere holds them", "the same, and it has ended"],
)
def test_the_end_of_a_process_is_known_although_a_child_holds_its_pipes(sleeps: str, script: str, lives_on: bool) -> None:
    async def play() -> None:
        process = await begin(script.format(sleeps))
        await until(lambda: sleepers(sleeps))
        if "exit" in script:
            await until(lambda: process.returncode is not None)
        assert process.stdin is not None
        process.stdin.write(b"x" * 2**20)  # nobody reads it
        await asyncio.sleep(0)
        async with asyncio.timeout(LONG):
            await children.end(process, patience_s=None)
        assert process.returncode == (3 if "exit" in script else -signal.SIGKILL)
        await until(lambda: bool(sleepers(sleeps)) is lives_on)

    asyncio.run(play())
