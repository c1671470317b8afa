"""Choices among several instances, and the reasons of pending jobs."""

from __future__ import annotations

from datetime import UTC

import pytest

from gridengine.placement.charges import charges
from gridengine.placement.expected_start import expected_start
from gridengine.placement.placement_request import category_key
from gridengine.placement.verify import verification
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.machines.task import TaskDispatched, TaskRequeued
from gridengine.state.reservations import JobReservation
from tests.builders import NOW, Cluster, started, why


@pytest.mark.statement("CX-60")
def test_a_request_that_the_cluster_or_the_host_grants_is_granted() -> None:
    cluster = Cluster(2)
    cluster.complex("place STRING == YES NO NONE 0")
    cluster.complex("disk STRING == YES NO NONE 0")
    cluster.values("global", "place=here")
    cluster.values("h2", "disk=ssd")
    soft, both = cluster.submit(soft={"disk": "ssd"}), cluster.submit(soft={"place": "here", "disk": "ssd"})
    elsewhere = cluster.submit(soft={"place": "there", "disk": "ssd"})
    cluster.heard("h2", np_load_avg="0.9")
    cluster.cycle()
    assert [list(cluster.spread(job)) for job in (soft, both, elsewhere)] == [["all.q@h2"]] * 3
    cluster.values("h2", "disk=tape,place=there")
    job = cluster.submit(soft={"place": "here"})
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": 1}, "a host's own word counts as well"


@pytest.mark.statement("PE-8", "PE-11", "PR-3")
def test_the_urgency_of_a_wildcard_pe_follows_from_the_first_by_name() -> None:
    cluster = Cluster(1, slots=0)
    cluster.pe("b_many", "$fill_up", urgency_slots="max")
    cluster.pe("a_few", "$fill_up", urgency_slots="min")
    cluster.submit(pe="[ab]_*", pe_range="2-4")
    cluster.cycle()
    assert cluster.view is not None
    assert [category.urgency for category in cluster.view.categories.values()] == [2000]


@pytest.mark.statement("AJ-1")
def test_of_tasks_that_have_lost_their_place_the_first_by_number_starts_again_first() -> None:
    cluster = Cluster(1, slots=1)
    cluster.queue(slots="0")
    job = cluster.submit(array="1-3")
    for task in (3, 1, 2):
        cluster.apply(TaskDispatched(job, task, 1, [Grant("all.q@h1", 1)], NOW))
    for task in (2, 3, 1):
        cluster.apply(TaskRequeued(job, task, 1, NOW))
    cluster.queue(slots="2")
    assert [task for _, task, _ in started(cluster.cycle())] == [1, 2]


@pytest.mark.statement("AJ-2", "AJ-3")
def test_a_limit_of_tasks_is_a_reason_only_when_it_is_reached() -> None:
    cluster = Cluster(1, slots=1)
    job = cluster.submit(array="1-9", task_concurrency=2)
    cluster.cycle()
    assert "array tasks" not in why(cluster, job)
    cluster.queue(slots="5")
    cluster.cycle()
    assert why(cluster, job) == "not all array tasks may be started: 2 are running already"


@pytest.mark.statement("CX-40", "CX-46")
def test_a_consumable_without_a_default_is_charged_to_those_who_ask_for_it() -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES YES NONE 0")
    cluster.complex("disk INT <= YES YES 3 0")
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    assert charges(cluster.state, cluster.job()) == {"disk": "3"}
    assert charges(cluster.state, cluster.job(hard={"lic": "2", "disk": "0"})) == {"lic": "2"}
    assert charges(cluster.state, cluster.job(hard={"ex": "TRUE", "disk": "1"})) == {"disk": "1", "ex": "1"}
    assert charges(cluster.state, cluster.job(hard={"ex": "FALSE", "disk": "1"})) == {"disk": "1"}


@pytest.mark.statement("SC-7")
def test_a_job_is_expected_when_the_scheduler_has_planned_it_and_not_another() -> None:
    cluster = Cluster(1, slots=1)
    running = cluster.submit(hard={"h_rt": "500"})
    cluster.cycle()
    mine, other = cluster.submit(), cluster.submit()
    granted = [Grant("all.q@h1", 1)]
    plans = [JobReservation(job, 1, NOW + start, NOW + 9999, granted, "", {}) for job, start in ((mine, 700), (other, 600))]
    cluster.apply(JobReservationsSet(plans))
    jobs = cluster.state.jobs
    assert expected_start(cluster.state, jobs[mine], NOW, UTC) == NOW + 700
    assert expected_start(cluster.state, jobs[mine], NOW + 650, UTC) == NOW + 700
    cluster.apply(JobReservationsSet([]))
    assert expected_start(cluster.state, jobs[mine], NOW, UTC) == NOW + 500
    assert cluster.runs(running)


@pytest.mark.statement("CA-8")
def test_a_verification_of_the_empty_cluster_looks_at_no_calendar_that_is_still_to_come() -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", max_reservation="5")
    cluster.add("calendar", "shift", week="mon-sun=9-10=off")  # NOW is 08:00
    cluster.queue(calendar="shift")
    job = cluster.job(hard={"h_rt": "3700"})
    assert verification(cluster.state, job, True, NOW)[0]
    assert not verification(cluster.state, job, False, NOW)[0]


@pytest.mark.statement("DP-3")
def test_a_job_that_is_no_more_is_not_waited_for() -> None:
    cluster = Cluster(1)
    job = cluster.submit(predecessors=[99])
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("CX-60")
def test_a_request_of_an_attribute_that_was_removed_keeps_no_job() -> None:
    cluster = Cluster(1)
    job = cluster.submit(soft={"nosuch": "1"})
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("CX-61")
def test_in_which_order_something_is_asked_for_makes_no_difference() -> None:
    cluster = Cluster(1)
    asked = {"arch": "lx-amd64", "mem_free": "1M"}
    turned = dict(reversed(asked.items()))
    for kind in ("hard", "soft"):
        one, other = (category_key(cluster.state, frozenset(), cluster.job(**{kind: each})) for each in (asked, turned))
        assert one == other
