"""Reports: batches, repetition while the qmaster is away, and the first reports when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from daemons.execd import reporter as module
from daemons.execd.attempt_log import AttemptLog
from daemons.execd.reporter import Reporter
from gridengine.protocols.delivery import Batch, Ended, Inventory, Load, Report, Started, Verdict, decode, encode
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.values.task_key import TaskKey

KEY = (1, 1, 1)


class Qmaster:
    """Answers from a list: verdicts, or an exception. When the list is empty the test is over."""

    def __init__(self, *answers: list[Verdict] | Exception) -> None:
        self.answers = list(answers)
        self.heard: list[list[Report]] = []
        self.over = asyncio.Event()

    async def send(self, data: bytes) -> bytes:
        self.heard.append(decode(data).reports)
        answer = self.answers.pop(0)
        if not self.answers:
            self.over.set()
        if isinstance(answer, Exception):
            raise answer
        return encode(Batch(verdicts=answer))


def converse(
    place: Path, qmaster: Qmaster, exchange: Callable[[Reporter], None], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[TaskKey], list[TaskKey]]:
    """Let a reporter talk to the qmaster until the qmaster has nothing more to send; returns the acknowledged and the forgotten
    tasks."""
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.0)
    acknowledged: list[TaskKey] = []
    forgotten: list[TaskKey] = []
    orphans: list[TaskKey] = []
    unknown: list[str] = []

    async def run() -> None:
        full: Callable[[], list[Report]] = lambda: [Inventory([KEY])]  # noqa: E731
        attempt_log = AttemptLog(place / "tries", 1)
        handlers = (acknowledged.extend, forgotten.extend, orphans.extend, unknown.extend)
        reporter = Reporter(qmaster.send, attempt_log, full, *handlers)
        exchange(reporter)
        running = asyncio.ensure_future(reporter.run())
        await qmaster.over.wait()
        for _ in range(5):
            await _tick()
        running.cancel()

    asyncio.run(run())
    return acknowledged, forgotten


def _tick() -> Awaitable[None]:
    return asyncio.sleep(0)


@pytest.mark.statement("EX-9")
def test_the_inventory_comes_first_and_reports_in_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qmaster = Qmaster([Verdict(), Verdict(), Verdict()])
    acknowledged, _ = converse(tmp_path, qmaster, lambda r: r.add(Started(KEY, 1.0), Ended(KEY, exit_status=3)), monkeypatch)
    assert [[type(report) for report in batch] for batch in qmaster.heard] == [[Inventory, Started, Ended]]
    assert acknowledged == [KEY]


@pytest.mark.statement("EX-9")
def test_nothing_is_lost_while_the_qmaster_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qmaster = Qmaster(OSError("away"), OSError("away"), [Verdict(), Verdict()])
    acknowledged, _ = converse(tmp_path, qmaster, lambda r: r.add(Load(1.0, {"cpu": "1"}), Ended(KEY)), monkeypatch)
    assert [[type(report) for report in batch] for batch in qmaster.heard] == [[Inventory, Ended]] * 3
    assert acknowledged == [KEY]


def test_an_end_that_was_not_taken_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qmaster = Qmaster([Verdict(), Verdict(ok=False)], [Verdict()])
    acknowledged, _ = converse(tmp_path, qmaster, lambda r: r.add(Ended(KEY)), monkeypatch)
    assert qmaster.heard[1] == [Ended(KEY)]
    assert acknowledged == [KEY]


def test_tasks_that_are_over_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, forgotten = converse(tmp_path, Qmaster([Verdict(forget=[KEY])]), lambda r: None, monkeypatch)
    assert forgotten == [KEY]


def test_the_end_of_a_task_that_the_qmaster_does_not_know_is_kept_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qmaster = Qmaster([Verdict(orphans=[KEY]), Verdict(orphans=[KEY])])
    acknowledged, forgotten = converse(tmp_path, qmaster, lambda r: r.add(Ended(KEY)), monkeypatch)
    assert (acknowledged, forgotten, len(qmaster.heard)) == ([], [], 1)


@pytest.mark.statement("EX-9", "EX-11")
@pytest.mark.parametrize(("limit", "silent_s", "asks"), [("0:0:10", 9, False), ("0:0:10", 11, True), ("0:0:0", 10_000, False)])
def test_a_task_begins_only_while_none_may_have_been_placed_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, silent_s: float, asks: bool
) -> None:
    """After a long silence a start counts that was said behind the answer to the inventory, and none that was on its way."""
    heard: list[list[Report]] = []

    async def send(data: bytes) -> bytes:
        heard.append(decode(data).reports)
        return encode(Batch(verdicts=[Verdict()], master=(1, 30 * len(heard))))

    async def run() -> None:
        now, attempt_log = 100.0, AttemptLog(tmp_path / "tries", 1)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        reporter = Reporter(send, attempt_log, lambda: [Inventory([])], *(lambda _: None,) * 4)
        reporter.configure(HostConfiguration.of({"reschedule_unknown": limit}))
        running = asyncio.ensure_future(reporter.run())
        await reporter.wait_until_inventoried()
        assert attempt_log.obey((1, 31))
        now += silent_s
        await reporter.wait_until_inventoried()
        assert (len(heard) == 2, attempt_log.is_current((1, 31))) == (asks, not asks)
        running.cancel()

    asyncio.run(run())
