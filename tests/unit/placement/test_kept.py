"""Reasons of waiting jobs: reserved resources (job and advance reservations, calendars, quotas), pauses; and until when."""

from __future__ import annotations

from datetime import UTC

import pytest

from gridengine.placement.explanation import explanation
from gridengine.placement.verify import explain, explain_all, verify
from gridengine.state.jobs import Grant
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster


def reasons(cluster: Cluster, job: int) -> list[str]:
    return [reason.text for reason in explain(cluster.state, cluster.state.jobs[job], cluster.now)]


def looking_ahead(hosts: int = 1, slots: int = 4) -> Cluster:
    cluster = Cluster(hosts, slots)
    cluster.change("scheduler", "", max_reservation="5", default_duration="INFINITY", params="DURATION_OFFSET=0")
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    return cluster


@pytest.mark.statement("SC-7", "SC-8")
def test_a_job_that_would_delay_a_reservation_names_its_job() -> None:
    cluster = looking_ahead()
    cluster.submit(hard={"h_rt": "600"})
    cluster.cycle()
    big = cluster.submit(pe="par", pe_range="4", reserve=True, hard={"h_rt": "60"}, priority=100)
    long, short = cluster.submit(hard={"h_rt": "3600"}), cluster.submit(hard={"h_rt": "600"})
    wide = cluster.submit(pe="par", pe_range="2", hard={"h_rt": "601"})
    cluster.cycle()
    assert [cluster.runs(job) for job in (big, long, short, wide)] == [False, False, True, False]
    kept = (
        'cannot run in queue instance "all.q@h1" because needed resources are reserved for '
        f"job {big}, which is to begin in 00:10:00"
    )
    assert reasons(cluster, long) == [kept]
    assert reasons(cluster, wide) == ['cannot run in PE "par" because it only offers 0 slots', kept]
    # what is kept for a job does not keep itself away
    assert reasons(cluster, big) == ['cannot run in PE "par" because it only offers 2 slots']
    assert verify(cluster.state, cluster.state.jobs[long], assume_empty=True, now=cluster.now)[0]
    explained = explanation(cluster.state, cluster.state.jobs[long], cluster.now)
    assert [(cause.kind, cause.reasons) for cause in explained.causes] == [("kept", [kept])]
    assert explanation(cluster.state, cluster.state.jobs[big], cluster.now).expected_start == NOW + 600


@pytest.mark.statement("SC-7")
def test_no_pending_job_is_without_a_reason_and_none_that_could_start_has_one() -> None:
    cluster = looking_ahead(hosts=2)
    for index in range(12):
        seconds = str(300 * (1 + index % 4))
        cluster.submit(pe="par", pe_range=str(1 + index % 5), reserve=index % 2 == 0, hard={"h_rt": seconds}, priority=index)
    cluster.cycle()
    waiting = {job.id for job in cluster.state.jobs.values() if job.pending}
    assert waiting == {number for ids in explain_all(cluster.state, cluster.now, UTC).values() for number in ids}


@pytest.mark.statement("SC-7")
def test_reserved_slots_are_free_again_after_the_job_is_gone() -> None:
    cluster = looking_ahead()
    cluster.submit(hard={"h_rt": "600"})
    cluster.cycle()
    big = cluster.submit(pe="par", pe_range="4", reserve=True, hard={"h_rt": "60"}, priority=100)
    long = cluster.submit(hard={"h_rt": "3600"})
    cluster.cycle()
    assert [one.job_id for one in cluster.state.job_reservations] == [big]
    cluster.apply_deletion(big)
    assert reasons(cluster, long) == []
    cluster.cycle()
    assert cluster.runs(long) and cluster.state.job_reservations == []


@pytest.mark.statement("AR-41", "SC-9")
@pytest.mark.parametrize(
    ("start", "cause"),
    [(1800, "advance reservation 1, which is to begin in 00:30:00"), (0, "advance reservation 1 for another 02:00:00")],
)
def test_a_job_that_would_meet_an_advance_reservation_names_it(start: int, cause: str) -> None:
    cluster = looking_ahead()
    granted = [Grant("all.q@h1", 4)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "bob", "users", NOW, NOW + start, NOW + 7200, granted=granted)))
    job = cluster.submit(hard={"h_rt": "3600"})
    cluster.cycle()
    assert reasons(cluster, job) == [f'cannot run in queue instance "all.q@h1" because needed resources are reserved for {cause}']


@pytest.mark.statement("CA-8", "SC-9")
def test_a_job_that_would_meet_an_off_time_names_the_calendar() -> None:
    cluster = looking_ahead()
    # NOW is 08:00 in UTC
    cluster.apply(ObjectSet("calendar", "lunch", {"calendar_name": "lunch", "year": "NONE", "week": "mon-sun=12-13=off"}))
    cluster.queue(calendar="lunch")
    short, long = cluster.submit(hard={"h_rt": "3600"}), cluster.submit(hard={"h_rt": "36000"})
    cluster.cycle()
    assert [cluster.runs(job) for job in (short, long)] == [True, False]
    assert reasons(cluster, long) == [
        'cannot run in queue instance "all.q@h1" because its calendar "lunch" closes it before the job would end'
    ]
    cluster.change("scheduler", "", max_reservation="0")
    assert reasons(cluster, long) == []


@pytest.mark.statement("SC-7", "RQ-2")
def test_a_quota_is_kept_for_a_reservation_too() -> None:
    cluster = looking_ahead(hosts=2)
    cluster.add("resource_quota", "set", enabled="TRUE", limit="users {*} to slots=4")
    cluster.submit(hard={"h_rt": "600"})
    cluster.cycle()
    big = cluster.submit(pe="par", pe_range="4", reserve=True, hard={"h_rt": "60"}, priority=100)
    long, short = cluster.submit(hard={"h_rt": "3600"}), cluster.submit(hard={"h_rt": "300"})
    other = cluster.submit(owner="bob", hard={"h_rt": "3600"})
    cluster.cycle()
    assert [cluster.runs(job) for job in (big, long, short, other)] == [False, False, True, True]
    assert [one.start_time for one in cluster.state.job_reservations] == [NOW + 600]
    assert all(f"reserved for job {big}" in text for text in reasons(cluster, long))


@pytest.mark.parametrize(("slots", "expected"), [("3", NOW + 600), ("4", 0)])
def test_no_start_is_expected_behind_a_job_without_an_end(slots: str, expected: float) -> None:
    cluster = looking_ahead()
    for hard in ({"h_rt": "600"}, {"h_rt": "300"}, {}):
        cluster.submit(hard=hard)
    cluster.cycle()
    job = cluster.submit(pe="par", pe_range=slots)
    assert explanation(cluster.state, cluster.state.jobs[job], cluster.now).expected_start == expected


@pytest.mark.statement("ST-18")
def test_reasons_of_the_last_failed_attempts_of_paused_tasks_are_shown_in_order() -> None:
    cluster = Cluster(2)
    job = cluster.submit(array="1-5")
    for _ in range(2):
        cluster.cycle()
        for task in cluster.state.jobs[job].tasks.values():
            cluster.apply(TaskRequeued(job, task.id, task.attempt, NOW, mishap=f"reason {9 - task.id}"))
    [cause] = explanation(cluster.state, cluster.state.jobs[job], cluster.now).causes
    assert cause.reasons == ["reason 4", "reason 5", "reason 6", "reason 7", "reason 8"]
