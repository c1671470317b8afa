"""Resource reservation (-R y) and backfilling: slots reserved for a job that cannot start yet, and their use by other jobs."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.protocols.orders import Orders
from gridengine.state.jobs import Grant
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.machines.task import TaskSuspensionChanged
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster, started

BIG = {"reserve": True, "pe": "any", "pe_range": "2", "hard": {"h_rt": "1000"}}


def ahead(hosts: int = 1, slots: int = 2, most: int = 10, cached: bool = True, **scheduler: Any) -> Cluster:
    """A cluster that reserves, without an offset of durations, with a PE `any`; the lines of MONITOR are made."""
    cluster = Cluster(hosts, slots, cached)
    settings = {"max_reservation": str(most), "params": "DURATION_OFFSET=0,MONITOR=1", **scheduler}
    cluster.change("scheduler", "", **settings)
    cluster.pe("any", "$fill_up")
    cluster.queue(pe_list="any", load_thresholds="NONE")
    return cluster


def job(cluster: Cluster, h_rt: int = 0, **fields: Any) -> int:
    hard = {**({"h_rt": str(h_rt)} if h_rt else {}), **fields.pop("hard", {})}
    return cluster.submit(hard=hard, **fields)


def running(cluster: Cluster, h_rt: int = 0, **fields: Any) -> int:
    number = job(cluster, h_rt, **fields)
    cluster.cycle()
    assert cluster.runs(number)
    return number


def reserved(orders: Orders) -> dict[int, float]:
    """Job -> seconds from NOW to the start of its reservation (of the last of its tasks)."""
    lines = [line.split(":") for line in orders.schedule]
    return {int(line[0]): float(line[3]) - NOW for line in lines if line[2] == "RESERVING"}


@pytest.mark.statement("SC-7", "SC-8")
def test_lower_jobs_start_only_if_they_end_before_the_reservation() -> None:
    cluster = ahead()
    running(cluster, 500)
    big = cluster.submit(**BIG)
    without, long, short = job(cluster), job(cluster, 501), job(cluster, 500)
    orders = cluster.cycle()
    assert reserved(orders) == {big: 500}
    assert [cluster.runs(number) for number in (big, without, long, short)] == [False, False, False, True]


@pytest.mark.statement("SC-7")
@pytest.mark.parametrize(
    "scheduler, fields",
    [
        ({"max_reservation": "0"}, {}),
        ({}, {"reserve": False}),
        ({}, {"hard": {}}),
        ({}, {"now": True}),
    ],
)
def test_nothing_is_kept_without_a_reservation(scheduler: dict[str, Any], fields: dict[str, Any]) -> None:
    cluster = ahead(**scheduler)
    running(cluster, 500)
    cluster.submit(**{**BIG, **fields})
    other = job(cluster)
    assert not reserved(cluster.cycle())
    assert cluster.runs(other)


@pytest.mark.statement("SC-7")
def test_default_duration_counts_for_jobs_without_a_limit() -> None:
    cluster = ahead(default_duration="0:10:0")
    running(cluster)
    big = cluster.submit(**{**BIG, "hard": {}})
    assert reserved(cluster.cycle()) == {big: 600}
    cluster.change("scheduler", "", default_duration="INFINITY")
    assert reserved(cluster.cycle()) == {}


@pytest.mark.statement("SC-7")
def test_no_reservation_behind_a_job_that_may_run_for_ever() -> None:
    cluster = ahead()
    running(cluster)
    cluster.submit(**BIG)
    other = job(cluster)
    assert not reserved(cluster.cycle())
    assert cluster.runs(other)


@pytest.mark.statement("SC-7")
def test_the_first_of_the_order_are_reserved_for() -> None:
    cluster = ahead(most=2, slots=1)
    running(cluster, 100)
    jobs = [job(cluster, 50, reserve=True, priority=priority) for priority in (0, 200, 100)]
    assert reserved(cluster.cycle()) == {jobs[1]: 100, jobs[2]: 150}


@pytest.mark.statement("SC-7")
def test_tasks_of_an_array_are_reserved_for_one_by_one() -> None:
    cluster = ahead(most=3, slots=1)
    running(cluster, 100)
    array = job(cluster, 50, reserve=True, array="1-5")
    starts = [line.split(":")[1:4] for line in cluster.cycle().schedule if ":RESERVING:" in line]
    assert [(int(task), float(start) - NOW) for task, _, start in starts] == [(1, 100), (2, 150), (3, 200)]
    cluster.end(1)
    cluster.cycle()
    assert set(cluster.state.jobs[array].tasks) == {1}


@pytest.mark.statement("SC-7", "SC-11")
def test_duration_offset_lengthens_every_run() -> None:
    cluster = ahead(params="MONITOR=1")
    running(cluster, 500)
    big = cluster.submit(**BIG)
    late, early = job(cluster, 501), job(cluster, 500)
    assert reserved(cluster.cycle()) == {big: 560}
    assert not cluster.runs(late) and cluster.runs(early)
    cluster = ahead(params="DURATION_OFFSET=0:0:10,MONITOR=1,JC_FILTER=true,PE_RANGE_ALG=bin,PROFILE=1")
    running(cluster, 500)
    big = cluster.submit(**BIG)
    assert reserved(cluster.cycle()) == {big: 510}


@pytest.mark.statement("SC-9")
@pytest.mark.parametrize("where", ["global", "h1", "queue"])
def test_consumables_of_every_level_are_reserved(where: str) -> None:
    cluster = ahead(slots=9)
    cluster.complex("lic INT <= YES YES 0 0")
    if where == "queue":
        cluster.queue(complex_values="lic=2")
    else:
        cluster.values(where, "lic=2")
    running(cluster, 100, hard={"lic": "1"})
    big = job(cluster, 100, reserve=True, hard={"lic": "2"})
    taking, ending, plain = job(cluster, 101, hard={"lic": "1"}), job(cluster, 100, hard={"lic": "1"}), job(cluster)
    assert reserved(cluster.cycle()) == {big: 100}
    assert [cluster.runs(number) for number in (taking, ending, plain)] == [False, True, True]


@pytest.mark.statement("SC-9")
def test_slots_of_a_pe_are_reserved() -> None:
    cluster = ahead(slots=9)
    cluster.pe("few", "$fill_up", slots=2)
    cluster.queue(pe_list="any few")
    running(cluster, 100, pe="few", pe_range="1")
    big = job(cluster, 100, reserve=True, pe="few", pe_range="2")
    taking = job(cluster, 101, pe="few", pe_range="1")
    ending, plain = job(cluster, 100, pe="few", pe_range="1"), job(cluster)
    assert reserved(cluster.cycle()) == {big: 100}
    assert [cluster.runs(number) for number in (taking, ending, plain)] == [False, True, True]


@pytest.mark.statement("SC-8")
def test_ends_of_tasks_started_in_the_same_cycle_count() -> None:
    cluster = ahead(slots=4)
    running(cluster, 500, pe="any", pe_range="2")
    big = cluster.submit(**{**BIG, "pe_range": "3"})
    short, endless, too_many = job(cluster, 100), job(cluster), job(cluster)
    assert reserved(cluster.cycle()) == {big: 500}
    assert [cluster.runs(number) for number in (short, endless, too_many)] == [True, True, False]


@pytest.mark.statement("SC-12")
@pytest.mark.parametrize("reserve", [True, False])
def test_a_big_job_does_not_starve(reserve: bool) -> None:
    """Small jobs arrive all the time and overlap, so that all slots are never free at once by themselves."""
    cluster = ahead(slots=4)
    ends: dict[int, float] = {}
    big = 0
    for step in range(60):
        now = NOW + 10 * step
        for number in [number for number, end in ends.items() if end <= now]:
            cluster.end(number)
            del ends[number]
        cluster.now = now
        if step == 5:
            big = cluster.submit(**{**BIG, "pe_range": "4", "reserve": reserve, "priority": 1})
        job(cluster, 40)
        for number, _, _ in started(cluster.cycle()):
            ends[number] = now + (1000 if number == big else 40)
    assert cluster.runs(big) == reserve


@pytest.mark.statement("SC-7", "SC-8")
@pytest.mark.parametrize("cached", [True, False])
def test_reserved_slots_are_granted_after_the_reservation_is_gone(cached: bool) -> None:
    cluster = ahead(cached=cached)
    running(cluster, 500)
    big, other = cluster.submit(**BIG), job(cluster)
    cluster.cycle()
    cluster.cycle()
    assert not cluster.runs(other)
    cluster.apply_deletion(big)
    cluster.cycle()
    assert cluster.runs(other)


@pytest.mark.statement("SC-7")
def test_the_start_is_found_behind_many_ends() -> None:
    cluster = ahead(slots=40)
    for index in range(40):
        job(cluster, 100 + 10 * index)
    cluster.cycle()
    for slots in (3, 20, 33, 40):
        big = cluster.submit(**{**BIG, "pe_range": str(slots)})
        assert reserved(cluster.cycle()) == {big: 100 + 10 * (slots - 1)}
        cluster.apply_deletion(big)


def on_calendar(cluster: Cluster, week: str) -> None:
    """all.q follows a calendar; NOW is a Friday, 08:00 in UTC."""
    cluster.add("calendar", "shift", week=week)
    cluster.queue(calendar="shift")


@pytest.mark.statement("CA-8")
@pytest.mark.parametrize("most", [10, 0])
@pytest.mark.parametrize("parallel", [True, False])
def test_jobs_that_would_run_into_an_off_time_do_not_start(most: int, parallel: bool) -> None:
    cluster = ahead(slots=9, most=most)
    on_calendar(cluster, "mon-sun=9-10=off")
    more: dict[str, Any] = {"pe": "any", "pe_range": "1"} if parallel else {}
    fits, long, endless = job(cluster, 3600, **more), job(cluster, 3601, **more), job(cluster, **more)
    cluster.cycle()
    assert [cluster.runs(number) for number in (fits, long, endless)] == [True, not most, not most]


@pytest.mark.statement("CA-8")
def test_an_off_time_in_years_keeps_jobs_without_a_limit_away() -> None:
    cluster = ahead(slots=9)
    cluster.add("calendar", "end", year="1.1.2030=off")
    cluster.queue(calendar="end")
    limited, endless = job(cluster, 86400), job(cluster)
    cluster.cycle()
    assert [cluster.runs(number) for number in (limited, endless)] == [True, False]


@pytest.mark.statement("SC-9", "CA-8")
def test_a_reservation_keeps_clear_of_off_times() -> None:
    cluster = ahead(slots=2)
    on_calendar(cluster, "mon-sun=9-10=off")
    running(cluster, 1800)
    fits = cluster.submit(**{**BIG, "hard": {"h_rt": "1800"}})
    assert reserved(cluster.cycle()) == {fits: 1800}
    cluster.apply_deletion(fits)
    after = cluster.submit(**{**BIG, "hard": {"h_rt": "1801"}})
    assert reserved(cluster.cycle()) == {after: 7200}
    flags = {"calendar_disabled": True}
    cluster.apply(InstanceFlagsChanged(["all.q@h1"], flags))
    cluster.now = NOW + 3600
    assert reserved(cluster.cycle()) == {after: 7200}


@pytest.mark.statement("SC-9")
def test_closed_queues_get_no_reservation() -> None:
    cluster = ahead(hosts=2)
    running(cluster, 500, hard_queues=("all.q@h1",))
    running(cluster, 100, hard_queues=("all.q@h2",))
    cluster.apply(InstanceFlagsChanged(["all.q@h2"], {"disabled": True}))
    big = cluster.submit(**{**BIG, "pe_range": "2"})
    assert reserved(cluster.cycle()) == {big: 500}


@pytest.mark.statement("SC-7", "SC-5")
def test_the_reservation_is_at_the_place_that_a_start_would_prefer() -> None:
    cluster = ahead(hosts=3, slots=1)
    for host, load in zip(cluster.hosts, ("0.5", "0.1", "0.9"), strict=True):
        running(cluster, 500, hard_queues=(f"all.q@{host}",))
        cluster.heard(host, np_load_avg=load)
    job(cluster, 100, reserve=True)
    cluster.cycle()
    assert [one.granted for one in cluster.state.job_reservations] == [[Grant("all.q@h2", 1)]]


@pytest.mark.statement("AR-52")
def test_job_and_advance_reservations_leave_slots_for_each_other() -> None:
    cluster = ahead()
    running(cluster, 500)
    held = AdvanceReservation(
        1, "alice", "users", NOW,
        start_time=NOW + 800,
        end_time=NOW + 2000,
        granted=[Grant("all.q@h1", 1)],
    )
    cluster.apply(ReservationGranted(held))
    behind = cluster.submit(**{**BIG, "hard": {"h_rt": "301"}})
    assert reserved(cluster.cycle()) == {behind: 2000}
    cluster.apply_deletion(behind)
    before = cluster.submit(**{**BIG, "hard": {"h_rt": "300"}})
    short, long = job(cluster, 500), job(cluster, 600)
    assert reserved(cluster.cycle()) == {before: 500}
    assert cluster.runs(short) and not cluster.runs(long)


@pytest.mark.statement("SC-10")
def test_monitor_lines() -> None:
    cluster = ahead(slots=3)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=5")
    cluster.values("h1", "slots=8")
    first = running(cluster, 500, hard={"lic": "2"})
    endless = running(cluster)
    cluster.apply(TaskSuspensionChanged(endless, 1, "user", True))
    big = cluster.submit(**BIG)
    small = job(cluster, 100)
    now, off = int(NOW), 0xFFFFFFFF - int(NOW)
    assert cluster.cycle().schedule == [
        "::::::::",
        f"{first}:1:RUNNING:{now}:500:G:global:lic:2.000000",
        f"{first}:1:RUNNING:{now}:500:H:h1:slots:1.000000",
        f"{first}:1:RUNNING:{now}:500:Q:all.q@h1:slots:1.000000",
        f"{endless}:1:SUSPENDED:{now}:{off}:H:h1:slots:1.000000",
        f"{endless}:1:SUSPENDED:{now}:{off}:Q:all.q@h1:slots:1.000000",
        f"{small}:1:STARTING:{now}:100:H:h1:slots:1.000000",
        f"{small}:1:STARTING:{now}:100:Q:all.q@h1:slots:1.000000",
        f"{big}:1:RESERVING:{now + 500}:1000:P:any:slots:2.000000",
        f"{big}:1:RESERVING:{now + 500}:1000:H:h1:slots:2.000000",
        f"{big}:1:RESERVING:{now + 500}:1000:Q:all.q@h1:slots:2.000000",
    ]
    cluster.change("scheduler", "", params="none")
    assert cluster.cycle().schedule == []
