"""qralter: the permitted changes of a granted reservation, and the refusals of a whole change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols.gdi.requests import Answer
from gridengine.state.bookings import CLUSTER
from tests.unit.clients.shell import Shell
from tests.unit.reservations.conftest import ReservingCell


def alter(cell: ReservingCell, number: int, user: str = "alice", **changes: Any) -> Answer:
    for name, field in (("at", "start_time"), ("until", "end_time")):
        if name in changes:
            changes[field] = cell.now + changes.pop(name)
    return cell.ask("alter_reservations", user, targets=[str(number)], changes=changes)


@pytest.mark.statement("AR-125", "AR-120")
def test_the_window_moves_grows_and_shrinks_where_slots_are_free(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    number, other = cell.qrsub(at=100, duration=100), cell.qrsub(at=300, duration=100)
    now = cell.now
    window = lambda: (cell.ar(number).start_time - now, cell.ar(number).end_time - now)  # noqa: E731
    assert alter(cell, number, at=150).answers == [("info", "modified advance_reservation 1 (start time, end time)")]
    assert window() == (150, 250)
    assert alter(cell, number, until=300).status == 0
    assert window() == (150, 300)
    assert alter(cell, number, duration=151).answers == [("error", "advance_reservation: no suitable queues")]
    assert alter(cell, number, at=250).status == 1
    assert window() == (150, 300)
    assert alter(cell, number, at=400, duration=10).status == 0
    assert window() == (400, 410)
    assert alter(cell, number, at=-5).answers[0][1] == "start time is in the past"
    assert alter(cell, number, until=399).answers[0][1] == "start time is later than end time"
    assert alter(cell, 77, name="x").answers[0][1] == 'denied: advance_reservation "77" does not exist'
    cell.wait(300)
    assert cell.ar(other).state == "r"
    assert "has started" in alter(cell, other, at=50).answers[0][1]
    assert alter(cell, other, until=100).status == 0
    cell.restart()
    assert cell.ar(other).end_time == cell.now + 100


@pytest.mark.statement("AR-125")
def test_names_mail_access_and_resources(cell: ReservingCell) -> None:
    cell.complex("lic INT <= YES YES 0")
    cell.configure("exec_host", "global", complex_values="lic=6")
    number = cell.qrsub(pe="mpi", pe_range="3", hard=["lic=1"])
    job = cell.submit(ar=number, hard=["lic=1"])
    cell.cycle()
    places = cell.granted(number)
    done = alter(cell, number, name="new", users=["alice", "bob"], mail_options="b", mail_list=["x@y"], hard=["lic=2"])
    assert done.status == 0
    one = cell.ar(number)
    assert (one.name, one.allowed, one.mail_options, one.mail_list) == ("new", ["alice", "bob"], "b", ("x@y",))
    assert cell.state.reserved.held[number].at(CLUSTER) == {"slots": 3, "lic": 6}
    assert cell.granted(number) == places
    assert alter(cell, number, hard=["lic=3"]).status == 1
    assert "running jobs use" in alter(cell, number, hard=[]).answers[0][1]
    assert alter(cell, number, name="1a").status == 1
    assert alter(cell, number, users=["@nope"]).status == 1
    assert cell.ar(number).name == "new"
    cell.end(job)
    assert alter(cell, number, hard=[]).status == 0
    assert "cannot be moved" in alter(cell, number, pe_range="4", pe="mpi").answers[0][1]


@pytest.mark.statement("AR-125")
def test_unchangeable_fields_are_refused_in_the_order_of_names(cell: ReservingCell) -> None:
    number = cell.qrsub(at=100)
    done = alter(cell, number, verify="v", rule="x", now=True, latest=1.0, find=2)
    assert done.answers[0][1] == "denied: find, latest, now, rule, verify of an advance reservation cannot be changed"


@pytest.mark.statement("AR-125")
def test_before_its_start_it_may_get_other_places(cell: ReservingCell) -> None:
    number = cell.qrsub(at=100, hard_queues=["all.q@h1"])
    assert alter(cell, number, hard_queues=["all.q@h2"]).status == 0
    assert cell.granted(number) == {"all.q@h2": 1}
    assert alter(cell, number, pe="smp", pe_range="4").status == 0
    assert cell.granted(number) == {"all.q@h2": 4}
    assert cell.state.reserved.of_instance.keys() == {"all.q@h2"}
    cell.wait(100)
    jobs = [cell.submit(ar=number) for _ in range(5)]
    cell.cycle()
    assert sum(bool(cell.placed(job)) for job in jobs) == 4


@pytest.mark.statement("AR-125")
def test_only_owner_and_managers_may_alter_a_reservation(
    cell: ReservingCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["arusers"])
    number = cell.qrsub(name="mine")
    assert "privileges" in alter(cell, number, "bob", name="his").answers[0][1]
    shell = Shell(cell, tmp_path, monkeypatch, capsys)
    assert shell("qralter -N yours -he y mine").out == f"modified advance_reservation {number} (name, error behaviour)\n"
    assert shell("qralter -N yours 1").out == f"modified advance_reservation {number}: nothing has changed\n"
    assert (cell.ar(number).name, cell.ar(number).hard_errors) == ("yours", True)
    assert shell("qralter -w v 1").err.splitlines()[0] == 'qralter: invalid option argument "-w"'
    assert shell("qralter 1").status == 1
    assert shell.as_root(f"qralter -A x {number}").status == 0


@pytest.mark.statement("AR-125", "AR-39")
def test_several_at_once_get_no_slot_twice(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=4)
    numbers = [cell.qrsub(at=at, duration=100, pe="mpi", pe_range="3", name="same") for at in (100, 300, 500)]
    before = [cell.ar(number).start_time for number in numbers]
    moved = cell.ask("alter_reservations", targets=["same"], changes={"start_time": cell.now + 1000})
    assert moved.answers == [("error", "advance_reservation: no suitable queues")], "two of them would share one place"
    assert [cell.ar(number).start_time for number in numbers] == before
    longer = {"targets": [str(number) for number in numbers], "changes": {"duration": 200.0}}
    assert cell.ask("alter_reservations", **longer).status == 0
    assert cell.ask("alter_reservations", targets=["1", "1"], changes={"duration": 50.0}).status == 0
    cell.restart()
    assert [cell.ar(number).end_time - cell.ar(number).start_time for number in numbers] == [50, 200, 200]
    assert "no suitable queues" in cell.refused(at=350, duration=10, pe="mpi", pe_range="2")
    assert cell.request(at=150, duration=150, pe="mpi", pe_range="2").status == 0, "what was given back is free"


@pytest.mark.statement("AR-125")
def test_a_reservation_may_shrink_to_the_use_of_its_running_jobs(cell: ReservingCell) -> None:
    cell.complex("lic INT <= YES YES 0")
    cell.configure("cluster_queue", "all.q", complex_values="lic=9")
    number = cell.qrsub(hard=["lic=5"])
    cell.submit(ar=number, hard=["lic=3"])
    cell.cycle()
    refused = alter(cell, number, hard=["lic=2"])
    assert refused.answers == [("error", f"denied: running jobs use 3 of lic of advance_reservation {number}")]
    assert alter(cell, number, hard=["lic=3"]).status == 0
