"""Resource quota sets in force: the rule that applies, the use under it, the free amount."""

from __future__ import annotations

from collections import Counter

import pytest

from gridengine.placement.verify import explain, verify
from gridengine.state.jobs import Grant, JobChanges
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.job import JobChanged
from gridengine.state.machines.reservation import ReservationGranted, ReservationStarted
from gridengine.state.quotas import Bucket
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster


def quota(cluster: Cluster, name: str, *rules: str, enabled: str = "TRUE") -> None:
    cluster.add("resource_quota", name, enabled=enabled, limit="\n".join(rules))


def hosts_of(cluster: Cluster, jobs: list[int]) -> list[str]:
    """Hosts of the jobs that run, sorted, a job's host once a slot."""
    found = []
    for job in jobs:
        for instance, slots in cluster.spread(job).items():
            found += [instance.partition("@")[2]] * slots
    return sorted(found)


def reasons(cluster: Cluster, job: int) -> list[str]:
    return [reason.text for reason in explain(cluster.state, cluster.state.jobs[job], NOW)]


@pytest.mark.statement("RQ-2")
def test_the_first_rule_that_matches_counts_and_every_set_applies() -> None:
    cluster = Cluster()
    quota(cluster, "one", "users alice to slots=3", "users * to slots=1")
    quota(cluster, "two", "to slots=4")
    jobs = [cluster.submit() for _ in range(5)]
    others = [cluster.submit(owner="bob") for _ in range(2)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, True, True, False, False]
    assert [cluster.runs(job) for job in others] == [True, False]
    assert 'cannot run because it exceeds limit "/////" in rule "one/1": slots=3/3' in reasons(cluster, jobs[3])
    cluster.end(others[0])
    cluster.cycle()
    assert [cluster.runs(job) for job in (jobs[3], others[1])] == [False, True]


@pytest.mark.statement("RQ-2")
def test_a_disabled_set_does_not_apply() -> None:
    cluster = Cluster()
    quota(cluster, "one", "to slots=0", enabled="FALSE")
    job = cluster.submit()
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("RQ-3")
@pytest.mark.parametrize(
    ("rule", "alice", "bob"),
    [
        ("users * to slots=2", 2, 0),
        ("users {*} to slots=2", 2, 2),
        ("users {alice,bob} to slots=1", 1, 1),
        ("users alice,bob to slots=3", 3, 0),
        ("hosts {*} to slots=1", 3, 0),
        ("hosts {@two} to slots=1", 4, 2),
        ("users {*} hosts {*} to slots=1", 3, 3),
        ("queues {all.q} to slots=2", 2, 0),
    ],
)
def test_lists_count_together_and_braces_each(rule: str, alice: int, bob: int) -> None:
    cluster = Cluster()
    cluster.add("host_group", "@two", hostlist="h1 h2")
    quota(cluster, "set", rule)
    first = [cluster.submit() for _ in range(4)]
    second = [cluster.submit(owner="bob") for _ in range(4)]
    cluster.cycle()
    assert (sum(map(cluster.runs, first)), sum(map(cluster.runs, second))) == (alice, bob)


@pytest.mark.statement("RQ-4")
@pytest.mark.parametrize(
    ("rule", "running"),
    [
        ("users !alice to slots=0", "alice"),
        ("users @staff to slots=0", "alice carl"),
        ("users {@staff} to slots=0", "alice carl"),
        ("users !@staff to slots=0", "bob"),
        ("users *,!alice to slots=0", "alice"),
        ("users a* to slots=0", "bob carl"),
        ("users !* to slots=0", "alice bob carl"),
        ("projects * to slots=0", "alice bob"),
        ("projects !* to slots=0", "carl"),
        ("projects !p1 to slots=0", "carl"),
        ("projects p2 to slots=0", "alice bob carl"),
        ("pes * to slots=0", "alice bob carl"),
        ("pes !* to slots=0", ""),
        ("queues !all.q to slots=0", "alice bob carl"),
        ("queues all* to slots=0", ""),
        ("hosts !@two to slots=0", "alice bob carl"),
        ("hosts h1,h2,h3 to slots=0", ""),
    ],
)
def test_filters(rule: str, running: str) -> None:
    cluster = Cluster()
    cluster.add("host_group", "@two", hostlist="h1 h2")
    cluster.apply(ObjectSet("userset", "staff", {"name": "staff", "type": "ACL", "entries": "bob"}))
    quota(cluster, "set", rule)
    jobs = {"alice": cluster.submit(), "bob": cluster.submit(owner="bob")}
    jobs["carl"] = cluster.submit(owner="carl", project="p1")
    cluster.cycle()
    assert " ".join(user for user, job in jobs.items() if cluster.runs(job)) == running


