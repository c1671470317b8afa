"""Override and functional tickets, and the resulting order of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.qmaster.queries.jobs import jobs as job_rows
from daemons.qmaster.queries.selection import Listing
from daemons.schedd.survey import NO_PRIORITY
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import NO_TICKETS
from gridengine.state.machines.configuration import ObjectSet
from tests.builders import Cluster


def cell(**scheduler: str) -> Cluster:
    """One slot on one host; tickets alone make the order."""
    cluster = Cluster(hosts=1, slots=1)
    plain = {"weight_ticket": "1", "weight_urgency": "0", "weight_priority": "0", "policy_hierarchy": "OFS"}
    cluster.change("scheduler", "", **{**plain, **scheduler})
    for user in ("alice", "bob"):
        cluster.add("user", user)
    for project in ("p1", "p2"):
        cluster.add("project", project)
    return cluster


def order(cluster: Cluster) -> list[int]:
    """The jobs in the order in which they are started, one after the other."""
    found: list[int] = []
    for _ in list(cluster.state.jobs):
        started = cluster.cycle().starts
        found += [start.job_id for start in started]
        for start in started:
            cluster.end(start.job_id)
    return found


def tickets(cluster: Cluster, *jobs: int) -> list[tuple[float, float]]:
    """Override and functional tickets."""
    return [cluster.state.tickets.get(job, NO_TICKETS)[:2] for job in jobs]


@pytest.mark.statement("PR-5", "PR-1")
def test_override_tickets_of_jobs_make_the_order() -> None:
    cluster = cell()
    cluster.queue(slots="0")
    jobs = [cluster.submit(override_tickets=number) for number in (100, 900, 500)]
    cluster.cycle()
    assert tickets(cluster, *jobs) == [(100, 0), (900, 0), (500, 0)]
    assert [cluster.state.priorities[job][3] for job in jobs] == pytest.approx([1 / 9, 1.0, 5 / 9])
    cluster.queue(slots="1")
    assert order(cluster) == [jobs[1], jobs[2], jobs[0]]


@pytest.mark.statement("PR-5")
@pytest.mark.parametrize(("shared", "each"), [("TRUE", 20.0), ("FALSE", 60.0)])
def test_override_tickets_of_objects_are_divided_among_running_jobs_if_shared(shared: str, each: float) -> None:
    cluster = cell(share_override_tickets=shared)
    cluster.queue(slots="2")
    cluster.change("user", "alice", oticket="60")
    running = [cluster.submit(), cluster.submit()]
    cluster.cycle()
    late, foreign = cluster.submit(), cluster.submit(owner="bob")
    cluster.cycle()
    # two run: each has half of it, one more would leave a third
    assert tickets(cluster, late, foreign) == [(each, 0), (0, 0)]
    assert tickets(cluster, *running) == [(30.0 if shared == "TRUE" else 60.0, 0)] * 2


@pytest.mark.statement("PR-5")
def test_jobs_that_wait_share_override_tickets_with_those_before_them() -> None:
    """Seen on the original: alice has 100, p1 300, the department lab 70; two jobs run."""
    cluster = cell()
    cluster.queue(slots="2")
    cluster.change("user", "alice", oticket="100")
    cluster.change("project", "p1", oticket="300")
    text = {"name": "lab", "type": "DEPT", "fshare": "0", "oticket": "70", "entries": "bob"}
    cluster.apply(ObjectSet("userset", "lab", text))
    running = [cluster.submit(), cluster.submit(project="p1")]
    cluster.cycle()
    waiting = [cluster.submit(), cluster.submit(owner="bob", department="lab")]
    waiting.append(cluster.submit(owner="bob", project="p1", department="lab"))
    cluster.cycle()
    assert tickets(cluster, *running) == [(50, 0), (350, 0)]
    assert [round(override, 2) for override, _ in tickets(cluster, *waiting)] == [33.33, 35, 220]
    ranked = [round(cluster.state.priorities[job][3], 5) for job in (*running, *waiting)]
    assert ranked == [0.14286, 1.0, 0.09524, 0.1, 0.62857]


@pytest.mark.statement("PR-4")
def test_running_jobs_have_the_functional_tickets_of_those_who_run() -> None:
    """Seen on the original: bob has three times the share of alice and two jobs that run, both have jobs that wait."""
    cluster = cell(weight_tickets_functional="10000", weight_user="1", weight_project="0", weight_department="0", weight_job="0")
    cluster.queue(slots="2")
    cluster.change("user", "alice", fshare="1")
    cluster.change("user", "bob", fshare="3")
    alices = [cluster.submit() for _ in range(4)]
    bobs = [cluster.submit(owner="bob") for _ in range(4)]
    cluster.cycle()
    assert [functional for _, functional in tickets(cluster, *bobs)] == [10000, 5000, 2500, 1875]
    cluster.cycle()
    assert [functional for _, functional in tickets(cluster, *bobs)] == [5000, 5000, 2500, 1875]
    assert [round(functional) for _, functional in tickets(cluster, *alices)] == [2500, 1250, 833, 625]


@pytest.mark.statement("PR-4")
def test_categories_without_shares_leave_theirs_to_the_others_among_running_jobs() -> None:
    """Seen on the original: users alone have shares, all weights are 0.25."""
    cluster = cell(weight_tickets_functional="10000")
    cluster.queue(slots="2")
    for user in ("alice", "bob"):
        cluster.change("user", user, fshare="100")
    running = [cluster.submit(), cluster.submit(owner="bob")]
    waiting = [cluster.submit(), cluster.submit(owner="bob")]
    cluster.cycle()
    cluster.cycle()
    assert [functional for _, functional in tickets(cluster, *running)] == [5000, 5000]
    assert [functional for _, functional in tickets(cluster, *waiting)] == [625, 625]


@pytest.mark.statement("PR-5")
def test_override_tickets_of_project_and_department_add_up() -> None:
    cluster = cell()
    cluster.change("project", "p1", oticket="100")
    text = {"name": "lab", "type": "DEPT", "fshare": "0", "oticket": "7", "entries": "bob"}
    cluster.apply(ObjectSet("userset", "lab", text))
    cluster.queue(slots="0")
    job = cluster.submit(owner="bob", project="p1", department="lab", override_tickets=1)
    cluster.cycle()
    assert tickets(cluster, job) == [(108, 0)]


@pytest.mark.statement("PR-4")
def test_functional_shares_of_users_divide_the_tickets() -> None:
    cluster = cell(weight_tickets_functional="1000", weight_user="1", weight_project="0", weight_department="0", weight_job="0")
    cluster.change("user", "alice", fshare="300")
    cluster.change("user", "bob", fshare="100")
    bobs = [cluster.submit(owner="bob") for _ in range(2)]
    alices = [cluster.submit() for _ in range(4)]
    cluster.queue(slots="0")
    cluster.cycle()
    # 3:1, each divided among the jobs that are ranked before; as long as none of bob's is, alice has everything
    assert tickets(cluster, *alices) == [(0, 1000), (0, 500), (0, 250), (0, 187.5)]
    assert tickets(cluster, *bobs) == [(0, 250), (0, 125)]


@pytest.mark.statement("PR-4")
def test_jobs_of_equal_users_alternate() -> None:
    cluster = cell(weight_tickets_functional="1000")
    for user in ("alice", "bob"):
        cluster.change("user", user, fshare="100")
    alices = [cluster.submit() for _ in range(3)]
    bobs = [cluster.submit(owner="bob") for _ in range(3)]
    cluster.queue(slots="6")
    started = [start.job_id for start in cluster.cycle().starts]
    assert started == [alices[0], bobs[0], alices[1], bobs[1], alices[2], bobs[2]]


@pytest.mark.statement("PR-4")
def test_shares_that_are_not_divided_and_the_limit_of_jobs() -> None:
    shares: dict[str, Any] = {"weight_user": "1", "weight_project": "0", "weight_department": "0", "weight_job": "0"}
    cluster = cell(weight_tickets_functional="600", share_functional_shares="FALSE", **shares)
    cluster.change("scheduler", "", max_functional_jobs_to_schedule="2")
    cluster.change("user", "alice", fshare="100")
    cluster.queue(slots="0")
    jobs = [cluster.submit() for _ in range(3)]
    cluster.cycle()
    assert tickets(cluster, *jobs) == [(0, 600), (0, 300), (0, 0)]


@pytest.mark.statement("PR-4")
@pytest.mark.parametrize(
    ("shared", "alices", "bobs"),
    [
        # alice's first, bob's with a part of 110 shares, alice's second with half of hers
        ("TRUE", [600, 600 * 50 / 110], 600 * 10 / 110 + 400),
        # bob's, for of 210 shares alice has less for each of hers; then hers
        ("FALSE", [600 * 100 / 110, 600 * 100 / 210], 600 + 400),
    ],
)
def test_undivided_shares_count_once_a_job_in_the_ranking(shared: str, alices: list[float], bobs: float) -> None:
    """Alice has ten times bob's share, but two jobs; bob has a project besides."""
    weights = {"weight_user": "0.6", "weight_project": "0.4", "weight_department": "0", "weight_job": "0"}
    cluster = cell(weight_tickets_functional="1000", share_functional_shares=shared, **weights)
    cluster.change("user", "alice", fshare="100")
    cluster.change("user", "bob", fshare="10")
    cluster.change("project", "p1", fshare="1")
    cluster.queue(slots="0")
    jobs = [cluster.submit(), cluster.submit(), cluster.submit(owner="bob", project="p1")]
    cluster.cycle()
    assert [functional for _, functional in tickets(cluster, *jobs)] == pytest.approx([*alices, bobs])


