"""Open pages take a share of a processor: at once after a quiet time, then in turns."""

from __future__ import annotations

import asyncio
import time

import pytest

from daemons.web.pacing import BURST_S, SHARE, Metered, Pace


def test_what_is_done_at_once_is_waited_for_later() -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    pace.spend(BURST_S)
    assert pace.wait_s == 0
    pace.spend(0.04)
    assert pace.wait_s == pytest.approx(0.04 / SHARE)
    now[0] += pace.wait_s
    assert pace.wait_s == 0
    now[0] += 3600  # a quiet hour is no more than a burst
    pace.spend(BURST_S + 0.04)
    assert pace.wait_s == pytest.approx(0.04 / SHARE)


def test_in_the_long_run_work_is_a_share_of_the_time_and_turns_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    now, order = [0.0], list[int]()

    pause = asyncio.sleep

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        await pause(0)

    async def work(pace: Pace, number: int) -> None:
        for _ in range(20):
            await pace.turn()
            pace.spend(0.05)
            order.append(number)

    async def play() -> None:
        pace = Pace(lambda: now[0])
        await asyncio.gather(*(work(pace, number) for number in range(10)))

    monkeypatch.setattr("daemons.web.pacing.asyncio.sleep", sleep)
    asyncio.run(play())
    assert (200 * 0.05 - BURST_S) / now[0] == pytest.approx(SHARE, rel=0.02)
    assert sorted(order[30:40]) == list(range(10))  # the burst is over


def test_a_coroutine_is_charged_with_its_own_work_alone() -> None:
    def busy(seconds: float) -> None:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass

    async def waits() -> str:
        busy(0.01)
        await asyncio.sleep(0.01)
        return "done"

    async def works() -> None:
        for _ in range(4):
            busy(0.05)
            await asyncio.sleep(0)

    async def play() -> tuple[str, float, float]:
        one, other = Metered(waits()), Metered(works())

        async def awaited(work: Metered[object]) -> object:
            return await work

        told, _ = await asyncio.gather(awaited(one), awaited(other))  # type: ignore[arg-type]
        return str(told), one.work_s, other.work_s

    told, waiting, working = asyncio.run(play())
    assert told == "done"
    assert 0.01 <= waiting < working / 2 and working >= 0.2


def test_errors_and_cancellations_are_those_of_the_coroutine() -> None:
    ended = []

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ConnectionError("closed")

    async def lasts() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def play() -> None:
        with pytest.raises(ConnectionError):
            await Metered(fails())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Metered(lasts())

    asyncio.run(play())
    assert ended == [True]
