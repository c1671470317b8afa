"""Content of a call to a host, the effect of its answer, and the order of reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from daemons.qmaster.decision import Payload
from daemons.qmaster.serve.hosts import batches as module
from daemons.qmaster.serve.hosts import payloads
from daemons.qmaster.serve.hosts.batches import Batches
from daemons.qmaster.serve.hosts.dispatch import Dispatcher
from daemons.qmaster.serve.hosts.payloads import Payloads
from daemons.qmaster.serve.hosts.report_sequencer import ReportSequencer
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling.spool_file import SpoolError
from gridengine.protocols.delivery import (
    Acknowledgement,
    Batch,
    Configure,
    Inventory,
    Signal,
    Start,
    Started,
    Verdict,
    decode,
    encode,
)
from gridengine.values.task_key import TaskKey
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

HOST = "h1"


@pytest.fixture
def one(tmp_path: Path) -> Cell:
    return Cell(tmp_path, hosts=1, slots=50)


@pytest.fixture
def batches(one: Cell) -> Batches:
    """Of a host that has been configured."""
    made = Batches(one.master, {HOST})
    made.apply_answer(HOST, Batch(instructions=[Configure(one.state.configuration_text(HOST))]), [Acknowledgement()])
    return made


def placed(cell: Cell, tasks: str = "1-3", **fields: object) -> int:
    job = cell.submit(tasks=tasks, **fields)  # type: ignore[arg-type]
    cell.place()
    return job


def starts(batch: Batch) -> list[TaskKey]:
    return [instruction.key for instruction in batch.instructions if isinstance(instruction, Start)]


@pytest.mark.statement("EX-9")
def test_no_task_is_started_before_the_inventory_of_the_host(one: Cell) -> None:
    placed(one)
    inventoried: set[str] = set()
    batches = Batches(one.master, inventoried)
    assert [type(each) for each in batches.compose(HOST).instructions] == [Configure]
    inventoried.add(HOST)
    assert len(starts(batches.compose(HOST))) == 3


def test_a_script_is_sent_once_to_a_host(one: Cell, batches: Batches) -> None:
    job = placed(one, "1-50", binary=False, script="true\n", script_file="x.sh")
    first = batches.compose(HOST)
    assert (len(starts(first)), first.scripts) == (50, {job: b"true\n"})
    answers = [Acknowledgement(), *(Acknowledgement(False, again=True) for _ in range(49))]
    batches.apply_answer(HOST, first, answers)
    second = batches.compose(HOST)
    assert (len(starts(second)), second.scripts) == (49, {})
    batches.apply_answer(HOST, second, [Acknowledgement(False, needs_script=True), *answers[2:]])
    assert batches.compose(HOST).scripts == {job: b"true\n"}, "the host says that it has not got it"


def test_a_batch_is_limited_in_bytes_but_never_empty(one: Cell, batches: Batches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 25_000)
    placed(one, "1-9", environment={"X": "x" * 9000})
    placed(one, "1", binary=False, script="#" * 30_000, script_file="x.sh", priority=-1)
    sizes = []
    while (batch := batches.compose(HOST)).instructions:
        sizes.append(len(starts(batch)))
        batches.apply_answer(HOST, batch, [Acknowledgement()] * len(batch.instructions))
    assert sizes == [2, 2, 2, 2, 1, 1]


def test_payloads_are_kept_within_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "CACHE_BYTES", 100)
    read: list[int] = []

    def from_spool(job_id: int) -> Payload:
        read.append(job_id)
        return Payload(b"x" * (1000 if job_id == 9 else 40), {})

    cache = Payloads(from_spool)
    for job_id in (1, 2, 1, 3, 1, 2, 9, 9, 1):
        cache(job_id)
    assert read == [1, 2, 3, 2, 9, 1], "the least used goes first; a single large one is kept for its turn"
    cache.forget(1)
    cache(1)
    assert read[-1] == 1 and len(read) == 7


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize(("rerun", "left"), [(False, None), (True, "pending")])
def test_an_attempt_that_ended_without_a_record_is_lost(
    one: Cell, batches: Batches, rerun: bool, left: str | None
) -> None:
    job = placed(one, "1", rerun=rerun)
    batches.apply_answer(HOST, batches.compose(HOST), [Acknowledgement(False, over=True)])
    one.master.flush()
    task = one.state.task(job, 1)
    assert (task.status if task else None) == left
    assert [record.failed for record in one.records(job)] == ["21"]


def test_a_failed_start_leaves_the_rest_of_its_batch_alone(one: Cell, batches: Batches) -> None:
    job = placed(one)
    batch = batches.compose(HOST)
    answers = [Acknowledgement(False, 1, "broken"), Acknowledgement(False, again=True), Acknowledgement()]
    batches.apply_answer(HOST, batch, answers)
    tasks = one.state.jobs[job].tasks
    assert [(tasks[number].status, tasks[number].error) for number in (1, 2, 3)] == [
        ("pending", f"01/15/2027 08:00:00: broken (on host {HOST})"),
        ("transferring", ""),
        ("running", ""),
    ]
    assert starts(batches.compose(HOST)) == [(job, 2, 1)]


# --- the order of messages -------------------------------------------------------------------------------


@pytest.mark.statement("SP-3")
def test_every_start_of_the_master_is_a_later_one(one: Cell) -> None:
    before = one.master.stamp
    one.set_clock(-10_000)
    one.restart()
    assert one.master.stamp > before


@pytest.mark.statement("SP-3")
def test_a_host_is_sent_only_instructions_that_are_on_disk(one: Cell) -> None:
    """A transaction is written before a host hears of it, since a crash of the qmaster would undo it."""
    received: list[int] = []

    async def call(host: str, data: bytes) -> bytes:
        batch = decode(data)
        received.append(batch.master[1])
        assert one.master.committed == one.state.revision == batch.master[1]
        return encode(Batch(acknowledgements=[Acknowledgement() for _ in batch.instructions]))

    async def scene() -> None:
        dispatcher = Dispatcher(one.master, call, one.master.flush, {HOST})
        one.submit()
        one.undecided("submit", {"binary": True, "script_file": "x"})
        assert one.master.pending
        await dispatcher.deliver(HOST)

    asyncio.run(scene())
    assert received


def test_a_refused_batch_is_made_again_or_given_up(one: Cell) -> None:
    answers = [Batch(refused=True, master=(one.master.incarnation, 99)), Batch(refused=True, master=(2**60, 1))]

    async def call(host: str, data: bytes) -> bytes:
        return encode(answers.pop(0))

    async def scene() -> None:
        dispatcher = Dispatcher(one.master, call, one.master.flush, {HOST})
        assert await dispatcher.deliver(HOST), "the host has heard more meanwhile"
        with pytest.raises(LookupError, match="later qmaster"):
            await dispatcher.deliver(HOST)

    asyncio.run(scene())


def sent(master: int, number: int, life: int = 1, inventory: bool = True) -> Batch:
    reports = [Inventory([], "boot1")] if inventory else [Started((1, 1, 1), 1.0)]
    return Batch(reports=list(reports), master=(master, 0), host=(life, number))


@pytest.mark.statement("EX-9")
def test_reports_that_are_late_doubled_or_for_another_master_are_refused() -> None:
    report_sequencer = ReportSequencer(7)
    assert not report_sequencer.accept(HOST, sent(6, 1)), "written to an earlier qmaster"
    assert report_sequencer.accept(HOST, sent(7, 1))
    assert not report_sequencer.accept(HOST, sent(7, 1)) and report_sequencer.accept(HOST, sent(7, 3))
    assert not report_sequencer.accept(HOST, sent(7, 2))
    assert report_sequencer.accept(HOST, sent(7, 1, life=2)) and not report_sequencer.accept(HOST, sent(7, 9, life=1))
    assert report_sequencer.last_stamp(HOST) == (2, 1)
    assert report_sequencer.accept("h2", sent(7, 1))


def test_a_host_may_be_sent_tasks_from_its_first_inventory_on() -> None:
    report_sequencer = ReportSequencer(7)
    assert not report_sequencer.note_durable(HOST, sent(7, 1, inventory=False)) and not report_sequencer.inventoried
    assert report_sequencer.note_durable(HOST, sent(7, 2)) and report_sequencer.inventoried == {HOST}
    assert not report_sequencer.note_durable(HOST, sent(7, 3)), "already known"


@pytest.fixture
def serve(one: Cell) -> Callable[[Batch], Batch]:
    """The answer of the service to a host's reports."""

    async def answer(reports: Batch) -> Batch:
        service = Service(one.master, IdleCallbacks())
        service.dispatcher._stopped = True
        return decode(await service.reports(HOST, encode(reports)))

    return lambda reports: asyncio.run(answer(reports))