@pytest.mark.statement("RQ-4", "RQ-2")
def test_hosts_of_a_group_and_the_rest() -> None:
    """The acceptance case of the filters: two slots on each host of the group, one slot on all other hosts together."""
    cluster = Cluster(slots=9)
    cluster.add("host_group", "@two", hostlist="h1 h2")
    quota(cluster, "set", "queues all.q hosts {@two} to slots=2", "queues all.q hosts !@two to slots=1")
    jobs = [cluster.submit() for _ in range(7)]
    cluster.cycle()
    assert Counter(hosts_of(cluster, jobs)) == {"h1": 2, "h2": 2, "h3": 1}
    # what ends at one host lets a job run there although that place was full before
    ended = next(job for job in jobs if hosts_of(cluster, [job]) == ["h2"])
    cluster.end(ended)
    cluster.cycle()
    assert Counter(hosts_of(cluster, [job for job in jobs if job != ended])) == {"h1": 2, "h2": 2, "h3": 1}


@pytest.mark.statement("RQ-2", "CX-64")
def test_an_end_on_one_host_lets_a_job_start_on_another() -> None:
    cluster = Cluster()
    quota(cluster, "set", "hosts h1,h2 to slots=1", "to slots=0")
    first, waiting = cluster.submit(), cluster.submit()
    cluster.cycle()
    assert hosts_of(cluster, [first]) == ["h1"] and not cluster.runs(waiting)
    cluster.apply(InstanceFlagsChanged(["all.q@h1"], {"disabled": True}))
    cluster.cycle()
    cluster.end(first)
    cluster.cycle()
    assert hosts_of(cluster, [waiting]) == ["h2"]


@pytest.mark.statement("RQ-5")
def test_dynamic_limits_follow_their_host() -> None:
    cluster = Cluster(slots=20)
    cluster.heard("h2", num_proc="2")
    cluster.apply(HostHeard("h3", NOW, {}, ["num_proc"]))
    quota(cluster, "set", "hosts {h1,h2} to slots=$num_proc*2", "hosts h3 to slots=$num_proc-999999998")
    jobs = [cluster.submit() for _ in range(30)]
    cluster.cycle()
    assert Counter(hosts_of(cluster, jobs)) == {"h1": 8, "h2": 4, "h3": 2}
    cluster.heard("h2", num_proc="3")
    cluster.cycle()
    assert Counter(hosts_of(cluster, jobs)) == {"h1": 8, "h2": 6, "h3": 2}


@pytest.mark.statement("RQ-5")
def test_a_report_of_an_attribute_in_a_dynamic_limit_brings_a_parallel_job_back() -> None:
    cluster = Cluster(1)
    cluster.complex("ready INT <= YES NO 0 0")
    quota(cluster, "dyn", "hosts {*} to slots=$ready")
    cluster.pe("any", "$fill_up")
    cluster.queue(pe_list="any")
    job = cluster.submit(pe="any", pe_range="2")
    for ready, runs in (("1", False), ("2", True)):
        cluster.heard("h1", ready=ready)
        cluster.cycle()
        assert cluster.runs(job) == runs


