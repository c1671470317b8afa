"""A commit that is on the disk and not yet on the shadows reaches no client; afterwards it reaches all, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve.replication.replicas_in_sync import Replication
from daemons.qmaster.serve.service import Service
from daemons.runtime.call_faults import NotServing
from gridengine.protocols.delivery import Batch, Load, decode, encode
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.harness import LOAD, Cell
from tests.service_callbacks import IdleCallbacks
from tests.unit.shadow.replicated_cell import ReplicatedCell

ALICE = Caller("alice", 1001, "users", 1001, "h1")
JOB = msgspec.json.encode({"binary": True, "script_file": "/bin/true"})


class FakeReplication(Replication):
    """A replication whose shadows have the commits that the test sets."""

    def __init__(self, had: int) -> None:
        self.had, self.leads = had, True
        self.on_progress = lambda: None

    def is_leader(self) -> bool:  # type: ignore[override]
        return self.leads

    def announceable_commit(self) -> int:
        return self.had if self.leads else -1

    def have(self, commit: int) -> None:
        self.had = commit
        self.on_progress()

    def start(self) -> None:
        """Send nothing."""

    async def wait_for_shadows(self, patience_s: float = 0.0) -> None:
        """Wait for nothing."""

    async def stop(self) -> None:
        """Stop nothing."""


class Waiting:
    """A service whose shadows have everything at first.

    `announced`: revisions that subscribers have received; `delivered`: batches sent to hosts.
    """

    def __init__(self, cell: ReplicatedCell) -> None:
        self.cell, self.gate = cell, FakeReplication(cell.patches.last.commit)
        self.announced: list[int] = []
        self.delivered: list[Batch[Any]] = []
        self.service = Service(cell.master, IdleCallbacks(deliver=self._deliver), self.gate)
        self.gate.on_progress()
        cell.master.subscribers.append(lambda transaction: self.announced.append(transaction.revision))

    async def _deliver(self, host: str, data: bytes) -> bytes:
        self.delivered.append(decode(data))
        raise LookupError("far away")

    @property
    def last(self) -> int:
        return self.cell.patches.last.commit

    def asks(self, name: str, body: bytes, key: str = "") -> asyncio.Task[Answer]:
        return asyncio.ensure_future(self.service.answer(name, body, ALICE, key))


@pytest.fixture
def waiting(cell: ReplicatedCell) -> Waiting:
    return Waiting(cell)


async def rounds() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def play(what: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(what())  # type: ignore[arg-type]


@pytest.mark.statement("SH-2")
def test_answers_wait_for_shadows_and_come_in_order(waiting: Waiting) -> None:
    async def answers() -> None:
        before, revision = waiting.last, waiting.cell.master.committed
        first = waiting.asks("submit", JOB)
        await rounds()
        second = waiting.asks("submit", JOB)
        await rounds()
        assert waiting.last == before + 2, "both are on the disk"
        assert not first.done() and not second.done() and not waiting.announced
        assert waiting.cell.master.committed == revision
        waiting.gate.have(before + 1)
        await rounds()
        assert first.done() and not second.done() and waiting.announced == [revision + 1]
        waiting.gate.have(before + 2)
        await rounds()
        assert second.result().status == 0 and waiting.announced == [revision + 1, revision + 2]

    play(answers)


@pytest.mark.statement("SH-2")
def test_a_query_waits_for_shadows_as_a_change_does(waiting: Waiting) -> None:
    async def reads() -> None:
        assert (await waiting.asks("status", b"{}")).status == 0
        submitted = waiting.asks("submit", JOB)
        await rounds()
        read = waiting.asks("status", b"{}")
        await rounds()
        assert not read.done()
        waiting.gate.have(waiting.last)
        assert (await read).status == 0 and submitted.done()

    play(reads)


def test_a_remembered_answer_waits_as_the_first_one_did(waiting: Waiting) -> None:
    async def asks_again() -> None:
        first = waiting.asks("submit", JOB, "key")
        await rounds()
        first.cancel()
        await rounds()
        again = waiting.asks("submit", JOB, "key")
        await rounds()
        assert not again.done()
        waiting.gate.have(waiting.last)
        assert (await again).status == 0
        assert len(waiting.cell.state.jobs) == 1

    play(asks_again)


@pytest.mark.statement("SH-2")
def test_commits_on_disk_at_the_start_wait_as_well(cell: ReplicatedCell) -> None:
    """The earlier qmaster may have been killed before it sent it to the shadows."""
    cell.submit()
    cell.restart()
    waiting = Waiting(cell)
    waiting.gate.had = 0
    waiting.service = Service(cell.master, IdleCallbacks(), waiting.gate)

    async def reads() -> None:
        read = waiting.asks("status", b"{}")
        await rounds()
        assert not read.done()
        waiting.gate.have(waiting.last)
        assert (await read).status == 0

    play(reads)


@pytest.mark.statement("SH-2")
def test_no_host_receives_what_shadows_do_not_have(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_PAUSE_S", "LONGEST_PAUSE_S"):  # none is tried again
        monkeypatch.setattr(f"daemons.qmaster.serve.hosts.dispatch.{name}", 1000.0)

    async def dispatches() -> None:
        waiting.cell.configure("configuration", "global", loglevel="log_info")
        revision = waiting.cell.state.revision
        waiting.service.dispatcher.wake("h1")
        await rounds()
        assert not waiting.delivered
        waiting.gate.have(waiting.last)
        await rounds()
        assert [batch.master for batch in waiting.delivered] == [(waiting.cell.master.incarnation, revision)]
        waiting.gate.leads = False
        waiting.service.dispatcher.wake("h2")
        await rounds()
        assert len(waiting.delivered) == 1
        await waiting.service.dispatcher.stop()

    play(dispatches)


@pytest.mark.statement("SH-3")
def test_a_host_that_is_not_the_leader_answers_no_client_until_it_is(waiting: Waiting) -> None:
    async def asks() -> None:
        submitted = waiting.asks("submit", JOB)
        await rounds()
        waiting.gate.leads = False
        waiting.gate.have(waiting.last)
        read = waiting.asks("status", b"{}")
        await rounds()
        waiting.service.flush()
        await rounds()
        assert not submitted.done() and not read.done() and not waiting.announced
        report = encode(Batch(reports=[Load(waiting.cell.now, dict(LOAD), full=True, incarnation="boot1")]))
        with pytest.raises(NotServing):
            await waiting.service.reports("h1", report)
        waiting.gate.leads = True
        waiting.service.flush()
        await rounds()
        assert submitted.done() and read.done() and waiting.announced
        waiting.gate.leads = False
        read = waiting.asks("status", b"{}")
        await rounds()
        waiting.service.flush()
        await rounds()
        assert not read.done(), "another host may be the master now, and may have changed something"
        waiting.gate.leads = True
        waiting.service.flush()
        await read

    play(asks)


def test_the_accounting_file_has_no_job_that_shadows_do_not_have(waiting: Waiting) -> None:
    cell, path = waiting.cell, waiting.cell.directory / "accounting"

    def lines() -> int:
        return len([line for line in path.read_text().splitlines() if not line.startswith("#")]) if path.exists() else 0

    waiting.service.dispatcher._stopped = True
    jobs = [cell.submit(), cell.submit()]
    waiting.gate.have(waiting.last)
    cell.cycle()
    waiting.gate.have(waiting.last)
    cell.end(jobs[0])
    first = waiting.last
    cell.end(jobs[1])
    cell.pass_time(10)
    assert lines() == 0
    waiting.gate.have(first)
    cell.pass_time(10)
    assert lines() == 1
    waiting.gate.have(waiting.last)
    assert lines() == 2
    cell.restart()
    assert lines() == 2


def test_a_snapshot_while_something_waits_to_be_announced_counts_nothing_twice(waiting: Waiting) -> None:
    cell = waiting.cell
    job = cell.submit()
    assert cell.master.committed < cell.state.revision
    cell.master.spool._journalled = 10**6
    cell.master.compact()
    cell.restart()
    assert [*cell.state.jobs] == [job]


@pytest.mark.statement("SH-2")
def test_a_new_mirror_receives_each_transaction_once(waiting: Waiting, tmp_path: Path) -> None:
    """Transactions that wait to be announced are in the state that a mirror starts with."""

    async def follows() -> None:
        waiting.cell.submit()
        lines = waiting.service._mirrors.subscribe()
        first = len(lines.unread)
        waiting.gate.have(waiting.last)
        assert len(lines.unread) == first
        waiting.cell.submit()
        waiting.gate.have(waiting.last)
        assert len(lines.unread) > first

    play(follows)


def test_the_scheduler_receives_each_transaction_once(cell: ReplicatedCell) -> None:
    calls: list[tuple[bool, int, int]] = []
    waiting = Waiting(cell)

    async def cycle(parts: list[bytes] | None, base: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        calls.append((parts is not None, base, len(events)))
        return b'{"revision":0}'

    async def runs() -> None:
        driver = waiting.service.driver
        driver._call = cycle
        cell.submit()
        revision = cell.state.revision
        await driver.cycle()
        waiting.gate.have(waiting.last)
        cell.submit()
        waiting.gate.have(waiting.last)
        await driver.cycle()
        assert calls == [(True, revision, 0), (False, revision, 1)]

    play(runs)


def test_without_shadows_all_is_announced_with_the_commit(tmp_path: Path) -> None:
    """No transaction waits anywhere, no commit is counted, no patchset is made."""
    cell = Cell(tmp_path)
    service = Service(cell.master, IdleCallbacks())
    announced: list[int] = []
    cell.master.subscribers.append(lambda transaction: announced.append(transaction.revision))

    async def submits() -> None:
        answer = asyncio.ensure_future(service.answer("submit", JOB, ALICE))
        await rounds()
        assert answer.result().status == 0
        assert announced == [cell.state.revision] == [cell.master.committed]

    play(submits)
    assert cell.master.spool.position.commit == 0
    assert not cell.master.spool.recall("commit")
