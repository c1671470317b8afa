"""The qmaster checks the scheduler's orders again: consumables, PE slots and states may have changed since."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.admit import admit
from daemons.schedd.cycle import schedule
from gridengine.protocols.orders import Orders, StartOrder
from gridengine.state.bookings import CLUSTER
from gridengine.state.jobs import Grant
from tests.harness import Cell


def cell(directory: Path) -> Cell:
    made = Cell(directory)
    for name, consumable in (("lic", "YES"), ("once", "JOB")):
        plain = {"shortcut": name, "type": "INT", "relop": "<=", "requestable": "YES", "default": "0"}
        assert made.add("complex", name, consumable=consumable, **plain).status == 0
    made.add("parallel_environment", "two", slots="4", allocation_rule="$fill_up")
    made.configure("cluster_queue", "all.q", pe_list="two")
    made.configure("exec_host", "global", complex_values="lic=2,once=1")
    return made


def order(job: int, *granted: tuple[str, int], pe: str = "") -> StartOrder:
    return StartOrder(job, 1, 1, 0, [Grant(name, slots) for name, slots in granted], pe)


def taken(cell: Cell, *starts: StartOrder) -> list[int]:
    """The jobs of these orders that are started."""
    return [event.job_id for event in admit(cell.state, Orders(cell.state.revision, list(starts)), cell.now)]  # type: ignore[union-attr]


@pytest.mark.statement("CX-39", "CX-46")
def test_two_orders_for_the_last_of_a_consumable(tmp_path: Path) -> None:
    here = cell(tmp_path)
    first, second, third = (here.submit(hard=[f"lic={count}"]) for count in (1, 2, 1))
    starts = [order(job, (f"all.q@h{job}", 1)) for job in (first, second, third)]
    assert taken(here, *starts) == [first, third]


@pytest.mark.statement("CX-38", "CX-46")
def test_job_consumables_are_counted_once_a_job(tmp_path: Path) -> None:
    here = cell(tmp_path)
    wide, other = (here.submit(hard=["once=1"], pe="two", pe_range="2") for _ in range(2))
    starts = [order(job, ("all.q@h1", 1), ("all.q@h2", 1), pe="two") for job in (wide, other)]
    assert taken(here, *starts) == [wide]


@pytest.mark.statement("PE-2")
def test_slots_of_a_parallel_environment(tmp_path: Path) -> None:
    here = cell(tmp_path)
    jobs = [here.submit(pe="two", pe_range="2") for _ in range(3)]
    starts = [order(job, (f"all.q@h{number}", 2), pe="two") for number, job in enumerate(jobs, start=1)]
    assert taken(here, *starts) == jobs[:2]
    here.configure("parallel_environment", "two", slots="3")
    assert taken(here, *starts) == jobs[:1]


@pytest.mark.statement("QC-18", "QC-41")
def test_slots_of_an_instance(tmp_path: Path) -> None:
    here = cell(tmp_path)
    jobs = [here.submit() for _ in range(6)]
    assert taken(here, *(order(job, ("all.q@h1", 1)) for job in jobs)) == jobs[:4]
    here.configure("cluster_queue", "all.q", slots="1")
    assert taken(here, *(order(job, ("all.q@h1", 1)) for job in jobs)) == jobs[:1]


@pytest.mark.statement("CX-48", "CX-46")
def test_capacity_that_was_lowered_while_the_scheduler_thought(tmp_path: Path) -> None:
    here = cell(tmp_path)
    jobs = [here.submit(hard=["lic=1"]) for _ in range(2)]
    assert here.mirror.view is not None
    orders = schedule(here.mirror.view, here.now)
    assert len(orders.starts) == 2
    here.configure("exec_host", "global", complex_values="lic=1")
    here.master.orders(orders)
    here.master.flush()
    assert [bool(here.placed(job)) for job in jobs] == [True, False]
    here.configure("exec_host", "global", complex_values="lic=0")
    here.cycle()
    assert not here.placed(jobs[1]) and here.state.bookings.at(CLUSTER)["lic"] == 1


@pytest.mark.statement("CX-49", "CX-46")
def test_exclusive_hosts(tmp_path: Path) -> None:
    here = cell(tmp_path)
    exclusive = {"type": "BOOL", "relop": "EXCL", "requestable": "YES", "consumable": "YES", "default": "0"}
    here.add("complex", "alone", shortcut="alone", **exclusive)
    here.configure("exec_host", "h1", complex_values="alone=TRUE")
    plain, alone = here.submit(), here.submit(hard=["alone=TRUE"])
    assert taken(here, order(plain, ("all.q@h1", 1)), order(alone, ("all.q@h1", 1))) == [plain]
    assert taken(here, order(alone, ("all.q@h1", 1)), order(plain, ("all.q@h1", 1))) == [alone]


def test_objects_that_were_removed_meanwhile(tmp_path: Path) -> None:
    here = cell(tmp_path)
    here.add("parallel_environment", "gone", slots="4")
    job = here.submit(pe="*", pe_range="1")
    here.admin("config_delete", kind="parallel_environment", name="gone")
    assert taken(here, order(job, ("all.q@h1", 1), pe="gone")) == []
    assert taken(here, order(job, ("gone.q@h1", 1), pe="two")) == []


@pytest.mark.statement("CX-46")
def test_doubled_orders_do_nothing(tmp_path: Path) -> None:
    here = cell(tmp_path)
    job = here.submit(hard=["lic=1"])
    assert here.mirror.view is not None
    orders = schedule(here.mirror.view, here.now)
    for _ in range(3):
        here.master.orders(orders)
    here.master.flush()
    assert here.state.bookings.at(CLUSTER) == {"lic": 1, "slots": 1} and here.placed(job)


def test_a_task_that_one_batch_starts_twice_gets_one_place(tmp_path: Path) -> None:
    here = cell(tmp_path)
    job = here.submit()
    orders = [order(job, ("all.q@h1", 1)), order(job, ("all.q@h2", 1))]
    assert here.master.orders(Orders(here.state.revision, orders)) == 1
    assert here.placed(job) == [("all.q@h1", 1)] and not here.state.slots_used("all.q@h2")
