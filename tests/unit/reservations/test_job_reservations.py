"""Advance reservations and job reservations (-R y): the earlier reservation keeps its slots (ADR 80)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reservations.conftest import ReservingCell


@pytest.fixture
def cell(tmp_path: Path) -> ReservingCell:
    """One host of one slot, on which a job runs for 100 s yet; the scheduler reserves."""
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    cell.configure("scheduler", "", max_reservation="10", params="DURATION_OFFSET=0")
    cell.submit(hard=["h_rt=100"])
    cell.cycle()
    return cell


def waiting(cell: ReservingCell, h_rt: int = 300) -> int:
    """A job that has a reservation after the first."""
    number = cell.submit(hard=[f"h_rt={h_rt}"], reserve=True)
    cell.cycle()
    return number


@pytest.mark.statement("AR-52")
def test_resources_reserved_for_a_waiting_job_are_not_granted_to_a_reservation(cell: ReservingCell) -> None:
    waiting(cell)
    assert cell.refused(at=200, duration=100) == "advance_reservation: no suitable queues"
    assert cell.refused(at=100, duration=1)
    assert cell.refused(at=399, duration=100)
    cell.qrsub(at=400, duration=100)


@pytest.mark.statement("AR-52")
def test_a_refusal_names_the_job_that_waits_for_the_slots(cell: ReservingCell) -> None:
    number = waiting(cell)
    lines = [text for _, text in cell.request(at=200, duration=100, verify="v").answers]
    assert any(f"is held by waiting job {number} (-R y) until " in line for line in lines), lines
    assert any(line.startswith("It would fit from ") for line in lines), lines


@pytest.mark.statement("AR-52")
def test_the_first_window_that_fits_is_after_the_waiting_job(cell: ReservingCell) -> None:
    waiting(cell)
    number = cell.qrsub(duration=100, latest=cell.now + 1000)
    assert cell.ar(number).start_time == cell.now + 400


@pytest.mark.statement("AR-52")
def test_a_job_is_promised_nothing_of_a_reservation_that_was_first(cell: ReservingCell) -> None:
    cell.qrsub(at=200, duration=100)
    number = waiting(cell)
    assert [(one.job_id, one.start_time - cell.now) for one in cell.state.job_reservations] == [(number, 300)]
    cell.end(1)
    cell.cycle()
    assert not cell.placed(number), "300 s do not fit before the reservation"


@pytest.mark.statement("AR-52")
@pytest.mark.parametrize("end", ["deleted", "started", "not reserved for any more"])
def test_an_ended_job_reservation_blocks_no_advance_reservation(cell: ReservingCell, end: str) -> None:
    number = waiting(cell)
    if end == "deleted":
        cell.ask("delete_jobs", targets=[str(number)])
    elif end == "started":
        cell.end(1)
        cell.cycle()
        assert cell.placed(number)
        cell.end(number)
    else:
        cell.configure("scheduler", "", max_reservation="0", params="DURATION_OFFSET=0")
        cell.cycle()
    cell.qrsub(at=200, duration=100)


@pytest.mark.statement("AR-52")
def test_a_restarted_scheduler_takes_back_what_the_one_before_promised(cell: ReservingCell) -> None:
    number = waiting(cell)
    cell.ask("alter_jobs", targets=[str(number)], changes={"reserve": False})
    cell.mirror.load(cell.master.spool.parts(cell.state))
    assert cell.state.job_reservations
    cell.cycle()
    assert not cell.state.job_reservations


@pytest.mark.statement("AR-52")
def test_orders_that_do_not_know_a_reservation_promise_nothing(cell: ReservingCell) -> None:
    from gridengine.protocols.orders import Orders
    from gridengine.state.jobs import Grant
    from gridengine.state.reservations import JobReservation

    number = cell.submit(hard=["h_rt=300"], reserve=True)
    old = cell.state.revision
    cell.qrsub(at=200, duration=100)
    promise = JobReservation(number, 1, cell.now + 100, cell.now + 400, [Grant("all.q@h1", 1)])
    cell.master.orders(Orders(old, job_reservations=[promise]))
    assert not cell.state.job_reservations
