"""A verifier for many jobs, with reservations, quotas and tasks that are assumed to have ended."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from gridengine.placement.reasons import Reason
from gridengine.placement.verify import Verifier, explain_all, verify
from gridengine.state.jobs import Grant
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.machines.reservation import JobReservationsSet, ReservationGranted
from gridengine.state.reservations import AdvanceReservation, JobReservation
from tests.builders import NOW, Cluster


def grant(cluster: Cluster, slots: int) -> None:
    """A reservation in ten minutes."""
    granted = [Grant("all.q@h1", slots)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "bob", "users", NOW, NOW + 600, NOW + 7200, granted=granted)))


@pytest.mark.statement("SO-41", "AR-41")
def test_running_jobs_count_besides_reservations_except_in_an_empty_cluster() -> None:
    cluster = Cluster(1)
    for _ in range(2):
        cluster.submit()
    cluster.cycle()
    grant(cluster, 2)
    one, two, three = (cluster.job(pe="smp", pe_range=str(slots)) for slots in (1, 2, 3))
    assert [bool(verify(cluster.state, job, False, NOW)[0]) for job in (one, two)] == [False, False]
    assert [bool(verify(cluster.state, job, True, NOW)[0]) for job in (two, three)] == [True, False]


@pytest.mark.statement("SO-41")
def test_a_job_is_found_the_first_place_by_name() -> None:
    cluster = Cluster(2)
    cluster.queue("a.q", hostlist="h2 h1")
    for empty in (True, False):
        assert verify(cluster.state, cluster.job(), empty, NOW) == ([Grant("a.q@h1", 1)], [])
    cluster.queue("all.q", slots="0")
    cluster.queue("a.q", slots="0")
    _, reasons = verify(cluster.state, cluster.job(), True, NOW)
    assert [reason.place for reason in reasons] == ["a.q@h1", "a.q@h2", "all.q@h1", "all.q@h2"]


@pytest.mark.statement("CA-8", "SC-9")
@pytest.mark.parametrize(("max_reservation", "codes"), [("0", []), ("1", ["off_time"])])
def test_calendars_are_looked_ahead_at_where_anything_may_be_reserved(max_reservation: str, codes: list[str]) -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", max_reservation=max_reservation)
    cluster.add("calendar", "shift", week="mon-sun=9-10=off")  # NOW is 08:00
    cluster.queue(calendar="shift")
    _, reasons = verify(cluster.state, cluster.job(hard={"h_rt": "3700"}), False, NOW)
    assert [reason.code for reason in reasons] == codes


@pytest.mark.statement("RQ-2", "SO-41")
def test_tasks_that_are_taken_for_ended_give_back_their_part_of_a_quota_once() -> None:
    cluster = Cluster(1)
    cluster.add("resource_quota", "set", enabled="TRUE", limit="users {*} to slots=3")
    jobs = cluster.state.jobs
    running = [jobs[cluster.submit()] for _ in range(3)]
    cluster.cycle()
    verifier = Verifier(cluster.state, False, NOW)
    one, two = (cluster.job(pe="smp", pe_range=slots) for slots in ("1", "2"))
    ended = [(jobs[job.id], jobs[job.id].tasks[1]) for job in running]
    assert not verifier.verify(one)[0]
    assert [bool(verifier.verify(job, ended[:1])[0]) for job in (one, two)] == [True, False]
    assert [bool(verifier.verify(job, ended[:2])[0]) for job in (one, two)] == [True, True]
    assert not verifier.verify(one)[0], "they still run"


@pytest.mark.statement("SC-7", "AR-52")
def test_a_job_reservation_blocks_only_other_jobs_in_any_order_of_checks() -> None:
    cluster = Cluster(1)
    first, second = (cluster.state.jobs[cluster.submit(hard={"h_rt": "3600"})] for _ in range(2))
    plans = [JobReservation(first.id, 1, NOW + 600, NOW + 4200, [Grant("all.q@h1", 4)], "", {})]
    cluster.apply(JobReservationsSet(plans))
    verifier = Verifier(cluster.state, False, NOW)
    found = [[reason.code for reason in verifier.explain(job)] for job in (first, second, second, first)]
    assert found == [[], ["kept"], ["kept"], []]


@pytest.mark.statement("ST-18", "AR-90")
def test_a_hold_is_listed_before_the_reservation_that_a_job_waits_for() -> None:
    cluster = Cluster(1)
    grant(cluster, 1)
    number = cluster.submit(ar=1)
    job = cluster.state.jobs[number]
    assert Verifier(cluster.state, False, NOW).explain(job) == [Reason("reservation_waiting", number=1)]
    cluster.apply(HoldsChanged(number, job.pending, set_holds=1))
    assert Verifier(cluster.state, False, NOW).explain(cluster.state.jobs[number]) == [Reason("held")]


@pytest.mark.statement("ST-18")
def test_each_reason_is_listed_with_the_jobs_that_it_concerns() -> None:
    cluster = Cluster(1, slots=1)
    runs = cluster.submit()
    cluster.cycle()
    waiting = [cluster.submit(), cluster.submit(), cluster.submit(hard_queues=("nosuch",))]
    held = cluster.submit()
    cluster.apply(HoldsChanged(held, cluster.state.jobs[held].pending, set_holds=1))
    assert cluster.runs(runs) and explain_all(cluster.state, NOW, UTC) == {
        Reason("full", "all.q@h1"): waiting[:2],
        Reason("not_requested", "all.q"): waiting[2:],
        Reason("held"): [held],
    }


@pytest.mark.statement("SO-41")
@pytest.mark.parametrize("slots", ["0", "2"])
@pytest.mark.parametrize(
    "fields", [{}, {"hard": {"h_rt": "9999999"}}, {"hard_queues": ("no.q",)}, {"pe": "smp", "pe_range": "9"}]
)
def test_fits_agrees_with_the_check_of_all_instances(fields: dict[str, Any], slots: str) -> None:
    cluster = Cluster(3)
    cluster.queue("all.q", slots=slots, h_rt="1:0:0")
    job = cluster.job(**fields)
    for empty in (True, False):
        verifier = Verifier(cluster.state, empty, NOW)
        assert verifier.fits(job) == bool(verifier.verify(job)[0])
