"""The processor budget of open pages: a burst after a quiet time, then a share in turns."""

from __future__ import annotations

import asyncio
import time

import pytest

from daemons.web.cpu_budget import BURST_S, CPU_SHARE, CpuBudget, MeteredCoroutine


def test_a_burst_is_followed_by_a_pause() -> None:
    now = [100.0]
    budget = CpuBudget(lambda: now[0])
    budget.charge(BURST_S)
    assert budget.wait_s == 0
    budget.charge(0.04)
    assert budget.wait_s == pytest.approx(0.04 / CPU_SHARE)
    now[0] += budget.wait_s
    assert budget.wait_s == 0
    now[0] += 3600  # a quiet hour is no more than a burst
    budget.charge(BURST_S + 0.04)
    assert budget.wait_s == pytest.approx(0.04 / CPU_SHARE)


def test_in_the_long_run_work_is_a_share_of_the_time_and_turns_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    now, order = [0.0], list[int]()

    pause = asyncio.sleep

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        await pause(0)

    async def work(budget: CpuBudget, number: int) -> None:
        for _ in range(20):
            await budget.wait_turn()
            budget.charge(0.05)
            order.append(number)

    async def play() -> None:
        budget = CpuBudget(lambda: now[0])
        await asyncio.gather(*(work(budget, number) for number in range(10)))

    monkeypatch.setattr("daemons.web.cpu_budget.asyncio.sleep", sleep)
    asyncio.run(play())
    assert (200 * 0.05 - BURST_S) / now[0] == pytest.approx(CPU_SHARE, rel=0.02)
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
        one, other = MeteredCoroutine(waits()), MeteredCoroutine(works())

        async def awaited(work: MeteredCoroutine[object]) -> object:
            return await work

        result, _ = await asyncio.gather(awaited(one), awaited(other))  # type: ignore[arg-type]
        return str(result), one.work_s, other.work_s

    result, waiting, working = asyncio.run(play())
    assert result == "done"
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
            await MeteredCoroutine(fails())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await MeteredCoroutine(lasts())

    asyncio.run(play())
    assert ended == [True]
