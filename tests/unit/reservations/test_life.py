"""States of reservations: by the clock, by events of hosts and queues, and across restarts of the master."""

from __future__ import annotations

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from gridengine.protocols.delivery import Inventory, Load
from gridengine.state.bookings import CLUSTER
from gridengine.state.machines.instance import InstanceFlagsChanged
from tests.harness import LOAD
from tests.unit.reservations.conftest import ReservingCell


@pytest.mark.statement("AR-57")
def test_the_answer_to_a_queue_change_waits_for_its_reservations(cell: ReservingCell) -> None:
    number = cell.qrsub(hard_queues=["all.q@h1"], at=600)
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    assert cell.ar(number).errors == ["reserved queue all.q@h1 is disabled"], "no time has passed"
    cell.admin("change_states", action="enable", what="queue", targets=["all.q@h1"])
    assert not cell.ar(number).errors
    cell.admin("drain_hosts", hosts=["h1"], reason="disk")
    assert cell.ar(number).errors


@pytest.mark.statement("AR-53", "AR-54", "AR-55")
def test_waiting_running_gone_at_their_second(cell: ReservingCell) -> None:
    number = cell.qrsub(at=10, duration=20)
    cell.wait(9)
    assert cell.ar(number).state == "w"
    cell.wait(1)
    assert cell.ar(number).state == "r"
    cell.wait(19)
    assert cell.ar(number).state == "r"
    cell.wait(1)
    assert number not in cell.state.reservations


@pytest.mark.statement("AR-57", "AR-58", "AR-59")
@pytest.mark.parametrize(
    ("break_it", "fix_it", "text"),
    [("disable", "enable", "disabled"), ("suspend", "unsuspend", "suspended")],
)
def test_a_closed_instance_is_a_warning_before_and_an_error_after_the_start(
    cell: ReservingCell, break_it: str, fix_it: str, text: str
) -> None:
    later, now = cell.qrsub(at=100), cell.qrsub()
    instance = next(iter(cell.granted(later)))
    for name in cell.state.instances:
        cell.admin("change_states", action=break_it, what="queue", targets=[name])
    cell.tick()
    assert (cell.ar(later).state, cell.ar(now).state) == ("W", "E")
    assert cell.ar(later).errors == [f"reserved queue {instance} is {text}"]
    for name in cell.state.instances:
        cell.admin("change_states", action=fix_it, what="queue", targets=[name])
    cell.tick()
    assert (cell.ar(later).state, cell.ar(now).state) == ("w", "r")


@pytest.mark.statement("AR-57", "AR-58")
@pytest.mark.parametrize(("flag", "text"), [("calendar_disabled", "disabled"), ("calendar_suspended", "suspended")])
def test_an_instance_that_its_calendar_closes(cell: ReservingCell, flag: str, text: str) -> None:
    number = cell.qrsub(hard=["hostname=h1"])
    cell.master.record(Decision(events=[InstanceFlagsChanged(["all.q@h1"], {flag: True})]), DAEMON)
    cell.tick()
    assert (cell.ar(number).state, cell.ar(number).errors) == ("E", [f"reserved queue all.q@h1 is {text}"])


@pytest.mark.statement("AR-59")
def test_each_fault_is_listed(cell: ReservingCell) -> None:
    number = cell.qrsub(hard=["hostname=h1"])
    for action in ("suspend", "disable"):
        cell.admin("change_states", action=action, what="queue", targets=["all.q@h1"])
    cell.tick()
    assert cell.ar(number).errors == [f"reserved queue all.q@h1 is {text}" for text in ("disabled", "suspended")]


@pytest.mark.statement("AR-57", "SU-1")
def test_suspension_by_subordination_is_no_fault(cell: ReservingCell) -> None:
    cell.add("cluster_queue", "hot.q", hostlist="h1 h2 h3", slots="4")
    cell.configure("cluster_queue", "hot.q", subordinate_list="all.q=1")
    number = cell.qrsub(hard_queues=["all.q"], hard=["hostname=h1"])
    cell.submit(hard_queues=["hot.q"], hard=["hostname=h1"])
    cell.cycle()
    assert cell.state.instances["all.q@h1"].subordinated
    cell.tick()
    assert cell.ar(number).state == "r"


@pytest.mark.statement("AR-57", "AR-58", "QI-3")
def test_a_lost_host_breaks_its_reservations_alone_and_its_return_mends_them(cell: ReservingCell) -> None:
    first, second = cell.qrsub(hard=["hostname=h1"]), cell.qrsub(hard=["hostname=h2"])
    cell.master.lose_host("h1")
    cell.tick()
    assert (cell.ar(first).state, cell.ar(second).state) == ("E", "r")
    assert cell.ar(first).errors == ["reserved queue all.q@h1 is unknown"]
    cell.report("h1", Load(cell.now, dict(LOAD), full=True))
    cell.tick()
    assert cell.ar(first).state == "r"


@pytest.mark.statement("AR-62")
def test_a_failing_prolog_inside_breaks_the_reservation_until_it_is_cleared(cell: ReservingCell) -> None:
    number = cell.qrsub(hard=["hostname=h1"])
    job = cell.submit(ar=number)
    cell.cycle()
    cell.end(job, failed=8)
    cell.tick()
    assert cell.ar(number).state == "E"
    assert cell.ar(number).errors == ["reserved queue all.q@h1 is error"]
    cell.admin("change_states", action="clear", what="queue", targets=["all.q@h1"])
    cell.tick()
    assert cell.ar(number).state == "r"
    cell.cycle()
    assert cell.placed(job) == [("all.q@h1", 1)]


