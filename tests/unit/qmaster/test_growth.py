"""Costs that grow with the work, and not with the size of the cell: counts of a small cell and of a cell ten times as large."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from daemons.qmaster.decide.jobs.admission import check_limits
from daemons.qmaster.queries.jobs import jobs as listed
from daemons.qmaster.queries.selection import Listing
from daemons.qmaster.selection import select_jobs
from gridengine.protocols.delivery import Inventory, Load
from gridengine.protocols.gdi.requests import Caller, DeleteJobs
from gridengine.state.events import encode_events
from tests.harness import LOAD, Cell


def steps(work: Callable[[], object]) -> int:
    """Lines of Python that some work takes: no clock, so the same on every machine."""
    counted = 0

    def trace(frame: object, event: str, _: object) -> object:
        nonlocal counted
        counted += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def ratio(tmp_path: Path, work: Callable[[Cell], Callable[[], object]], slack: int = 0) -> float:
    """The factor by which some work grows with ten times as many hosts."""
    figures = []
    for hosts in (20, 200):
        directory = tmp_path / str(hosts)
        directory.mkdir()
        once = work(Cell(directory, hosts))
        once()
        figures.append(steps(once))
    return figures[1] / figures[0]


@pytest.mark.parametrize("what", ["load", "inventory", "loss and return", "submission"])
def test_the_cost_of_a_host_or_job_does_not_grow_with_the_cell(tmp_path: Path, what: str) -> None:
    def work(cell: Cell) -> Callable[[], object]:
        master = cell.master
        costs = {
            "load": lambda: master.reports("h1", [Load(cell.now, {"np_load_avg": "0.3"})]),
            "inventory": lambda: master.reports("h1", [Inventory([], "boot1"), Load(cell.now, dict(LOAD), full=True)]),
            "loss and return": lambda: (master.lose_host("h1"), master.reports("h1", [Load(cell.now, dict(LOAD), full=True)])),
            "submission": lambda: cell.undecided("submit", {"binary": True, "script_file": "/bin/true"}),
        }
        return costs[what]

    assert ratio(tmp_path, work) < 1.3


def test_a_job_from_end_to_end_is_few_events_and_bytes(cell: Cell) -> None:
    """Its record is in the journal once; the other events have only the changes."""
    written: list[int] = []
    cell.master.subscribers.append(lambda each: written.append(len(encode_events(each.events)) if each.affected.durable else 0))
    number = cell.submit()
    cell.cycle()
    cell.end(number)
    durable = [size for size in written if size]
    assert len(durable) <= 5, "submitted, dispatched, started, ended, and what is removed of it"
    assert sum(durable) < 1500


def test_a_pending_job_is_some_bytes_of_a_snapshot(cell: Cell) -> None:
    for _ in range(256):
        cell.submit(hard=["h_rt=3600"], cwd="/home/alice/work", home="/home/alice")
    cell.master.spool.snapshot(cell.state)
    assert sum(map(len, cell.master.spool._jobs.read())) / 256 < 60


ALICE, ROOT = Caller("alice", 1001, "users", 1001, "h1"), Caller("root", 0, "root", 0, "h1")
OF_ONE_USER: dict[str, Callable[[Cell], object]] = {
    "qstat -u alice": lambda cell: listed(Listing(cell.state), {"users": ["alice"]}, ALICE, cell.now),
    "qdel -u alice": lambda cell: select_jobs(cell.state, [], users=["alice"]),
    "max_u_jobs": lambda cell: check_limits(cell.state, cell.state.configuration(), ALICE),
}


@pytest.mark.parametrize("what", OF_ONE_USER)
def test_the_cost_for_a_user_does_not_grow_with_the_jobs_of_other_users(tmp_path: Path, what: str) -> None:
    figures = []
    for jobs in (30, 300):
        directory = tmp_path / str(jobs)
        directory.mkdir()
        cell = Cell(directory)
        cell.configure("configuration", "global", max_u_jobs="1000")
        for _ in range(jobs):
            cell.submit(user="bob")
        work = partial(OF_ONE_USER[what], cell)
        work()
        figures.append(steps(work))
    assert figures[1] < figures[0] * 1.3


def test_a_tick_does_not_look_at_all_that_runs(tmp_path: Path) -> None:
    figures = []
    for jobs in (20, 200):
        directory = tmp_path / str(jobs)
        directory.mkdir()
        cell = Cell(directory, hosts=1, slots=1000)
        for _ in range(jobs):
            cell.submit()
        cell.cycle()
        assert len(cell.state.tasks_on["h1"]) == jobs
        cell.master.tick()
        figures.append(steps(cell.master.tick))
    assert figures[1] < figures[0] * 1.3


def test_a_forced_deletion_of_many_does_not_look_at_all_hosts_for_each(tmp_path: Path) -> None:
    def work(cell: Cell) -> Callable[[], object]:
        for _ in range(50):
            cell.submit(holds="u")
        request = DeleteJobs(targets=[str(number) for number in cell.state.jobs], force=True)
        return partial(cell.master.decide, "delete_jobs", request, ROOT, {})

    assert ratio(tmp_path, work) < 1.5
