"""Streams over the real socket: events that are followed and ended from outside, and lists of jobs in lines."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clients import gdi
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.queries.jobs import ROWS_A_LINE
from daemons.qmaster.serve.service import Service
from gridengine.protocols.delivery import Ended
from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import HostHeard, HostLost
from gridengine.state.machines.task import TaskErrorCleared, TaskRequeued
from gridengine.values.task_key import TaskKey
from tests.harness import Cell
from tests.integration.cells import PATIENCE_S, eventually
from tests.service_callbacks import IdleCallbacks


async def _left_over() -> list[asyncio.Task[Any]]:
    """The tasks that still run on a loop, without the caller."""
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


class Running:
    """A service on a Unix socket, on an event loop in a thread of its own."""

    def __init__(self, cell: Cell, socket: Path) -> None:
        self.cell = cell
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.service = self.run(self._make(socket))

    async def _make(self, socket: Path) -> Service:
        service = Service(self.cell.master, IdleCallbacks())
        await service.start(socket, "master", lambda _: "")
        return service

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE_S)

    def do(self, change: Callable[[], Any]) -> Any:
        """Something on the service's own loop."""

        async def doing() -> Any:
            return change()

        return self.run(doing())

    def close(self) -> None:
        self.run(self.service.stop())
        assert self.run(_left_over()) == []
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    common = tmp_path / "default" / "common"
    common.mkdir(parents=True)
    (common / "bootstrap").write_text(f"run_dir {tmp_path}\n")
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.delenv("SGE_CELL", raising=False)
    cell = Cell(tmp_path)
    found = Running(cell, tmp_path / "gdi.sock")
    yield found
    found.close()


@pytest.mark.statement("EV-1", "EV-8", "EV-10")
def test_a_client_follows_and_is_ended(running: Running) -> None:
    stream = gdi.stream("events", {"name": "test", "types": ["CALENDAR", "QUEUEINSTANCE"]})
    assert next(stream) == {"id": 11}
    assert [next(stream)["type"] for _ in range(2)] == ["CALENDAR", "QUEUEINSTANCE"]
    assert gdi.call("event_clients", {}).data == [[1, "scheduler", "master"], [11, "test", "master"]]
    running.do(lambda: running.cell.add("calendar", "night"))
    record = next(stream)
    assert (record["number"], record["action"], record["name"]) == (3, "ADD", "night")
    running.do(lambda: running.service.event_clients.clients[11].disconnect("enough"))
    assert list(stream) == [{"end": "enough"}]


@pytest.mark.statement("EV-10")
def test_a_stream_of_unknown_events_is_refused(running: Running) -> None:
    (record,) = gdi.stream("events", {"types": ["NOSUCH"]})
    assert "NOSUCH" in record["refused"]


@pytest.mark.statement("EV-8")
def test_a_client_that_goes_is_forgotten(running: Running) -> None:
    stream = gdi.stream("events", {"types": ["CALENDAR"]})
    next(stream)
    stream.close()  # type: ignore[attr-defined]

    def forgotten() -> bool:
        running.do(lambda: running.cell.add("calendar", f"c{time.monotonic()}"))
        return running.service.event_clients.clients == {}

    eventually("the client is forgotten", forgotten)


@pytest.mark.statement("ST-1")
def test_a_list_of_jobs_comes_in_lines(running: Running) -> None:
    def submit() -> None:
        running.cell.submit("alice")
        running.cell.cycle()
        for _ in range(ROWS_A_LINE + 1):  # one commit for all: a disk may take its time over each
            running.cell.undecided("submit", {"binary": True, "script_file": "/bin/sleep", "hard": ["arch=none"]})
        running.service.flush()

    running.do(submit)
    body = {"jobs": {"users": ["*"]}}
    first, *further = gdi.stream("job_list", body, gdi.ANSWER_S)
    whole = gdi.call("status", body).data["jobs"]
    assert first["data"]["jobs"] == {**whole, "pending": []}
    assert len(first["data"]["jobs"]["running"]) == 1
    assert [(phase, len(rows)) for phase, rows in further] == [("pending", ROWS_A_LINE), ("pending", 1)]
    assert sum((rows for _, rows in further), []) == whole["pending"]
    (refused,) = gdi.stream("job_list", {"jobs": {"select": {"requests": ["nosuch=1"]}}}, gdi.ANSWER_S)
    assert refused["status"] == 1