@pytest.mark.statement("RQ-6")
def test_fixed_attributes_are_compared_and_not_counted() -> None:
    cluster = Cluster()
    quota(cluster, "set", "to h_rt=3600")
    fits, too_long = [cluster.submit(hard={"h_rt": text}) for text in ("3600", "3601")]
    again = cluster.submit(hard={"h_rt": "3600"})
    without = cluster.submit()
    cluster.cycle()
    assert [cluster.runs(job) for job in (fits, too_long, again, without)] == [True, False, True, True]
    assert reasons(cluster, too_long) == ['cannot run because it exceeds limit "/////" in rule "set/1": h_rt=01:00:00']


@pytest.mark.statement("RQ-6", "RQ-9")
def test_consumables_count_by_slot_or_once() -> None:
    cluster = Cluster()
    cluster.complex("mem INT <= YES YES 0 0")
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.values("global", "mem=1000,lic=1000")
    cluster.pe("mpi2", "$fill_up")
    cluster.queue(pe_list="mpi2")
    quota(cluster, "set", "to mem=6,lic=2")
    parallel = {"pe": "mpi2", "pe_range": "2"}
    first = cluster.submit(hard={"mem": "2", "lic": "1"}, **parallel)
    second = cluster.submit(hard={"lic": "1"}, **parallel)
    third = cluster.submit(hard={"mem": "2"}, **parallel)
    fourth = cluster.submit(hard={"lic": "1"})
    plain = cluster.submit()
    cluster.cycle()
    assert [cluster.runs(job) for job in (first, second, third, fourth, plain)] == [True, True, False, False, True]
    bucket = Bucket("quota", "set", 0, ("",) * 5)
    assert cluster.state.quotas.used == {bucket: {"slots": 5, "mem": 4, "lic": 2}}
    for job in (first, second, plain):
        cluster.end(job)
    assert cluster.state.quotas.used == {}
    cluster.cycle()
    assert cluster.state.quotas.used == {bucket: {"slots": 3, "mem": 4, "lic": 1}}


@pytest.mark.statement("RQ-9", "RQ-3")
@pytest.mark.parametrize(
    ("rule", "limit", "slot_range", "spread"),
    [
        ("$fill_up", "hosts {*} to slots=2", "5", [2, 2, 1]),
        ("$fill_up", "hosts @two to slots=3", "6", [3, 3]),
        ("$fill_up", "hosts @two to slots=3", "8", []),
        ("$fill_up", "users {*} to slots=3", "1-9", [3]),
        ("$round_robin", "hosts @two to slots=3", "6", [2, 1, 3]),
        ("$round_robin", "hosts {*} to slots=1", "1-9", [1, 1, 1]),
        ("$round_robin", "hosts @two to slots=1", "2", [1, 1]),
        ("$pe_slots", "hosts h1,h2 to slots=3", "4", [4]),
        ("$pe_slots", "hosts {*} to slots=3", "1-4", [3]),
        ("2", "hosts @two to slots=3", "4", [2, 2]),
        ("2", "hosts @two to slots=3", "6", []),
        ("2", "hosts @two to slots=4", "6", [2, 2, 2]),
    ],
)
def test_parallel_jobs_keep_what_hosts_have_together(rule: str, limit: str, slot_range: str, spread: list[int]) -> None:
    cluster = Cluster()
    cluster.add("host_group", "@two", hostlist="h1 h2")
    cluster.pe("par", rule)
    cluster.queue(pe_list="par")
    quota(cluster, "set", limit)
    job = cluster.submit(pe="par", pe_range=slot_range)
    cluster.cycle()
    assert sorted(cluster.spread(job).values()) == sorted(spread)
    if not spread:
        assert not verify(cluster.state, cluster.state.jobs[job], assume_empty=True)[0]


