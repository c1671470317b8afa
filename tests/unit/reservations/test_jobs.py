"""Jobs in a reservation: their permitted requests, and the places, times and durations of their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.state.bookings import CLUSTER
from tests.unit.reservations.conftest import ReservingCell


def refusal(cell: ReservingCell, user: str = "alice", **fields: object) -> str:
    answer = cell.ask("submit", user, binary=True, script_file="/bin/sleep", **fields)
    assert answer.status, answer.answers
    return answer.answers[0][1]


@pytest.mark.statement("AR-83", "AR-56")
def test_the_reservation_must_be_there(cell: ReservingCell) -> None:
    assert "999 is invalid" in refusal(cell, ar=999)
    number = cell.qrsub()
    cell.submit(ar=number)
    cell.cycle()
    cell.qdel_ar(number)
    assert "no longer available" in refusal(cell, ar=number)


@pytest.mark.statement("AR-56")
def test_a_reservation_that_is_over_takes_no_job(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=60)
    job = cell.submit(ar=number, verify="n")
    cell.cycle()
    cell.now += 60
    cell.master.tick()
    assert cell.ar(number).state == "x", "it waits for the end of its job"
    assert "no longer available" in refusal(cell, ar=number)
    cell.end(job)


def test_the_cluster_inside_a_reservation_is_read_from_what_is_known_of_it(cell: ReservingCell) -> None:
    number = cell.qrsub(pe="mpi", pe_range="6")
    config_snapshot = PlacementConfig.of(cell.state)
    inside = config_snapshot.within(cell.ar(number))
    assert inside.entries is config_snapshot.entries and inside.defaults is config_snapshot.defaults
    assert inside.capacities[CLUSTER] is not config_snapshot.capacities[CLUSTER]
    held = {name: inside.queue(name).consumables["slots"] for name in sorted(cell.granted(number))}
    assert held == cell.granted(number) != {}
    assert config_snapshot.queue("all.q@h1").consumables["slots"] == 4


@pytest.mark.statement("AR-84")
def test_only_its_users_may_use_it(cell: ReservingCell) -> None:
    mine = cell.qrsub()
    assert "no suitable queues" in refusal(cell, "bob", ar=mine)
    his = cell.qrsub(users=["bob"])
    assert "no suitable queues" in refusal(cell, ar=his)
    cell.submit("bob", ar=his)
    cell.admin("change_users", verb="add", users=["alice", "@users"], lists=["team"])
    ours = cell.qrsub(users=["@team", "!alice"])
    assert "no suitable queues" in refusal(cell, ar=ours)
    cell.submit("bob", ar=ours)


@pytest.mark.statement("AR-84", "AR-21")
def test_a_list_of_those_who_may_not_leaves_it_to_its_owner(cell: ReservingCell) -> None:
    number = cell.qrsub(users=["!bob"])
    assert (cell.ar(number).allowed, cell.ar(number).denied) == ([], ["bob"])
    cell.submit(ar=number)
    assert "no suitable queues" in refusal(cell, "bob", ar=number)
    assert "no suitable queues" in refusal(cell, "root", ar=number)


@pytest.mark.statement("AR-86")
def test_a_job_of_the_whole_window_may_be_submitted_within_its_first_second(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=1000)
    cell.now += 0.9
    cell.submit(ar=number, hard=["h_rt=1000"])
    cell.now += 0.2
    assert "exceeds the end time" in refusal(cell, ar=number, hard=["h_rt=1000"])


@pytest.mark.statement("AR-85", "AR-86")
def test_the_run_time_must_fit_the_window(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=1000)
    assert "longer than duration" in refusal(cell, ar=number, hard=["h_rt=1001"])
    cell.wait(1)
    assert "exceeds the end time" in refusal(cell, ar=number, hard=["h_rt=1000"])
    cell.submit(ar=number, hard=["h_rt=999"])


@pytest.mark.statement("AR-87", "AR-89")
def test_more_than_is_reserved_is_refused(cell: ReservingCell) -> None:
    for line in ("lic INT <= YES YES 0", "other INT <= YES YES 0"):
        cell.complex(line)
    cell.configure("exec_host", "global", complex_values="lic=100,other=100")
    cell.configure("host_group", "@allhosts", hostlist="h1 h2")
    number = cell.qrsub(pe="mpi", pe_range="4", hard=["lic=2"], hard_queues=["all.q@h1"])
    for fields in (
        {"pe": "mpi", "pe_range": "5"},
        {"pe": "smp", "pe_range": "2"},
        {"hard": ["lic=9"]},
        {"hard": ["lic=3"], "pe": "mpi", "pe_range": "3"},
        {"hard": ["other=1"]},
        {"hard_queues": ["all.q@h2"]},
        {"pe": "mpi", "pe_range": "2", "master_queues": ["all.q@h2"]},
    ):
        assert "no suitable queues" in refusal(cell, ar=number, **fields), fields
    cell.submit(ar=number, pe="mpi", pe_range="1-9", hard=["lic=2"])
    cell.submit(ar=number, hard=["lic=8"])
    waits = cell.submit(ar=number, pe="mpi", pe_range="5", verify="n")
    assert cell.ask("alter_jobs", targets=[str(waits)], changes={"pe": "mpi", "pe_range": "6"}).status == 1
    assert cell.ask("alter_jobs", targets=[str(waits)], changes={"name": "other"}).status == 0, "it says nothing of places"
    cell.cycle()
    assert not cell.placed(waits)


@pytest.mark.statement("AR-56", "AR-86", "SO-42")
def test_the_run_time_is_weighed_again_where_it_or_the_reservation_changes(cell: ReservingCell) -> None:
    number = cell.qrsub(duration=100)
    inside, outside = cell.submit(ar=number, hard=["h_rt=100"], holds="u"), cell.submit(hard=["h_rt=101"], holds="u")
    cell.wait(50)
    change = lambda job, **changes: cell.ask("alter_jobs", targets=[str(job)], changes=changes, verify="n").answers  # noqa: E731
    assert change(inside, name="other") == [("info", f"modified job name of job {inside}")]
    text = f"the job duration exceeds the end time of the advance reservation id {number}"
    assert change(inside, hard=["h_rt=99"]) == [("error", text)]
    text = f"the job duration is longer than duration of the advance reservation id {number}"
    assert change(outside, ar=number) == [("error", text)]


@pytest.mark.statement("AR-89", "SO-43")
def test_of_a_job_that_runs_inside_it_is_not_asked_where_it_would_fit(cell: ReservingCell) -> None:
    job = cell.submit(ar=cell.qrsub())
    cell.cycle()
    assert cell.placed(job)
    answer = cell.ask("alter_jobs", targets=[str(job)], changes={"hard": ["arch=nosuch"]})
    assert answer.answers == [("info", f"modified hard resource list of job {job}")]


@pytest.mark.statement("AR-88")
def test_fixed_attributes_are_those_of_the_reserved_instances(cell: ReservingCell) -> None:
    cell.complex("hc RESTRING == YES NO NONE")
    cell.configure("exec_host", "h1", complex_values="hc=bla")
    first, second = cell.qrsub(hard=["hostname=h1"]), cell.qrsub(hard=["hostname=h2"])
    cell.submit(ar=first, hard=["hc=bla"])
    assert "no suitable queues" in refusal(cell, ar=first, hard=["hc=nix"])
    assert "no suitable queues" in refusal(cell, ar=second, hard=["hc=bla"])
    cell.configure("cluster_queue", "all.q", slots="1")
    third = cell.qrsub(pe="mpi", pe_range="2", at=100000)
    cell.submit(ar=third, pe="mpi", pe_range="1", hard=["hc=bla"])
    assert "no suitable queues" in refusal(cell, ar=third, pe="mpi", pe_range="2", hard=["hc=bla"])


@pytest.mark.statement("AR-90", "AR-91", "AR-92", "AR-99")
def test_jobs_wait_for_the_start_and_share_what_is_reserved(cell: ReservingCell) -> None:
    number = cell.qrsub(at=100, pe="mpi", pe_range="4", hard=["hostname=h1"])
    array = cell.submit(ar=number, tasks="1-3")
    parallel = cell.submit(ar=number, pe="mpi", pe_range="2")
    cell.cycle()
    assert not cell.state.bookings.at(CLUSTER)
    cell.wait(100)
    cell.cycle()
    assert cell.placed(parallel) == [("all.q@h1", 2)], "its slots make it more urgent"
    assert [bool(cell.placed(array, task)) for task in (1, 2, 3)] == [True, True, False]
    assert cell.state.slots_used("all.q@h1") == 4
    assert cell.state.slots_reserved("all.q@h1") == 4
    assert cell.state.bookings.at(CLUSTER) == {}, "nothing is debited outside"
    cell.end(parallel)
    cell.cycle()
    assert cell.placed(array, 3) == [("all.q@h1", 1)]
    for task in (1, 2, 3):
        cell.end(array, task)
    assert cell.state.reserved.used[number].at(CLUSTER) == {}


@pytest.mark.statement("AR-93", "AR-94")
def test_the_window_limits_the_run_time(cell: ReservingCell) -> None:
    cell.offset(120)
    number = cell.qrsub(duration=150)
    job, short = cell.submit(ar=number), cell.submit(ar=number, hard=["h_rt=10"])
    cell.cycle()
    (start,) = cell.starts
    assert start.key[0] == job
    assert start.time_limit == 30
    cell.end(job)
    cell.wait(25)
    cell.cycle()
    assert cell.starts[-1].key[0] == short
    assert cell.starts[-1].time_limit == 5
    cell.end(short)
    cell.wait(6)
    late = cell.submit(ar=number)
    cell.cycle()
    assert cell.starts[-1].key[0] == late, "within the last 120 s jobs start, too"
    assert cell.starts[-1].time_limit == 0, "the end of the reservation ends them"


@pytest.mark.statement("AR-91", "AR-93")
def test_a_window_shorter_than_the_duration_offset_takes_jobs(cell: ReservingCell) -> None:
    cell.offset(60)
    number = cell.qrsub(duration=20)
    job, long = cell.submit(ar=number, hard=["h_rt=10"]), cell.submit(ar=number)
    cell.cycle()
    assert cell.placed(job)
    cell.end(job)
    cell.cycle()
    assert cell.placed(long)
    assert [start.time_limit for start in cell.starts] == [0, 0]


@pytest.mark.statement("AR-95", "X-17")
def test_qalter_moves_a_pending_job_and_no_running_one(cell: ReservingCell) -> None:
    first, second = cell.qrsub(), cell.qrsub(hard=["hostname=h3"])
    job = cell.submit(hard=["hostname=h3"], holds="u")
    change = {"targets": [str(job)], "changes": {"ar": first}}
    assert "no suitable queues" in cell.ask("alter_jobs", **change).answers[0][1]
    assert cell.ask("alter_jobs", targets=[str(job)], changes={"ar": 77}).status == 1
    assert cell.ask("alter_jobs", targets=[str(job)], changes={"ar": second}).status == 0
    cell.ask("hold_jobs", targets=[str(job)], release=True)
    assert cell.state.reserved.jobs == {first: set(), second: {job}}
    cell.cycle()
    assert cell.placed(job) == [("all.q@h3", 1)]
    answer = cell.ask("alter_jobs", targets=[str(job)], changes={"ar": 0})
    assert "cannot modify running job" in answer.answers[0][1]


@pytest.mark.statement("AR-96", "AR-117")
def test_accounting_has_number_and_submission_time(cell: ReservingCell) -> None:
    number = cell.qrsub(at=5)
    submitted = int(cell.now)
    cell.wait(5)
    inside, outside = cell.submit(ar=number), cell.submit()
    cell.cycle()
    cell.end(inside)
    cell.end(outside)
    assert cell.records(inside)[0][43:] == (str(number), str(submitted))
    assert cell.records(outside)[0][43:] == ("0", "0")


@pytest.mark.statement("AR-100")
def test_jobs_inside_are_ordered_by_priority_and_do_not_compete_with_others(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=2)
    number = cell.qrsub()
    low, high = cell.submit(ar=number, priority=-500), cell.submit(ar=number)
    others = [cell.submit(priority=-1000), cell.submit()]
    cell.cycle()
    assert cell.placed(high) and not cell.placed(low)
    assert [bool(cell.placed(job)) for job in others] == [False, True]


@pytest.mark.statement("AR-41")
def test_a_place_reserved_after_the_cycle_is_not_given_away(tmp_path: Path) -> None:
    from daemons.schedd.cycle import schedule

    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    job = cell.submit()
    assert cell.mirror.view is not None
    orders = schedule(cell.mirror.view, cell.now)
    number = cell.qrsub(at=100)
    cell.master.orders(orders)
    cell.master.flush()
    assert not cell.placed(job)
    cell.cycle()
    assert not cell.placed(job)
    cell.qdel_ar(number)
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("AR-98", "AR-15")
def test_interactive_jobs_run_inside(cell: ReservingCell) -> None:
    cell.configure("cluster_queue", "all.q", qtype="INTERACTIVE")
    number = cell.qrsub(now=True)
    job = cell.submit(ar=number, kind="qrlogin", now=True)
    none_left = cell.submit(ar=number, kind="qrsh", now=True)
    cell.cycle()
    assert cell.placed(job)
    assert none_left not in cell.state.jobs, "at once or not at all"


@pytest.mark.statement("AR-41")
def test_the_end_of_a_reservation_lets_waiting_jobs_run(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    cell.qrsub(duration=15)
    job = cell.submit()
    cell.cycle()
    assert not cell.placed(job)
    cell.wait(15)
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("AR-89", "SO-41")
def test_w_e_of_other_jobs_looks_at_reservations(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=2, slots=1)
    cell.qrsub(hard=["hostname=h2"], at=1000)
    assert "no suitable queues" in refusal(cell, verify="e", hard=["hostname=h2"])
    cell.submit(verify="e", hard=["hostname=h2", "h_rt=900"])
    cell.submit(verify="e", hard=["hostname=h1"])