@pytest.mark.statement("SO-34", "SO-36")
def test_ends_of_one_commit_are_all_sent(running: Running) -> None:
    def submit() -> int:
        running.cell.submit("alice", tasks="1-3")
        running.cell.cycle()
        return max(running.cell.state.jobs)

    job_id = running.do(submit)
    stream = gdi.stream("wait", {"job_id": job_id})
    assert sorted(next(stream)["task_id"] for _ in range(3)) == [1, 2, 3]

    def end() -> None:
        cell = running.cell
        for (job, task, attempt), host in sorted(cell.running.items()):
            report = Ended(TaskKey(job, task, attempt), 0, task, 0, "", cell.now, cell.now, {"ru_wallclock": 1.0, "cpu": 0.5})
            cell.master.reports(host, [report])
        cell.running.clear()
        running.service.flush()

    running.do(end)
    received = list(stream)
    assert [(one["task_id"], one["exit_status"]) for one in received[:-1]] == [(1, 1), (2, 2), (3, 3)]
    assert received[-1] == {"done": True}


@pytest.mark.statement("SO-34", "QI-3")
def test_a_client_that_waits_hears_of_lost_hosts_and_of_errors(running: Running) -> None:
    """A caller that starts to wait after the end gets it, too."""

    def submit() -> tuple[int, str]:
        job_id = running.cell.submit("alice")
        running.cell.cycle()
        return job_id, running.cell.state.jobs[job_id].tasks[1].host

    def happen(event: AnyEvent) -> None:
        def record() -> None:
            running.cell.master.record(Decision(events=[event]), DAEMON)
            running.service.flush()

        running.do(record)

    job_id, host = running.do(submit)
    stream = gdi.stream("wait", {"job_id": job_id})
    assert next(stream) == {"task_id": 1, "started": True, "host": host}
    lost = {"task_id": 1, "host": host, "lost": True}
    happen(HostLost(host, running.cell.now))
    assert next(stream) == lost
    later = gdi.stream("wait", {"job_id": job_id})
    assert [next(later) for _ in range(2)] == [{"task_id": 1, "started": True, "host": host}, lost]
    happen(HostHeard(host, running.cell.now))
    assert next(stream) == next(later) == {**lost, "lost": False}
    task = running.cell.state.jobs[job_id].tasks[1]
    happen(TaskRequeued(job_id, 1, task.attempt, running.cell.now, error="no such thing"))
    error = {"task_id": 1, "error": "no such thing"}
    last = gdi.stream("wait", {"job_id": job_id})
    assert next(stream) == next(later) == next(last) == error
    happen(TaskErrorCleared(job_id, 1))
    assert next(stream) == {"task_id": 1, "error": ""}
    running.do(lambda: running.cell.ask("delete_jobs", targets=[str(job_id)]) and running.service.flush())
    assert [list(each)[-1] for each in (stream, later, last)] == [{"done": True}] * 3


def test_a_mirror_follows_what_is_committed(running: Running) -> None:
    stream = gdi.stream("mirror", {})
    first = [next(stream)["line"] for _ in range(3)]
    assert first == ["WholeState", "Committed", "Beat"]
    running.do(lambda: running.cell.add("calendar", "night"))
    received = next(line for line in stream if line["line"] == "Committed")
    assert received["revision"] == running.cell.master.committed
    assert [event["name"] for event in received["events"]] == ["night"]
    stream.close()  # type: ignore[attr-defined]
    eventually("the mirror is forgotten", lambda: not running.service._mirrors._subscriptions)
