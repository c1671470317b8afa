"""Causes of waiting: each once, the longest lasting first; the expected start and the change that would help."""

from __future__ import annotations

import pytest

from gridengine.placement.causes import Cause
from gridengine.placement.explanation import Explanation, explanation
from gridengine.placement.pending import waiting_reason
from gridengine.state.jobs import Grant
from gridengine.state.machines.host import HostHeard, HostLost
from gridengine.state.machines.instance import InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster


def explained(cluster: Cluster, job: int, now: float = NOW) -> Explanation:
    return explanation(cluster.state, cluster.state.jobs[job], now)


def kinds(cluster: Cluster, job: int, now: float = NOW) -> list[str]:
    return [cause.kind for cause in explained(cluster, job, now).causes]


def hold(cluster: Cluster, job: int) -> None:
    cluster.apply(HoldsChanged(job, cluster.state.jobs[job].pending, set_holds=1))


def code(cluster: Cluster, job: int) -> str:
    reason = waiting_reason(cluster.state, cluster.state.jobs[job], NOW)
    return reason.code if reason is not None else ""


@pytest.mark.statement("ST-18")
def test_errors_of_tasks_are_listed_in_order_up_to_a_limit() -> None:
    cluster = Cluster(2)
    job = cluster.submit(array="1-7")
    cluster.cycle()
    for task in cluster.state.jobs[job].tasks.values():
        cluster.apply(TaskRequeued(job, task.id, task.attempt, NOW, error=f"reason {9 - task.id}"))
    text = f"tasks could not be started (once that is corrected: qmod -cj {job})"
    assert explained(cluster, job).causes == [Cause("error", text, [f"reason {n}" for n in (2, 3, 4, 5, 6)], 7)]
    assert code(cluster, job) == "in_error"


@pytest.mark.statement("ST-18", "SO-49")
def test_hold_dependency_and_time_are_listed_in_this_order() -> None:
    cluster = Cluster(1)
    first = cluster.submit()
    job = cluster.submit(start_after=NOW + 60, predecessors=[first])
    hold(cluster, job)
    found = explained(cluster, job)
    assert [cause.kind for cause in found.causes] == ["hold", "dependency", "start_time"]
    assert found.causes[1].reasons == [f"job {first} must end"] and found.expected_start == 0


@pytest.mark.statement("SO-49")
def test_a_start_time_keeps_a_job_until_it_has_come() -> None:
    cluster = Cluster(1)
    job = cluster.submit(start_after=NOW + 60)
    assert kinds(cluster, job, NOW + 59) == ["start_time"] and explained(cluster, job).expected_start == NOW + 60
    assert kinds(cluster, job, NOW + 60) == []


@pytest.mark.statement("ST-18")
def test_a_pause_without_a_known_reason_has_none() -> None:
    cluster = Cluster(1)
    job = cluster.submit()
    for _ in range(2):
        cluster.cycle()
        cluster.apply(TaskRequeued(job, 1, cluster.state.jobs[job].tasks[1].attempt, NOW))
    [cause] = explained(cluster, job).causes
    assert (cause.kind, cause.reasons) == ("start_time", []) and code(cluster, job) == "paused"


@pytest.mark.statement("AR-90")
def test_a_job_of_a_reservation_to_come_waits_for_it_and_for_nothing_else() -> None:
    cluster = Cluster(1)
    granted = [Grant("all.q@h1", 1)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "alice", "users", NOW, NOW + 60, NOW + 7200, granted=granted)))
    assert kinds(cluster, cluster.submit(ar=1)) == ["reservation"]


@pytest.mark.parametrize("pe", ["", "smp"])
def test_a_reservation_that_ends_is_no_reason_to_wait_for_ever(pe: str) -> None:
    cluster = Cluster(1)
    if pe:
        cluster.add("parallel_environment", pe, slots="99", allocation_rule="$pe_slots")
        cluster.change("cluster_queue", "all.q", pe_list=pe)
    granted = [Grant("all.q@h1", 4)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "alice", "users", NOW, NOW, NOW + 7200, granted=granted)))
    job = cluster.submit(pe=pe, pe_range="2" if pe else "")
    assert kinds(cluster, job) == (["kept", "busy"] if pe else ["kept"])


@pytest.mark.statement("AJ-3", "SC-4")
def test_a_limit_is_a_cause_only_for_tasks_that_nothing_else_keeps() -> None:
    cluster = Cluster(1)
    job = cluster.submit(array="1-4", task_concurrency=2)
    cluster.cycle()
    assert kinds(cluster, job) == ["limit"]
    hold(cluster, job)
    assert kinds(cluster, job) == ["hold"]
    cluster.change("scheduler", "", maxujobs="2")
    assert kinds(cluster, cluster.submit()) == ["limit"]
    assert kinds(cluster, cluster.submit(start_after=NOW + 60)) == ["start_time"]
    assert kinds(cluster, cluster.submit(owner="bob")) == [], "the jobs of others do not count"


