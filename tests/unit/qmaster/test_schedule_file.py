"""Records of scheduling runs: common/schedule and the qmaster's messages."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest

from daemons.qmaster.serve.scheduling import SchedulerDriver
from daemons.qmaster.spooling.text_file import TextFile
from gridengine.protocols.mirroring import Measures
from gridengine.protocols.orders import Orders
from tests.harness import Cell


@pytest.mark.statement("SC-10", "SC-11")
def test_lines_and_profile_of_a_run_are_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cell = Cell(tmp_path)

    async def call(parts: list[bytes] | None, revision: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        return msgspec.json.encode(Orders(revision, schedule=["::::::::", "a"], profile="3 jobs"))

    driver = SchedulerDriver(cell.master, call, cell.master.flush, Measures())
    with caplog.at_level(logging.WARNING):
        asyncio.run(driver.cycle())
        asyncio.run(driver.cycle())
    path = cell.master.reporting.path.with_name("schedule")
    assert path.read_text() == "::::::::\na\n" * 2
    assert [record.getMessage() for record in caplog.records] == ["scheduling run: 3 jobs"] * 2


@pytest.mark.statement("SC-3")
def test_an_interval_of_0_stops_scheduling_until_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, runs, pauses = Cell(tmp_path), [], []

    async def call(parts: list[bytes] | None, revision: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        runs.append(len(pauses))
        return msgspec.json.encode(Orders(revision))

    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        """The driver's pause while nothing is to be scheduled; the third time the interval is set."""
        if seconds:
            pauses.append(seconds)
            if len(pauses) == 3:
                cell.configure("scheduler", "", schedule_interval="0:0:15")
        await real_sleep(0)

    async def drive() -> None:
        driver = SchedulerDriver(cell.master, call, cell.master.flush, Measures())
        driver.wake()
        running = asyncio.create_task(driver.run())
        for _ in range(100):
            await real_sleep(0)
        running.cancel()

    cell.configure("scheduler", "", schedule_interval="0")
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(drive())
    assert runs and min(runs) == 3, "no run before the interval was set"


@pytest.mark.statement("SC-10")
def test_a_full_disk_does_not_stop_scheduling(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert not TextFile(tmp_path / "missing" / "schedule").append(["::::::::"])
    assert "cannot be written" in caplog.text


@pytest.mark.statement("QF-35")
def test_a_request_monitors_a_single_run(tmp_path: Path) -> None:
    cell, asked = Cell(tmp_path), []

    async def call(parts: list[bytes] | None, revision: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        asked.append(monitored)
        # the scheduler asks for a snapshot first, as after a restart: the request must not be lost by that
        return msgspec.json.encode(Orders(revision, run_log=["a line"] if monitored else [])) if len(asked) > 2 else b""

    driver = SchedulerDriver(cell.master, call, cell.master.flush, Measures())
    asyncio.run(driver.cycle())
    driver.monitor()
    for _ in range(3):
        asyncio.run(driver.cycle())
    assert asked == [False, True, True, False]
    assert cell.master.reporting.path.with_name("schedd_runlog").read_text() == "a line\n"
