"""The usage of a reservation: `qacct -ar ID -reserved`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gridengine.usage.reservation_utilisation import ReservationUtilisation
from tests.unit.clients.shell import Shell
from tests.unit.clients.test_json_schemas import valid
from tests.unit.reservations.conftest import ReservingCell


@pytest.fixture
def shell(cell: ReservingCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shell:
    monkeypatch.setattr("time.time", lambda: cell.now)
    monkeypatch.setenv("TZ", "UTC")
    return Shell(cell, tmp_path, monkeypatch, capsys)


def use(shell: Shell, number: int, options: str = "") -> dict[str, Any]:
    outcome = shell(f"qacct -ar {number} -reserved -json {options}")
    found: dict[str, Any] = valid("qacct", outcome.out)["reservation"]
    return found


def run(cell: ReservingCell, number: int, seconds: int, **fields: Any) -> None:
    """A job in the reservation, from its start until its end."""
    from gridengine.protocols.delivery import Ended

    job = cell.submit(ar=number, **fields)
    cell.cycle()
    begin = cell.now
    cell.wait(seconds)
    key = next(key for key in cell.running if key.job == job)
    cell.report(cell.running.pop(key), Ended(key, 0, 0, 0, "", begin, cell.now, {"ru_wallclock": float(seconds)}))


@pytest.mark.statement("AR-124", "QA-4")
def test_reserved_used_idle_and_never_used(cell: ReservingCell, shell: Shell) -> None:
    number = cell.qrsub(duration=100, pe="mpi", pe_range="4", name="x")
    begin = int(cell.now)
    run(cell, number, 10)
    run(cell, number, 20, pe="mpi", pe_range="2")
    found = use(shell, number)
    assert (found["state"], found["reserved_slot_s"], found["used_slot_s"]) == ("standing", 4 * 30, 10 + 2 * 20)
    cell.wait(70)
    assert not cell.state.reservations
    slave = cell.records(2)[0].replace(pe_taskid="1.h1")
    cell.master.spool.accounted.add([(2, 0, slave)])
    cell.master.accounting.follow()
    found = use(shell, number)
    assert found == {
        "ar_id": number, "owner": "alice", "name": "x", "account": "sge", "state": "ended", "submit_time_s": begin,
        "start_time_s": begin, "end_time_s": begin + 100, "slots": 4, "reserved_slot_s": 400.0, "used_slot_s": 50.0,
        "idle_slot_s": 350.0, "used_share": 0.125, "most_slots_used": 2, "never_used_share": 0.5,
    }
    lines = dict(line.split(None, 1) for line in shell(f"qacct -ar {number} -reserved").lines[1:])
    assert (lines["reserved"], lines["idle"], lines["never_used_share"]) == ("400.000 slot s", "350.000 slot s", "50.0 %")
    (row,) = csv.DictReader(io.StringIO(shell(f"qacct -ar {number} -reserved -csv").out))
    assert row == {name: str(value) for name, value in found.items()}
    assert use(shell, number, f"-f {cell.directory / 'accounting'}") == found
    assert "reserved" not in shell(f"qacct -ar {number}").out, "the table of -ar keeps its form"
    cell.restart()
    assert use(shell, number) == found


@pytest.mark.statement("AR-124", "AR-123")
def test_a_reservation_that_never_began_held_nothing(cell: ReservingCell, shell: Shell) -> None:
    number = cell.qrsub(at=1000)
    cell.wait(10)
    cell.qdel_ar(number)
    found = use(shell, number)
    assert (found["state"], found["reserved_slot_s"], found["never_used_share"]) == ("deleted", 0, 0)


@pytest.mark.statement("AR-124")
def test_a_deleted_reservation_held_its_slots_until_its_deletion(cell: ReservingCell, shell: Shell) -> None:
    number = cell.qrsub(duration=100)
    cell.wait(30)
    cell.qdel_ar(number)
    found = use(shell, number)
    assert (found["state"], found["reserved_slot_s"], found["used_slot_s"]) == ("deleted", 30 * found["slots"], 0)
    assert found["never_used_share"] == 1.0


@pytest.mark.statement("AR-124")
def test_a_change_counts_from_when_it_was_made(cell: ReservingCell, shell: Shell) -> None:
    number = cell.qrsub(duration=100, pe="mpi", pe_range="2")
    cell.wait(40)
    assert cell.ask("alter_reservations", targets=[str(number)], changes={"end_time": cell.now + 160}).status == 0
    held = cell.master.spool.held_slots.of(number)
    assert [row.end_time - row.start_time for row in held] == [100, 200]
    cell.wait(160)
    assert use(shell, number)["reserved_slot_s"] == 2 * 200


@pytest.mark.statement("AR-124")
def test_a_job_that_began_in_the_second_of_its_reservation_counts_whole(cell: ReservingCell, shell: Shell) -> None:
    cell.wait(0.75)
    number = cell.qrsub(duration=100)
    run(cell, number, 10)
    cell.wait(90)
    found = use(shell, number)
    assert (found["reserved_slot_s"], found["used_slot_s"]) == (100 * found["slots"], 10)


@pytest.mark.parametrize("version", ["granted before", "granted and over before"])
def test_a_reservation_granted_by_an_earlier_version_is_listed(cell: ReservingCell, shell: Shell, version: str) -> None:
    number = cell.qrsub(duration=100)
    slots = cell.state.reservations[number].slots
    cell.master.spool._db.execute("delete from held_slots")
    cell.wait(60)
    assert use(shell, number)["reserved_slot_s"] == 60 * slots
    cell.wait(40)
    if version == "granted before":
        assert use(shell, number)["reserved_slot_s"] == 100 * slots
    else:
        cell.master.spool._db.execute("delete from held_slots")
        outcome = shell(f"qacct -ar {number} -reserved")
        assert (outcome.out, outcome.status) == ("", 1)
        assert outcome.err == f"error: advance reservation {number} not found\n"


@pytest.mark.parametrize("options", ["-reserved", "-ar -reserved", "-ar 1 -j 1 -reserved"])
def test_the_listing_is_for_a_single_reservation(shell: Shell, options: str) -> None:
    outcome = shell(f"qacct {options}")
    assert (outcome.out, outcome.status) == ("", 1)
    assert outcome.err.startswith("qacct: -reserved is for the reservation that -ar names, without -j\n")


@pytest.mark.statement("AR-124")
@pytest.mark.parametrize(
    ("held", "jobs", "reserved", "used", "most"),
    [
        ([(0, 100, 4)], [(50, 100, 1), (0, 50, 1)], 400, 100, 1),
        ([(0, 100, 4)], [(0, 50, 1), (49, 100, 2)], 400, 152, 3),
        ([(10, 20, 4)], [(0, 50, 1), (90, 100, 2)], 40, 10, 1),
        ([(0, 10, 4), (10, 20, 2)], [(5, 15, 2)], 60, 20, 2),
        ([(0, 10, 4)], [(3, 3, 2)], 40, 0, 2),
        ([(0, 10, 1)], [(0, 10, 2)], 10, 20, 1),
        ([(5, 5, 4)], [], 0, 0, 0),
        ([], [(0, 9, 1)], 0, 0, 0),
    ],
)
def test_the_figures(held: list[Any], jobs: list[Any], reserved: float, used: float, most: int) -> None:
    found = ReservationUtilisation(held, jobs)
    assert (found.reserved, found.used, found.most_used) == (reserved, used, most)
    assert found.idle == max(0, reserved - used) and 0 <= found.used_share <= 1 and 0 <= found.never_used_share <= 1
    assert json.dumps(found.never_used_share) != "NaN"