@pytest.mark.statement("SC-4")
def test_a_limit_of_one_job_per_user_is_one() -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", maxujobs="1")
    jobs = [cluster.submit(), cluster.submit()]
    assert [code(cluster, job) for job in jobs] == ["", ""]
    cluster.cycle()
    assert code(cluster, jobs[1]) == "user_limit"
    cluster.change("scheduler", "", maxujobs="0")
    assert code(cluster, jobs[1]) == ""


@pytest.mark.statement("ST-18")
def test_closed_instances_come_before_full_ones() -> None:
    cluster = Cluster(2, slots=1)
    cluster.submit(hard={"hostname": "h1"})
    cluster.cycle()
    cluster.apply(InstanceFlagsChanged(["all.q@h2"], {"disabled": True}))
    found = explained(cluster, cluster.submit())
    assert [cause.kind for cause in found.causes] == ["queue", "busy"]
    assert [cause.count for cause in found.causes] == [1, 1]


@pytest.mark.statement("ST-18")
def test_many_places_of_one_sort_do_not_hide_another() -> None:
    cluster = Cluster(8)
    names = [f"all.q@{host}" for host in cluster.hosts]
    cluster.apply(InstanceFlagsChanged(names[:7], {"disabled": True}))
    cluster.apply(InstanceFlagsChanged(names[7:], {"suspended": True}))
    [cause] = explained(cluster, cluster.submit()).causes
    assert (cause.kind, cause.count, len(cause.reasons)) == ("queue", 8, 5)
    assert "h1" in cause.reasons[0] and "h8" in cause.reasons[1] and "h5" not in "".join(cause.reasons)


@pytest.mark.statement("ST-18")
def test_missing_load_values_and_resources_in_use_are_different_causes() -> None:
    cluster = Cluster(2)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=2")
    cluster.submit(hard={"lic": "1"})
    cluster.cycle()
    assert kinds(cluster, cluster.submit(hard={"mem_free": "1M", "lic": "2"})) == ["busy"]
    assert kinds(cluster, cluster.submit(hard={"mem_free": "99G"})) == ["load"]
    cluster.apply(HostHeard("h2", NOW, {"swap_used": "9M"}))
    assert kinds(cluster, cluster.submit(hard={"swap_used": "1M", "lic": "2"})) != ["never"], "one host reports it"
    assert kinds(cluster, cluster.submit(hard={"swap_rate": "1M"})) == ["never"], "no host reports it"


@pytest.mark.statement("ST-18")
def test_a_job_that_can_never_run_gets_the_change_that_would_let_it_run() -> None:
    cluster = Cluster(1, slots=2)
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    cluster.submit()
    cluster.cycle()
    never, later = cluster.submit(pe="par", pe_range="3"), cluster.submit(pe="par", pe_range="2")
    assert kinds(cluster, never) == ["never"] and "busy" in kinds(cluster, later)
    changes = [explained(cluster, job).change for job in (never, later)]
    assert [(change.texts[0][:7], change.now) for change in changes if change] == [("2 slots", False), ("1 slots", True)]
    hold(cluster, later)
    found = explained(cluster, later)
    assert found.causes[0].kind == "hold" and found.change is not None and found.expected_start == 0


@pytest.mark.statement("AJ-2", "AJ-3")
@pytest.mark.parametrize(("own", "general", "running"), [(0, 2, 2), (3, 2, 2), (1, 2, 1), (3, 0, 3), (0, 0, 4)])
def test_the_lower_of_both_limits_of_running_tasks_counts(own: int, general: int, running: int) -> None:
    cluster = Cluster(1)
    cluster.change("configuration", "global", max_aj_instances=str(general))
    job = cluster.submit(array="1-9", task_concurrency=own)
    cluster.cycle()
    assert len(cluster.state.jobs[job].placed) == running


@pytest.mark.statement("SO-49")
def test_a_task_that_lost_its_place_is_kept_by_a_hold_like_any_other() -> None:
    cluster = Cluster(1)
    job = cluster.submit()
    cluster.cycle()
    cluster.apply(TaskRequeued(job, 1, cluster.state.jobs[job].tasks[1].attempt, NOW))
    cluster.apply(HoldsChanged(job, type(cluster.state.jobs[job].pending).of([1]), set_holds=1))
    cluster.cycle()
    assert not cluster.runs(job) and code(cluster, job) == "held"


