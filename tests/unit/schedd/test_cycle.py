"""One scheduler cycle: the started jobs, their order and their instances."""

from __future__ import annotations

from collections import Counter

import pytest

from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import JobChanges
from gridengine.state.machines.job import HoldsChanged, JobChanged
from gridengine.state.machines.task import TaskRequeued
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster, started


def hosts(cluster: Cluster, jobs: list[int]) -> list[str]:
    return [next(iter(cluster.spread(job)), "").partition("@")[2] for job in jobs]


@pytest.mark.statement("PR-2", "X-19", "PR-1")
def test_a_plain_job_has_the_classic_priority() -> None:
    cluster = Cluster()
    job = cluster.submit()
    assert cluster.cycle().priorities == {job: (pytest.approx(0.555), 0.5, 0.5, 0.5)}
    assert cluster.cycle().priorities == {}


@pytest.mark.statement("PR-1", "SO-27")
def test_p_moves_the_normalised_priority() -> None:
    cluster = Cluster(1, slots=1)
    low, high = cluster.submit(priority=-100), cluster.submit(priority=10)
    orders = cluster.cycle()
    assert started(orders) == [(high, 1, "all.q@h1")]
    assert orders.priorities[low][1] == pytest.approx(924 / 2048)
    assert orders.priorities[high][0] == pytest.approx(1034 / 2048 + 0.055)


@pytest.mark.statement("CX-66", "PR-3", "PE-11")
def test_urgency_counts_slots_and_requests() -> None:
    cluster = Cluster(1, slots=0)
    cluster.complex("gpu INT <= YES YES 0 500")
    cluster.complex("tag STRING == YES NO NONE 70")
    cluster.pe("maxpe", "$fill_up", urgency_slots="max")
    cluster.pe("avgpe", "$fill_up", urgency_slots="avg")
    cluster.pe("intpe", "$fill_up", urgency_slots="7")
    requests = [
        {},
        {"hard": {"gpu": "2"}},
        {"hard": {"tag": "x"}},
        {"pe": "mpi", "pe_range": "2-4"},
        {"pe": "maxpe", "pe_range": "2-4"},
        {"pe": "avgpe", "pe_range": "2-4"},
        {"pe": "intpe", "pe_range": "2-4", "hard": {"gpu": "1"}},
    ]
    for fields in requests:
        cluster.submit(**fields)
    cluster.cycle()
    assert cluster.view is not None
    found = [category.urgency for category in cluster.view.categories.values()]
    assert found == [1000, 2000, 1070, 2000, 4000, 3000, 7000 + 3500]


@pytest.mark.statement("PR-3")
def test_waiting_time_and_deadline_raise_urgency() -> None:
    cluster = Cluster(1, slots=0)
    cluster.change("scheduler", "", weight_waiting_time="0.1", weight_urgency="1", weight_priority="0")
    old, new = cluster.submit(submit_time=NOW - 1000), cluster.submit(submit_time=NOW)
    orders = cluster.cycle()
    assert orders.priorities[old][2] == 1.0 and orders.priorities[new][2] == 0.0
    near = cluster.submit(submit_time=NOW, deadline=NOW + 60)
    past = cluster.submit(submit_time=NOW, deadline=NOW - 60)
    orders = cluster.cycle()
    assert orders.priorities[past][2] == 1.0 > orders.priorities[near][2] > orders.priorities[old][2]
    cluster.queue(slots="1")
    assert started(cluster.cycle()) == [(past, 1, "all.q@h1")]


@pytest.mark.statement("SC-5")
def test_equal_jobs_start_in_the_order_of_submission() -> None:
    cluster = Cluster(1, slots=2)
    jobs = [cluster.submit() for _ in range(4)]
    assert [job for job, _, _ in started(cluster.cycle())] == jobs[:2]


@pytest.mark.statement("SC-5", "QC-3")
def test_queue_sort_method() -> None:
    cluster = Cluster(3)
    for host, load in zip(cluster.hosts, ("0.9", "0.5", "0.1"), strict=True):
        cluster.heard(host, np_load_avg=load)
    cluster.queue(seq_no="0,[h1=1],[h2=2],[h3=3]", slots="1")
    jobs = [cluster.submit() for _ in range(3)]
    cluster.cycle()
    assert hosts(cluster, jobs) == ["h3", "h2", "h1"]
    for job in jobs:
        cluster.end(job)
    cluster.change("scheduler", "", queue_sort_method="seqno")
    jobs = [cluster.submit() for _ in range(3)]
    cluster.cycle()
    assert hosts(cluster, jobs) == ["h1", "h2", "h3"]