def test_an_execd_that_restarts_is_configured_again_and_once(one: Cell) -> None:
    """Its earlier instructions may be gone with its disk. A report caused by a configuration does not cause a configuration:
    the two would follow each other as long as the acknowledgement is faster."""

    async def received() -> list[list[object]]:
        service = Service(one.master, IdleCallbacks())
        service.dispatcher._stopped = True
        batches = service.dispatcher._batches
        found: list[list[object]] = []
        for number, life in ((1, 1), (2, 1), (1, 2), (2, 2)):
            batches.apply_answer(HOST, batches.compose(HOST), [Acknowledgement()] * len(batches.compose(HOST).instructions))
            assert not batches.compose(HOST).instructions, "it has been told"
            await service.reports(HOST, encode(sent(one.master.incarnation, number, life)))
            found.append([type(instruction) for instruction in batches.compose(HOST).instructions])
        return found

    assert asyncio.run(received()) == [[Configure], [], [Configure], []]


def test_verdicts_bear_their_revision(one: Cell, serve: Callable[[Batch], Batch]) -> None:
    own = one.master.incarnation
    answer = serve(sent(own, 1))
    assert answer.verdicts == [Verdict()] and answer.master == (own, one.state.revision)
    refused = serve(sent(own - 1, 2))
    assert refused.refused and refused.verdicts == [] and refused.master[0] == own