@pytest.mark.statement("AR-60", "AR-61")
@pytest.mark.parametrize("hard", [False, True])
def test_soft_goes_on_with_the_rest_and_hard_stops(cell: ReservingCell, hard: bool) -> None:
    cell.configure("cluster_queue", "all.q", slots="1")
    number = cell.qrsub(pe="mpi", pe_range="3", hard_errors=hard)
    cell.master.lose_host("h2")
    cell.tick()
    jobs = [cell.submit(ar=number) for _ in range(3)]
    cell.cycle()
    assert sum(bool(cell.placed(job)) for job in jobs) == (0 if hard else 2)
    cell.report("h2", Load(cell.now, dict(LOAD), full=True))
    cell.tick()
    cell.cycle()
    assert all(cell.placed(job) for job in jobs)


@pytest.mark.statement("AR-55", "AR-90", "AR-104")
def test_the_end_takes_running_and_pending_jobs_along(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=100)
    runs, waits = cell.submit(ar=number), cell.submit(ar=number)
    cell.cycle()
    assert cell.placed(runs) and not cell.placed(waits)
    cell.wait(100)
    assert waits not in cell.state.jobs
    assert cell.ar(number).state == "x"
    cell.deliver()
    assert ("kill") in [command for _, _, command in cell.signals]
    cell.end(runs, exit_status=137)
    cell.tick()
    assert number not in cell.state.reservations
    assert cell.state.bookings.at(CLUSTER) == {}


@pytest.mark.statement("AR-63", "AR-105")
def test_jobs_that_cannot_be_reached_keep_it_until_they_are_forced_away(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=100)
    job = cell.submit(ar=number)
    cell.cycle()
    host = cell.running[job, 1, 1]
    cell.master.lose_host(host)
    cell.wait(1000)
    assert cell.ar(number).state == "x"
    assert cell.qdel_ar(number).answers == [("info", f"advance_reservation {number} is already in deletion")]
    assert cell.qdel_ar(number, force=True).status == 0
    assert number not in cell.state.reservations and job not in cell.state.jobs
    assert len(cell.records(job)) == 1
    cell.inventory(host)
    assert cell.report(host, Inventory([(job, 1, 1)]))[0].forget == [(job, 1, 1)]


@pytest.mark.statement("AR-97")
def test_deleting_while_a_job_is_in_transfer_leaves_no_ghost(cell: ReservingCell) -> None:
    number = cell.qrsub()
    job = cell.submit(ar=number)
    cell.place()
    assert cell.state.task(job, 1).status == "transferring"
    cell.qdel_ar(number)
    cell.restart()
    assert cell.ar(number).state == "d"
    cell.deliver()
    cell.deliver()
    cell.end(job, exit_status=137)
    cell.tick()
    assert not cell.state.reservations and not cell.state.jobs
    assert cell.state.reserved.used == {} and cell.state.bookings.at(CLUSTER) == {}


@pytest.mark.statement("AR-64", "AR-65", "SP-3")
def test_a_restart_brings_everything_back(cell: ReservingCell) -> None:
    runs, waits, over = cell.qrsub(duration=1000), cell.qrsub(at=50, duration=1000), cell.qrsub(duration=20)
    job = cell.submit(ar=runs)
    cell.cycle()
    before = cell.ar(runs)
    cell.now += 60
    cell.restart()
    assert cell.ar(runs) == before
    assert cell.state.reserved.slots_used(cell.placed(job)[0][0]) == 1
    cell.tick()
    assert cell.ar(waits).state == "r", "its start has passed, and no host is taken for lost yet"
    assert over not in cell.state.reservations
    cell.now += 20
    cell.tick()
    assert cell.ar(runs).state == "E", "now its host should have come back"


@pytest.mark.statement("AR-64")
def test_a_snapshot_keeps_reservations(cell: ReservingCell) -> None:
    number = cell.qrsub(pe="mpi", pe_range="5", hard=["hostname=h*"])
    job = cell.submit(ar=number)
    cell.cycle()
    cell.master.spool.snapshot(cell.state)
    held = cell.state.reserved.held[number]
    cell.restart()
    assert cell.state.reserved.held[number].at(CLUSTER) == held.at(CLUSTER)
    assert cell.state.reserved.used[number].at(CLUSTER) == {"slots": 1}
    assert cell.state.reserved.jobs[number] == {job}
    assert cell.qrsub() == number + 1


@pytest.mark.statement("AR-54")
def test_hundreds_of_starts_at_one_second_are_one_transaction(cell: ReservingCell) -> None:
    cell.configure("cluster_queue", "all.q", slots="400")
    numbers = [cell.qrsub(at=10, duration=10) for _ in range(200)]
    before = cell.state.revision
    cell.wait(10)
    assert {cell.ar(number).state for number in numbers} == {"r"}
    assert cell.state.revision - before <= len(cell.names) + 1
    cell.wait(10)
    assert not cell.state.reservations
