"""Users who may read the output of a task, and the host that reads it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemons.qmaster.serve.requests.output_reading import MAX_OPEN_CALLS, OutputReading
from gridengine.protocols.delivery import OutputRequest, OutputTail, decode_output_request, encode
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.values.task_key import TaskKey
from tests.harness import Cell

ALICE = Caller("alice", 1001, "users", 1001, "h1")
BOB = Caller("bob", 1002, "users", 1002, "h1")
ROOT = Caller("root", 0, "root", 0, "h1")


class Hosts:
    """Hosts that read. `asked`: the host and the content of each request."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.asked: list[tuple[str, OutputRequest]] = []
        self.tail = OutputTail("/home/alice/j.o1", 70_005, 70_000, "told\n")
        self.silent = False

    async def read(self, host: str, data: bytes) -> bytes:
        self.asked.append((host, decode_output_request(data)))
        if self.silent:
            await asyncio.Event().wait()
        return encode(self.tail)

    def ask(self, job: int, caller: Caller = ALICE, patience_s: float = 60.0, **body: Any) -> Answer:
        return asyncio.run(OutputReading(self.read, patience_s).answer(self._cell.state, {"job": job, **body}, caller))

    def ask_often(self, job: int, times: int) -> list[Answer]:
        """Requests in sequence, without waiting."""

        async def asking() -> list[Answer]:
            reading = OutputReading(self.read, 0.0)
            return [await reading.answer(self._cell.state, {"job": job}, ALICE) for _ in range(times)]

        return asyncio.run(asking())


@pytest.fixture
def hosts(cell: Cell) -> Hosts:
    return Hosts(cell)


def test_the_host_of_the_task_reads_for_its_owner(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit(tasks="1-3")
    cell.cycle()
    host = cell.running[TaskKey(job, 2, 1)]
    answer = hosts.ask(job, task=2, stream="stderr", bytes=10)
    assert hosts.asked == [(host, OutputRequest(TaskKey(job, 2, 1), "alice", "stderr", 10))]
    expected = {"task": 2, "host": host, "path": "/home/alice/j.o1", "size": 70_005, "from": 70_000, "text": "told\n"}
    assert (answer.status, answer.data) == (0, expected)
    assert hosts.ask(job).data["task"] == 1
    assert hosts.asked[-1][1] == OutputRequest(TaskKey(job, 1, 1), "alice", "stdout", 65536)


@pytest.mark.parametrize("caller", [BOB, ROOT])
def test_only_the_owner_gets_an_answer_not_even_a_manager(cell: Cell, hosts: Hosts, caller: Caller) -> None:
    job = cell.submit()
    cell.cycle()
    answer = hosts.ask(job, caller)
    assert (answer.status, answer.data) == (1, None)
    assert answer.answers == [("error", f'denied: job {job} belongs to "alice", not to "{caller.user}"')]
    assert hosts.asked == []


def test_of_what_does_not_run_there_is_nothing(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit(holds="u")
    outcomes = [hosts.ask(job), hosts.ask(job, task=4), hosts.ask(77)]
    texts = [f"job {job} does not run", f"task 4 of job {job} does not run", "job 77 does not exist"]
    assert [answer.answers for answer in outcomes] == [[("error", f"denied: {text}")] for text in texts]
    assert hosts.asked == []


def test_a_task_on_its_way_to_its_host_writes_nothing_yet(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit()
    cell.place()
    assert cell.state.jobs[job].tasks[1].status == "transferring"
    assert hosts.ask(job).answers == [("error", f"denied: job {job} does not run")]
    assert hosts.asked == []


def test_a_silent_host_is_reported_without_waiting(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit()
    cell.cycle()
    host = cell.running[TaskKey(job, 1, 1)]
    hosts.silent = True
    expected = [("error", f'host "{host}" does not answer: the output of the task cannot be read now')]
    assert hosts.ask(job, patience_s=0.0).answers == expected
    hosts.silent = False
    hosts.asked.clear()
    cell.master.lose_host(host)
    assert hosts.ask(job).answers == expected
    assert hosts.asked == [], "one that is down is not asked"


def test_a_silent_host_is_not_asked_for_ever(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit()
    cell.cycle()
    hosts.silent = True
    assert {answer.status for answer in hosts.ask_often(job, MAX_OPEN_CALLS + 8)} == {1}
    assert len(hosts.asked) == MAX_OPEN_CALLS


def test_a_host_that_answers_is_asked_without_limit(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit()
    cell.cycle()
    hosts.ask_often(job, MAX_OPEN_CALLS + 8)
    assert len(hosts.asked) == MAX_OPEN_CALLS + 8


def test_the_reason_of_an_unreadable_file_names_the_host(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit()
    cell.cycle()
    hosts.tail = OutputTail(path="/o", fault='cannot read "/o": Permission denied')
    answer = hosts.ask(job)
    assert answer.data is None
    assert answer.answers == [("error", f'cannot read "/o": Permission denied (host {cell.running[TaskKey(job, 1, 1)]})')]


def test_of_a_task_that_is_over_the_host_of_its_last_try_is_asked(cell: Cell, hosts: Hosts) -> None:
    job = cell.submit(tasks="1-2")
    cell.cycle()
    host = cell.running[TaskKey(job, 2, 1)]
    cell.end(job, 2)
    cell.master.flush()
    records = cell.master.spool.accounted.of_task

    def ask(caller: Caller, task: int, number: int = job) -> Answer:
        reading = OutputReading(hosts.read, 60.0, records)
        return asyncio.run(reading.answer(cell.state, {"job": number, "task": task}, caller))

    assert ask(ALICE, 2).data["host"] == host
    assert hosts.asked == [(host, OutputRequest(TaskKey(job, 2, 0), "alice", "stdout", 65536))]
    assert ask(BOB, 2).answers == [("error", f'denied: job {job} belongs to "alice", not to "bob"')]
    assert ask(ALICE, 3).status == 1
    cell.end(job, 1)
    cell.master.flush()
    assert job not in cell.state.jobs and ask(ALICE, 0).data["task"] == 1
    assert ask(ROOT, 1).status == 1 and len(hosts.asked) == 2
    single = cell.submit()
    cell.cycle()
    cell.end(single)
    cell.master.flush()
    assert ask(ALICE, 1, single).data["task"] == 1
