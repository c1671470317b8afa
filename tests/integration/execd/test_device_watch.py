"""The watch of devices with real readers: readings on demand, and readers that hang, end or print no reading (adr/0345)."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable

import pytest

from daemons.execd.device_watch import DeviceWatch
from daemons.runtime import children
from gridengine.protocols.devices import DeviceReading
from tests.integration.cells import PATIENCE_S

LINE = '{"devices":[{"vendor":"nvidia","index":0,"identifier":"GPU-a"}]}'


class Watched:
    """A watch whose reader is this shell script."""

    def __init__(self, script: str, patience_s: float = PATIENCE_S) -> None:
        self.script, self.readings, self.readers = script, list[DeviceReading](), list[Process]()
        self.was_alive: list[bool] = []
        self.watch = DeviceWatch(self._changed, self._start, lambda: True, patience_s, pause_s=0.01)
        self.watch.on_reading = self.readings.append

    def _changed(self) -> None:
        self.was_alive.append(self.readers[-1].returncode is None)

    async def _start(self) -> Process:
        self.readers.append(await children.begin("/bin/sh", "-c", self.script, stdin=PIPE, stdout=PIPE))
        return self.readers[-1]

    async def until(self, condition: Callable[[], object]) -> None:
        running = asyncio.ensure_future(self.watch.run())
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await asyncio.sleep(0.01)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            async with asyncio.timeout(PATIENCE_S):  # a watch that is cancelled has its reader end, and does not wait for that
                await asyncio.gather(*(reader.wait() for reader in self.readers))


def test_a_reader_gives_readings_as_often_as_tasks_require() -> None:
    async def scene() -> None:
        watched = Watched(f"while read x; do echo '{LINE}'; done")
        await watched.until(lambda: watched.readings)
        assert watched.watch.devices is not None and len(watched.was_alive) == 1
        watched.watch.read_every(0.01)
        await watched.until(lambda: len(watched.readings) >= 5)
        assert len(watched.readers) == 2, "one for each run of the watch"
        assert len(watched.was_alive) == 1, "nothing has changed"

    asyncio.run(scene())


def test_a_need_that_begins_is_met_without_waiting_for_the_next_reading() -> None:
    async def scene() -> None:
        watched = Watched(f"while read x; do echo '{LINE}'; done")

        def needed() -> bool:
            if watched.readings:
                watched.watch.read_every(10)
            return len(watched.readings) >= 2

        await watched.until(needed)
        assert len(watched.readers) == 1

    asyncio.run(scene())


def test_a_reader_that_hangs_is_a_fault_before_it_has_ended() -> None:
    """A process that waits in the kernel for its driver cannot be killed."""

    async def scene() -> None:
        watched = Watched("sleep 1000", patience_s=0.1)
        await watched.until(lambda: watched.watch.fault)
        assert watched.watch.fault == "the driver has not answered for 0.1 s"
        assert watched.was_alive == [True]

    asyncio.run(scene())


@pytest.mark.parametrize("script", ["exit 1", "read x; echo hello", "read x; echo '{\"devices\":3}'; sleep 1000"])
def test_a_reader_that_ends_or_prints_no_reading_is_a_fault_and_started_again(script: str) -> None:
    async def scene() -> None:
        watched = Watched(script)
        await watched.until(lambda: len(watched.readers) >= 3)
        assert watched.watch.fault == "the reader of devices fails"
        watched.script = f"while read x; do echo '{LINE}'; done"
        await watched.until(lambda: not watched.watch.fault)
        assert [device.identifier for device in watched.watch.devices or ()] == ["GPU-a"]

    asyncio.run(scene())