@pytest.mark.statement("LS-7")
def test_load_formula_weighs_load_and_consumables() -> None:
    cluster = Cluster(3)
    cluster.complex("rank INT <= YES YES 0 0")
    for host, rank in zip(cluster.hosts, (300, 100, 200), strict=True):
        cluster.values(host, f"rank={rank}")
    cluster.change("scheduler", "", load_formula="rank")
    first = cluster.submit()
    cluster.cycle()
    assert hosts(cluster, [first]) == ["h2"]
    cluster.change("scheduler", "", load_formula="-rank*2+np_load_avg*1000")
    second = cluster.submit()
    cluster.cycle()
    assert hosts(cluster, [second]) == ["h1"]
    cluster.change("scheduler", "", load_formula="nosuch")
    third = cluster.submit()
    cluster.cycle()
    assert cluster.runs(third)


def test_equal_load_spreads_jobs_over_hosts() -> None:
    cluster = Cluster(3)
    jobs = [cluster.submit() for _ in range(6)]
    cluster.cycle()
    assert Counter(hosts(cluster, jobs)) == {"h1": 2, "h2": 2, "h3": 2}


@pytest.mark.statement("LS-7", "SC-5")
@pytest.mark.parametrize(("formula", "expected"), [("slots", "h1 h1 h3 h3 h3 h2"), ("-slots", "h2 h2 h3 h2 h1 h3")])
def test_a_formula_of_free_slots_packs_or_spreads_within_a_cycle(formula: str, expected: str) -> None:
    cluster = Cluster(3)
    cluster.queue("second.q")
    for host, slots in zip(cluster.hosts, (2, 5, 3), strict=True):
        cluster.values(host, f"slots={slots}")
    cluster.change("scheduler", "", load_formula=formula)
    jobs = [cluster.submit() for _ in range(6)]
    cluster.cycle()
    assert hosts(cluster, jobs) == expected.split()


@pytest.mark.statement("LS-6")
def test_load_adjustments_spread_jobs_and_decay() -> None:
    cluster = Cluster(2, slots=8)
    cluster.heard("h1", np_load_avg="0.1")
    cluster.heard("h2", np_load_avg="0.3")
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:10:0")
    # four processors a host: each job counts 0.25 at first
    jobs = [cluster.submit() for _ in range(4)]
    cluster.cycle()
    assert hosts(cluster, jobs) == ["h1", "h2", "h1", "h2"]
    later = cluster.submit()
    cluster.cycle(NOW + 600)
    assert hosts(cluster, [later]) == ["h1"]
    # what would decay at once is not even counted within the cycle
    cluster.change("scheduler", "", load_adjustment_decay_time="0:0:0")
    jobs = [cluster.submit() for _ in range(3)]
    cluster.cycle(NOW + 601)
    assert hosts(cluster, jobs) == ["h1", "h1", "h1"]


@pytest.mark.statement("LS-6", "QC-4")
def test_adjusted_load_reaches_the_threshold_within_a_cycle_and_frees_with_time() -> None:
    cluster = Cluster(1, slots=20)
    cluster.queue(load_thresholds="np_load_avg=0.55")
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:10:0")
    jobs = [cluster.submit() for _ in range(4)]
    orders = cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, False, False]
    assert NOW < orders.next_time <= NOW + 60
    cluster.cycle(NOW + 300)
    assert sum(map(cluster.runs, jobs)) == 3
    cluster.cycle(NOW + 3000)
    assert sum(map(cluster.runs, jobs)) == 4


@pytest.mark.statement("CX-60", "SO-14")
def test_soft_requests_come_before_load() -> None:
    cluster = Cluster(3)
    for host, load in zip(cluster.hosts, ("0.1", "0.2", "0.9"), strict=True):
        cluster.heard(host, np_load_avg=load)
    soft = cluster.submit(soft={"hostname": "h3"})
    queue = cluster.submit(soft_queues=("*@h2",))
    in_vain = cluster.submit(soft={"arch": "nosuch"})
    memory = cluster.submit(soft={"mem_free": "4G", "arch": "lx*"}, soft_queues=("*@h3",))
    cluster.cycle()
    assert hosts(cluster, [soft, queue, in_vain, memory]) == ["h3", "h2", "h1", "h3"]