@pytest.mark.statement("PR-4", "PR-9")
def test_projects_departments_and_job_shares_count_by_their_weights() -> None:
    shares = {"weight_user": "0", "weight_project": "0.5", "weight_department": "0", "weight_job": "0.5"}
    cluster = cell(weight_tickets_functional="1000", **shares)
    cluster.change("project", "p1", fshare="30")
    cluster.change("project", "p2", fshare="10")
    cluster.queue(slots="0")
    one = cluster.submit(project="p1", job_share=1)
    two = cluster.submit(project="p2", job_share=4)
    cluster.cycle()
    # two is ranked first, by a quarter of the projects' and four fifths of the jobs' shares
    assert tickets(cluster, one, two) == [(0, 375 + 100), (0, 500 + 500)]


@pytest.mark.statement("PR-8", "PR-4")
def test_the_hierarchy_lets_one_policy_order_the_next() -> None:
    shares = {"weight_user": "1", "weight_project": "0", "weight_department": "0", "weight_job": "0"}
    cluster = cell(weight_tickets_functional="1000", **shares)
    cluster.change("user", "alice", fshare="100")
    cluster.queue(slots="0")
    plain, favoured = cluster.submit(), cluster.submit(override_tickets=10)
    cluster.cycle()
    assert tickets(cluster, plain, favoured) == [(0, 500), (10, 1000)]
    cluster.change("scheduler", "", policy_hierarchy="FO")
    cluster.cycle()
    assert tickets(cluster, plain, favoured) == [(0, 1000), (10, 500)]
    for without in ("F", "NONE"):
        cluster.change("scheduler", "", policy_hierarchy=without)
        cluster.cycle()
        assert tickets(cluster, plain, favoured) == [(0, 1000), (10, 500)], "each policy by itself"


