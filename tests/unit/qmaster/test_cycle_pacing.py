"""Scheduling runs in a stream of jobs, and for a user who submits one job after the other."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from daemons.qmaster.serve.cycle_pacing import APART_S, MANY, MAX_KEPT, YOUNG_S, CyclePacing, Key
from daemons.qmaster.serve.scheduling import SchedulerDriver
from gridengine.protocols.delivery import UsageReport
from gridengine.protocols.mirroring import Measures
from gridengine.state.jobs import Usage
from tests.harness import Cell


def runs(arrivals: list[tuple[float, set[Key], set[Key]]]) -> list[float]:
    """The starts of runs if each arrival requests a run, and a run takes no time.

    arrivals: (moment, present keys, removed keys).
    """
    pacing, began = CyclePacing(), []
    due = float("inf")
    for now, here, gone in [*arrivals, (float("inf"), set(), set())]:
        if due <= now and due < float("inf"):
            pacing.begin(due)
            began.append(due)
            due = float("inf")
        if now < float("inf"):
            pacing.note(now, here, gone)
            due = min(due, now + pacing.pause_s(now))
    return began


def lives(jobs: int, every_s: float, lasting_s: float) -> list[tuple[float, set[Key], set[Key]]]:
    """Jobs that arrive in sequence, wait, run and end."""
    found = []
    for number in range(1, jobs + 1):
        came = number * every_s
        found.append((came, {(number, 0)}, {(number, 1)}))
        found.append((came + lasting_s / 2, {(number, 1)}, {(number, 0)}))
        found.append((came + lasting_s, set(), {(number, 0), (number, 1)}))
    return sorted(found, key=lambda each: each[0])


@pytest.mark.parametrize("every_s", [0.029, 0.003])
def test_single_jobs_are_not_delayed_on_any_machine(every_s: float) -> None:
    one_after_the_other = lives(200, every_s, every_s * 0.9)
    assert runs(one_after_the_other) == [came for came, _, _ in one_after_the_other]


def test_a_stream_is_gathered() -> None:
    """Of 50 jobs a second that take 0.1 s each has not a run of its own, and none waits for longer than between two runs."""
    stream = lives(250, 0.02, 0.1)
    began = runs(stream)
    assert len(began) <= 5.1 / APART_S + 3 * MANY
    for came, _, _ in stream:
        assert any(came <= start <= came + APART_S + 1e-9 for start in began)


def test_jobs_after_a_pause_are_not_delayed() -> None:
    burst = [(0.0, {(number, 0)}, set[Key]()) for number in range(MANY)]
    assert runs([*burst, (0.5, {(9, 0)}, set())])[-1] == 0.5


def test_long_running_tasks_are_no_stream() -> None:
    waiting = [(0.0, {(number, 1)}, set[Key]()) for number in range(10 * MANY)]
    later = YOUNG_S + 0.1
    assert runs([*waiting, (later, {(99, 0)}, set()), (later + 0.01, {(99, 1)}, {(99, 0)})])[-2:] == [later, later + 0.01]


def test_the_number_of_recent_keys_is_bounded() -> None:
    pacing = CyclePacing()
    for number in range(5 * MAX_KEPT):
        pacing.note(number * 0.01, {(number, 0)}, set())
    assert len(pacing._young) <= MAX_KEPT


def test_the_driver_counts_what_has_just_come_or_begun_and_no_news_of_what_runs(cell: Cell) -> None:
    async def call(*arguments: object) -> bytes:
        return b""

    driver = SchedulerDriver(cell.master, call, cell.master.flush, Measures())
    driver.pacing.begin(0.0)
    jobs = [cell.submit() for _ in range(3)]
    assert driver.pacing.pause_s(0.0) == APART_S, "three have come"
    cell.cycle()
    assert driver.pacing.pause_s(0.0) == APART_S, "and begun"
    hosts = {job: cell.state.jobs[job].tasks[1].host for job in jobs}
    cell.pass_time(60)
    for job in jobs:
        cell.report(hosts[job], UsageReport((job, 1, 1), Usage(1.0)))  # type: ignore[arg-type]
    assert driver.pacing.pause_s(0.0) == 0.0
    cell.submit()
    assert driver.pacing.pause_s(0.0) == 0.0, "a single job is not delayed"


@pytest.mark.parametrize("ending", [True, False])
def test_a_run_in_a_burst_waits_no_longer_than_tasks_may_end(cell: Cell, ending: bool) -> None:
    """A run that waits for more begins when the last recent task has ended, not when its pause is over."""
    began = []

    async def scene() -> bool:
        loop = asyncio.get_running_loop()
        driver = SchedulerDriver(cell.master, call, cell.master.flush, Measures())
        now = loop.time()
        loop.time = lambda: now  # type: ignore[method-assign] # time stands still: no pause is ever over
        running = loop.create_task(driver.run())
        await run_ready()
        driver.pacing.begin(now)
        jobs = [cell.submit() for _ in range(MANY)]
        cell.cycle()
        await run_ready()
        assert not began, "more may end"
        for job in jobs if ending else []:
            cell.end(job)
        await run_ready()
        running.cancel()
        return bool(began)

    async def run_ready() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def call(*arguments: object) -> bytes:
        began.append(arguments)
        return b""

    assert asyncio.run(scene()) == ending


def test_a_note_costs_the_same_with_many_recent_keys() -> None:
    """The keys that stay are not looked at: of a copy of them a note would need memory for each."""
    pacing = CyclePacing()
    pacing.note(0.0, {(number, 0) for number in range(MAX_KEPT + 1000)}, set())
    tracemalloc.start()
    try:
        pacing.note(YOUNG_S / 2, set(), {(0, 0)})
        assert tracemalloc.get_traced_memory()[1] < MAX_KEPT
    finally:
        tracemalloc.stop()
