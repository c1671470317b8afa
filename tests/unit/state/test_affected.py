"""Things that each event affects: a row for each event, and the guarantees for readers."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from daemons.qmaster.transaction import Transaction
from gridengine.state.affected import ROWS, Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.event import Event
from gridengine.state.machines.host import HostHeard, HostLost
from gridengine.state.machines.job import JobChanged
from gridengine.state.machines.task import TaskDeletionRequested, TaskEnded, TaskSuspensionChanged
from tests.harness import Cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


@pytest.mark.parametrize("event", get_args(AnyEvent), ids=lambda event: event.__name__)
def test_each_event_has_a_row(event: type[Event]) -> None:
    assert event in ROWS


def test_no_row_is_of_something_else() -> None:
    assert ROWS.keys() == set(get_args(AnyEvent))


def test_a_task_touches_its_places_before_it_leaves_them(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    (place, _), host = cell.placed(job)[0], cell.running[job, 1, 1]
    ended = Affected.by(cell.state, TaskEnded(job, 1, 1, cell.now))
    assert (ended.jobs, ended.tasks, ended.instances, ended.hosts) == ({job}, {(job, 1)}, {place}, {host})
    assert ended.released and ended.may_start_jobs and ended.durable and not ended.to_notify
    assert Affected.by(cell.state, TaskEnded(job, 1, 1, cell.now, abandoned=True)).to_notify == {host}
    asked = Affected.by(cell.state, TaskDeletionRequested(job, 1, "alice"))
    assert asked.to_notify == {host} and not asked.instances
    stopped = Affected.by(cell.state, TaskSuspensionChanged(job, 1, "threshold", True))
    assert stopped.stopped == stopped.instances == {place} and stopped.to_notify == {host}


def test_load_frees_nothing_while_no_job_is_there(cell: Cell) -> None:
    heard = HostHeard("h1", cell.now, {"load_avg": "1"}, ["mem_free"])
    idle = Affected.by(cell.state, heard)
    assert idle.heard == {"h1": {"load_avg", "mem_free"}} and not (idle.may_start_jobs or idle.durable or idle.returned)
    cell.submit(hard=["arch=none"])
    assert Affected.by(cell.state, heard).may_start_jobs


def test_with_a_host_go_its_sensors_values_of_other_hosts(cell: Cell) -> None:
    apply(cell.master.state, HostHeard("h2", cell.now, {"lic": "3"}, by="h1"))
    lost = Affected.by(cell.state, HostLost("h1", cell.now))
    assert lost.lost == {"h1"} and lost.heard == {"h2": {"lic"}} and not lost.may_start_jobs


def test_objects_are_known_as_they_were(cell: Cell) -> None:
    before = cell.state.kind("cluster_queue")["all.q"]
    affected = Affected()
    for slots in ("5", "6"):
        affected.note(cell.state, ObjectSet("cluster_queue", "all.q", {**before, "slots": slots}))
    affected.note(cell.state, ObjectSet("user", "alice", {}))
    assert affected.objects == {("cluster_queue", "all.q"): before, ("user", "alice"): None}
    assert affected.kinds == {"cluster_queue", "user"}


def test_a_transaction_carries_it_and_has_one_time(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The times in its events, and of what follows from it, are those of the one reading of the clock."""
    seen: list[Transaction] = []
    cell.master.subscribers.append(seen.append)
    looks = 0
    world = cell.master.world

    def counted() -> object:
        nonlocal looks
        looks += 1
        return world()

    monkeypatch.setattr(cell.master, "world", counted)
    job = cell.submit()
    assert looks == 1 and seen[-1].affected.jobs == {job} and seen[-1].time == cell.state.jobs[job].submit_time
    assert cell.ask("alter_jobs", targets=[str(job)], changes={"priority": -5}).status == 0
    assert seen[-1].affected.altered == {job} and type(seen[-1].events[0]) is JobChanged
    looks = 0
    cell.configure("host_group", "@allhosts", hostlist="h1 h2")
    assert looks == 1