@pytest.mark.statement("PR-4", "PR-5")
def test_tickets_as_shown_by_qstat() -> None:
    cluster = cell(weight_tickets_functional="1000")
    cluster.change("user", "alice", fshare="1")
    cluster.queue(slots="2")
    running = cluster.submit(override_tickets=250)
    cluster.cycle()
    other = cluster.submit(owner="bob", override_tickets=750)
    cluster.cycle()
    waiting = cluster.submit(override_tickets=9)
    cluster.cycle()
    caller = Caller("root", 0, "root", 0, "m")
    rows = job_rows(Listing(cluster.state), {"users": ["*"], "details": ["shares"]}, caller, cluster.now)
    found = {row[0]: (row[9]["tickets"], round(row[9]["share"], 2)) for row in (*rows["running"], *rows["pending"])}
    assert found == {running: ([250, 1000, 0], 0.62), other: ([750, 0, 0], 0.38), waiting: ([9, 125, 0], 1.0)}


@pytest.mark.statement("SC-1", "PR-5")
def test_tickets_of_waiting_jobs_are_not_sent_if_they_are_not_to_be_reported() -> None:
    """report_pjob_tickets: the order in which jobs start is that of their tickets all the same."""
    cluster = cell(report_pjob_tickets="FALSE")
    cluster.queue(slots="1")
    running = cluster.submit(override_tickets=7)
    cluster.cycle()
    few, many = cluster.submit(override_tickets=1), cluster.submit(override_tickets=100)
    orders = cluster.cycle()
    assert set(orders.priorities) | set(orders.tickets) <= {running}
    assert tickets(cluster, running, few, many) == [(7, 0), (0, 0), (0, 0)]
    assert [cluster.state.priorities.get(job, NO_PRIORITY)[0] for job in (few, many)] == [0, 0]
    cluster.end(running)
    assert order(cluster) == [many, few]


@pytest.mark.statement("PR-2")
def test_without_policies_all_jobs_are_equal() -> None:
    cluster = Cluster(hosts=1, slots=1)
    job = cluster.submit()
    orders = cluster.cycle()
    assert orders.tickets == {} and cluster.state.priorities[job][3] == 0.5
    assert round(cluster.state.priorities[job][0], 5) == 0.555