@pytest.mark.statement("RQ-9", "CX-38")
def test_a_quota_of_a_job_consumable_counts_where_the_master_runs() -> None:
    cluster = Cluster(2, slots=2)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.values("global", "lic=9")
    quota(cluster, "set", "hosts h2 to lic=0")
    job = cluster.submit(hard={"lic": "1"}, pe="mpi", pe_range="4")
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h1": 2, "all.q@h2": 2}


@pytest.mark.statement("RQ-9")
def test_a_parallel_job_that_exceeds_a_quota_is_explained() -> None:
    cluster = Cluster()
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    quota(cluster, "set", "users {*} to slots=3")
    job = cluster.submit(pe="par", pe_range="4")
    cluster.cycle()
    assert reasons(cluster, job) == [
        'cannot run because it exceeds limit "alice/////" in rule "set/1": slots=0/3',
        'cannot run in PE "par" because it only offers 3 slots',
    ]


@pytest.mark.statement("RQ-10")
def test_counts_are_right_when_rules_and_lists_change() -> None:
    cluster = Cluster()
    jobs = [cluster.submit() for _ in range(3)]
    cluster.cycle()
    quota(cluster, "set", "users {@staff} to slots=2", "users {*} to slots=9")
    assert list(cluster.state.quotas.used) == [Bucket("quota", "set", 1, ("alice", "", "", "", ""))]
    cluster.apply(ObjectSet("userset", "staff", {"name": "staff", "type": "ACL", "entries": "alice"}))
    assert cluster.state.quotas.used == {Bucket("quota", "set", 0, ("alice", "", "", "", "")): {"slots": 3}}
    late = cluster.submit()
    for job in jobs[:2]:
        cluster.cycle()
        assert not cluster.runs(late)
        cluster.end(job)
    cluster.cycle()
    assert cluster.runs(late)
    cluster.change("resource_quota", "set", enabled="FALSE")
    assert cluster.state.quotas.used == {}


@pytest.mark.statement("RQ-10")
def test_a_job_that_changes_its_project_is_counted_there() -> None:
    cluster = Cluster()
    quota(cluster, "set", "projects {*} to slots=1")
    job = cluster.submit(project="p1")
    cluster.cycle()
    cluster.apply(JobChanged(job, JobChanges(project="p2")))
    assert [bucket.consumers[1] for bucket in cluster.state.quotas.used] == ["p2"]
    cluster.end(job)
    assert cluster.state.quotas.used == {}


@pytest.mark.statement("RQ-11")
def test_no_slots_drain() -> None:
    cluster = Cluster()
    running = cluster.submit()
    cluster.cycle()
    quota(cluster, "drain", "to slots=0")
    late = cluster.submit()
    cluster.cycle()
    assert (cluster.runs(running), cluster.runs(late)) == (True, False)
    cluster.apply(ObjectRemoved("resource_quota", "drain"))
    cluster.cycle()
    assert cluster.runs(late)


@pytest.mark.statement("RQ-8")
def test_jobs_in_a_reservation_are_outside() -> None:
    cluster = Cluster()
    quota(cluster, "drain", "to slots=0")
    reservation = AdvanceReservation(1, "alice", "users", NOW, NOW, NOW + 3600, granted=[Grant("all.q@h1", 2)])
    cluster.apply(ReservationGranted(reservation))
    cluster.apply(ReservationStarted(1, NOW))
    inside, outside = cluster.submit(ar=1, hard={"h_rt": "60"}), cluster.submit()
    cluster.cycle()
    assert (cluster.runs(inside), cluster.runs(outside)) == (True, False)
    assert cluster.state.quotas.used == {}


@pytest.mark.statement("RQ-2", "SO-41")
def test_verification_knows_quotas() -> None:
    cluster = Cluster()
    quota(cluster, "set", "users {*} to slots=1")
    running = cluster.submit()
    cluster.cycle()
    job = cluster.job()
    assert cluster.runs(running)
    assert verify(cluster.state, job, assume_empty=True)[0]
    assert not verify(cluster.state, job, assume_empty=False)[0]