def test_a_qmaster_that_learns_of_a_later_one_ends(one: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Exception):
        pass

    def end(status: int) -> NoReturn:
        raise Ended

    async def heard(later: Batch) -> None:
        service = Service(one.master, IdleCallbacks(end=end))
        await service.reports(HOST, encode(later))

    later = one.master.incarnation + 1000
    with pytest.raises(Ended):
        asyncio.run(heard(sent(later, 1)))
    one.restart()
    assert one.master.incarnation > later, "the process in its place comes after both"
    with monkeypatch.context() as full, pytest.raises(Ended):
        full.setattr(one.master.spool, "remember", full_disk)
        asyncio.run(heard(sent(one.master.incarnation + 1000, 1)))


def full_disk(*_: object) -> None:
    raise SpoolError("the disk is full")


@pytest.mark.statement("QM-7", "EX-9")
def test_a_task_whose_suspension_was_never_answered_is_resumed(one: Cell, batches: Batches) -> None:
    """The host may have carried it out: a qmaster that knows only of the task's running must send the opposite command."""
    job = placed(one, "")
    batches.apply_answer(HOST, batches.compose(HOST), [Acknowledgement()])
    assert batches.compose(HOST).instructions == [], "it runs"

    def signals(made: Batches) -> list[str]:
        return [each.command for each in made.compose(HOST).instructions if isinstance(each, Signal)]

    def asked(action: str) -> None:
        assert one.ask("change_states", targets=[str(job)], action=action, what="job").status == 0

    asked("suspend")
    assert batches.record_doubt(batches.compose(HOST)) and signals(batches) == ["suspend"]
    assert not batches.record_doubt(batches.compose(HOST)), "once"
    one.master.flush()
    one.restart()  # and nobody knows what became of it
    asked("unsuspend")
    again = Batches(one.master, {HOST})
    assert signals(again) == ["run"]
    batch = again.compose(HOST)
    again.apply_answer(HOST, batch, [Acknowledgement() for _ in batch.instructions])
    assert again.compose(HOST).instructions == []