@pytest.mark.statement("DP-3", "DP-4")
def test_tasks_wait_for_tasks_of_the_array_jobs_that_are_left() -> None:
    cluster = Cluster(2)
    first = cluster.submit(array="1-3")
    cluster.cycle()
    cluster.end(first, 2)
    job = cluster.submit(array="1-3", array_predecessors=[first, 99])
    [cause] = [cause for cause in explained(cluster, job).causes if cause.kind == "dependency"]
    assert cause.text == f"tasks 1,3 wait for tasks of job {first}"
    cluster.cycle()
    assert list(cluster.state.jobs[job].tasks) == [2]


@pytest.mark.statement("ST-18")
def test_places_that_the_job_does_not_ask_for_are_none_of_its_causes() -> None:
    cluster = Cluster(3, slots=1)
    cluster.submit(hard={"hostname": "h1"})
    cluster.cycle()
    cluster.apply(InstanceFlagsChanged(["all.q@h2"], {"disabled": True}))
    [cause] = explained(cluster, cluster.submit(hard_queues=("all.q@h1",))).causes
    assert (cause.kind, cause.count, cause.reasons) == ("busy", 1, ['queue instance "all.q@h1" is full'])


@pytest.mark.statement("ST-18")
def test_holders_of_a_missing_resource_are_listed_by_their_end() -> None:
    cluster = Cluster(2, slots=2)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=3")
    cluster.submit(hard={"lic": "2"})
    cluster.submit(hard={"lic": "1", "h_rt": "60"}, owner="bob")
    cluster.submit()
    cluster.cycle()
    [cause] = explained(cluster, cluster.submit(hard={"lic": "1"})).causes
    assert cause.holders == [
        "job 2 of bob has lic=1 until 2027-01-15 08:01:00 at the latest",
        "job 1 of alice has lic=2 and no run time limit",
    ]
    cluster.submit()
    cluster.cycle()
    [cause] = explained(cluster, cluster.submit()).causes
    assert [text.split(" of ")[0] for text in cause.holders] == ["job 2", "job 1", "job 3", "job 5"]
    assert "has 1 slot until" in cause.holders[0]


@pytest.mark.statement("ST-18", "RQ-2")
def test_the_cause_of_an_exhausted_quota_names_only_the_jobs_that_exhaust_it() -> None:
    cluster = Cluster(2)
    cluster.add("resource_quota", "few", enabled="TRUE", limit="users {*} to slots=1")
    jobs = [cluster.submit(), cluster.submit(owner="bob")]
    cluster.cycle()
    assert all(cluster.runs(job) for job in jobs)
    [cause] = explained(cluster, cluster.submit()).causes
    assert (cause.kind, cause.holders) == ("quota", ["job 1 of alice has 1 slot and no run time limit"])


@pytest.mark.statement("ST-18")
def test_of_a_parallel_job_all_count_who_have_slots_where_it_could_run() -> None:
    cluster = Cluster(2, slots=2)
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    cluster.submit(hard={"hostname": "h1"})
    cluster.submit(hard={"hostname": "h2"})
    cluster.cycle()
    job = cluster.submit(pe="par", pe_range="3", hard_queues=("all.q@h1",))
    assert kinds(cluster, job) == ["never"]
    [cause] = explained(cluster, cluster.submit(pe="par", pe_range="2", hard_queues=("all.q@h1",))).causes
    assert [text.split(" of ")[0] for text in cause.holders] == ["job 1"]


@pytest.mark.statement("ST-18")
def test_a_host_that_is_away_is_named_and_rules_nothing_out_for_ever() -> None:
    cluster = Cluster(2)
    for host in cluster.hosts:
        cluster.apply(HostLost(host, NOW))
    for fields in ({}, {"hard": {"mem_free": "1M"}}, {"hard": {"swap_rate": "1M"}}):
        [cause] = explained(cluster, cluster.submit(**fields)).causes
        assert (cause.kind, cause.count) == ("away", 2)
        assert cause.reasons[0] == 'host "h1": nothing heard since 2027-01-15 08:00:00'
    assert kinds(cluster, cluster.submit(hard={"arch": "nosuch"})) == ["never"], "what does not change stays known"
    cluster.state.hosts.clear()
    [cause] = explained(cluster, cluster.submit(hard={"arch": "nosuch"})).causes
    assert cause.reasons[0] == 'host "h1" has never reported: gridengine start there'


@pytest.mark.statement("ST-18")
def test_without_a_queue_instance_that_is_the_cause() -> None:
    cluster = Cluster(1)
    cluster.queue(hostlist="NONE")
    [cause] = explained(cluster, cluster.submit()).causes
    assert (cause.kind, cause.text) == ("never", "no queue of this cell has a host")


@pytest.mark.statement("ST-18", "QI-10")
def test_the_reason_of_an_error_state_is_shown() -> None:
    cluster = Cluster(1)
    cluster.apply(InstanceErrorSet("all.q@h1", "the prolog failed"))
    [cause] = explained(cluster, cluster.submit()).causes
    assert cause.reasons == ['queue instance "all.q@h1" is in error state: the prolog failed']