@pytest.mark.statement("CX-62", "CX-65")
def test_a_category_that_does_not_fit_is_tried_once() -> None:
    cluster = Cluster(2)
    for _ in range(50):
        cluster.submit(hard={"arch": "nosuch"})
    last = cluster.submit()
    cluster.cycle()
    assert cluster.runs(last)
    assert cluster.view is not None
    blocked = [category for category in cluster.view.categories.values() if category.is_blocked]
    assert len(blocked) == 1 and blocked[0].candidate_heap.heap == []


@pytest.mark.statement("CX-64")
def test_a_changed_load_value_brings_a_category_back() -> None:
    cluster = Cluster(2)
    job = cluster.submit(hard={"arch": "sol*"})
    cluster.cycle()
    assert not cluster.runs(job)
    cluster.heard("h2", arch="sol-x86")
    cluster.cycle()
    assert hosts(cluster, [job]) == ["h2"]


@pytest.mark.statement("CX-61")
def test_users_with_equal_access_share_a_category() -> None:
    cluster = Cluster(1, slots=0)
    cluster.add("userset", "staff", entries="carol", type="ACL")
    for owner in ("alice", "bob", "carol"):
        cluster.submit(owner=owner)
        cluster.submit(owner=owner, hard={"h_rt": "10", "mem_free": "1G"})
        cluster.submit(owner=owner, hard={"mem_free": "1G", "h_rt": "10"})
    cluster.cycle()
    assert cluster.view is not None and len(cluster.view.categories) == 4


@pytest.mark.statement("AJ-1")
def test_array_tasks_one_by_one() -> None:
    cluster = Cluster(1, slots=3)
    job = cluster.submit(array="2-10:2")
    assert [task for _, task, _ in started(cluster.cycle())] == [2, 4, 6]
    cluster.end(job, 4)
    assert [task for _, task, _ in started(cluster.cycle())] == [8]


@pytest.mark.statement("AJ-1")
def test_a_million_tasks_are_not_unfolded() -> None:
    cluster = Cluster(1, slots=2)
    job = cluster.submit(array="1-1000000")
    held = cluster.submit(array="1-1000000")
    cluster.apply(HoldsChanged(held, cluster.state.jobs[held].pending, set_holds=1))
    assert len(cluster.cycle().starts) == 2
    assert str(cluster.state.jobs[job].pending) == "3-1000000:1"


@pytest.mark.statement("AJ-2", "AJ-3")
def test_running_tasks_are_limited() -> None:
    cluster = Cluster(2, slots=10)
    own = cluster.submit(array="1-20", task_concurrency=2)
    assert len(cluster.cycle().starts) == 2
    cluster.end(own, 1)
    assert started(cluster.cycle())[0][:2] == (own, 3)
    cluster.change("configuration", "global", max_aj_instances="3")
    other = cluster.submit(array="1-20")
    assert {job for job, _, _ in started(cluster.cycle())} == {other}
    assert len(cluster.state.jobs[other].tasks) == 3


@pytest.mark.statement("AJ-6", "SO-49")
def test_held_tasks_are_left_out() -> None:
    cluster = Cluster(1, slots=10)
    job = cluster.submit(array="1-5")
    some = cluster.state.jobs[job].pending.take(2)
    cluster.apply(HoldsChanged(job, some, set_holds=2))
    assert [task for _, task, _ in started(cluster.cycle())] == [3, 4, 5]
    cluster.apply(HoldsChanged(job, some, cleared=2))
    assert [task for _, task, _ in started(cluster.cycle())] == [1, 2]


@pytest.mark.statement("DP-1", "DP-2", "DP-4")
def test_dependencies() -> None:
    cluster = Cluster(1, slots=10)
    first = cluster.submit(array="1-3")
    after = cluster.submit(predecessors=[first])
    pairwise = cluster.submit(array="1-3", array_predecessors=[first])
    cluster.cycle()
    assert not cluster.runs(after) and not cluster.state.jobs[pairwise].tasks
    cluster.end(first, 2)
    assert started(cluster.cycle()) == [(pairwise, 2, "all.q@h1")]
    cluster.end(first, 1)
    cluster.end(first, 3)
    assert {job for job, _, _ in started(cluster.cycle())} == {after, pairwise}


@pytest.mark.statement("SO-1")
def test_a_start_time_and_when_to_look_again() -> None:
    cluster = Cluster()
    job = cluster.submit(start_after=NOW + 50)
    orders = cluster.cycle()
    assert not orders.starts and orders.next_time == NOW + 50
    assert started(cluster.cycle(NOW + 50))[0][0] == job


@pytest.mark.statement("QC-17")
def test_a_rescheduled_task_gets_a_new_attempt_and_goes_first() -> None:
    cluster = Cluster(1, slots=1)
    job = cluster.submit(array="1-3")
    cluster.cycle()
    cluster.apply(TaskRequeued(job, 1, 1, NOW))
    start = cluster.cycle().starts[0]
    assert (start.task_id, start.attempt) == (1, 2)
    cluster.apply(TaskRequeued(job, 1, 2, NOW, error="broken"))
    assert cluster.cycle().starts[0].task_id == 2


@pytest.mark.statement("SC-4")
def test_maxujobs() -> None:
    cluster = Cluster(2, slots=10)
    cluster.change("scheduler", "", maxujobs="2")
    for owner in ("alice", "alice", "alice", "bob"):
        cluster.submit(owner=owner, array="1-2")
    orders = cluster.cycle()
    owners = Counter(cluster.state.jobs[start.job_id].owner for start in orders.starts)
    assert owners == {"alice": 2, "bob": 2}
    assert cluster.cycle().starts == [], "what runs already counts"
    cluster.end(orders.starts[0].job_id, orders.starts[0].task_id)
    assert [cluster.state.jobs[start.job_id].owner for start in cluster.cycle().starts] == ["alice"]


@pytest.mark.statement("AJ-5", "SO-22")
def test_now_jobs_start_whole_or_are_given_up_and_leave_no_trace() -> None:
    cluster = Cluster(1, slots=3)
    array, single = cluster.submit(array="1-4", now=True), cluster.submit(now=True)
    pair = cluster.submit(array="1-2", now=True)
    orders = cluster.cycle()
    assert orders.give_up == [array]
    assert Counter(job for job, _, _ in started(orders)) == {single: 1, pair: 2}


def test_a_version_and_attempt_are_in_every_order() -> None:
    cluster = Cluster()
    job = cluster.submit()
    cluster.apply(JobChanged(job, JobChanges(name="other")))
    start = cluster.cycle().starts[0]
    assert (start.version, start.attempt, start.pe) == (1, 1, "")


@pytest.mark.statement("CX-64")
def test_changed_requests_make_another_category() -> None:
    cluster = Cluster(1)
    job = cluster.submit(hard={"arch": "nosuch"})
    cluster.cycle()
    cluster.apply(JobChanged(job, JobChanges(hard={"arch": "lx*"})))
    cluster.cycle()
    assert cluster.runs(job)


def test_orders_that_were_not_carried_out_are_given_again() -> None:
    cluster = Cluster(2, slots=1)
    for _ in range(3):
        cluster.submit()
    assert cluster.view is not None
    first = schedule(cluster.view, NOW)
    assert len(first.starts) == 2 and schedule(cluster.view, NOW).starts == first.starts
    assert schedule(View(cluster.state), NOW).starts == first.starts


@pytest.mark.statement("QC-40")
def test_a_changed_queue_counts_from_the_next_cycle() -> None:
    cluster = Cluster(1, slots=1)
    jobs = [cluster.submit() for _ in range(3)]
    cluster.cycle()
    cluster.queue(slots="2")
    cluster.cycle()
    cluster.queue("new.q", slots="1")
    cluster.cycle()
    assert [list(cluster.spread(job)) for job in jobs] == [["all.q@h1"], ["all.q@h1"], ["new.q@h1"]]


@pytest.mark.statement("AJ-4")
def test_the_limit_of_pending_tasks_that_are_looked_at_keeps_no_task_from_its_slot() -> None:
    """As measured on the original: it spares work alone, and work follows categories here."""
    cluster = Cluster(2, slots=3)
    cluster.change("scheduler", "", max_pending_tasks_per_job="1")
    array = cluster.submit(array="1-9")
    assert sorted((job, task) for job, task, _ in started(cluster.cycle())) == [(array, task) for task in range(1, 7)]


@pytest.mark.statement("SO-22", "AJ-5")
def test_an_immediate_job_that_something_keeps_is_given_up() -> None:
    cluster = Cluster(1)
    first = cluster.submit(holds={1: Ranges.of([1])})
    kept = [
        cluster.submit(now=True, holds={1: Ranges.of([1])}),
        cluster.submit(now=True, predecessors=[first]),
        cluster.submit(now=True, start_after=cluster.now + 60),
    ]
    free = cluster.submit(now=True)
    orders = cluster.cycle()
    assert orders.give_up == kept and [job for job, _, _ in started(orders)] == [free]


def test_a_parameter_that_is_neither_true_nor_false_counts_as_not_set() -> None:
    found = SchedulerConfiguration.of({"params": "PROFILE=perhaps MONITOR=1"})
    assert (found.profile, found.monitor) == (False, True)
