"""The order of pending jobs, explained: figures computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.forecast.order import Order
from daemons.schedd.survey import ranked_jobs
from gridengine.state.machines.configuration import ObjectSet
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster


def order_of(cluster: Cluster) -> Order:
    assert cluster.view is not None
    return Order(cluster.state, ranked_jobs(cluster.view, cluster.now), cluster.now)


def figures(cluster: Cluster, job: int) -> dict[str, Any]:
    found = order_of(cluster).of_job(job)
    assert found is not None
    return found


def classic(cluster: Cluster, **attributes: str) -> None:
    weights = {"weight_priority": "1.0", "weight_urgency": "0.1", "weight_ticket": "0.01", "weight_waiting_time": "0"}
    cluster.change("scheduler", "", **{**weights, **attributes})


@pytest.mark.statement("PR-1", "PR-2")
def test_a_lone_job_has_the_neutral_value_in_each_term() -> None:
    cluster = Cluster()
    classic(cluster)
    job = cluster.submit()
    found = figures(cluster, job)
    assert found["priority"] == pytest.approx(0.555)
    assert [(term["term"], term["value"]) for term in found["terms"]] == [("priority", 0.5), ("urgency", 0.5), ("tickets", 0.5)]
    assert [term["formula"] for term in found["terms"]] == [
        "(0 + 1024) / 2048",
        "0.5, since all jobs have the same",
        "0.5, since no job has tickets",
    ]
    assert (found["place"], found["of"], found["before"], found["changes"]) == (1, 1, [], [])


@pytest.mark.statement("PR-1")
def test_the_place_with_another_p_is_computed_and_true() -> None:
    cluster = Cluster(hosts=1, slots=1)
    classic(cluster)
    cluster.submit()
    cluster.cycle()
    first, second = cluster.submit(priority=200), cluster.submit(priority=100)
    third, own = cluster.submit(), cluster.submit(priority=-100)
    cluster.cycle()
    found = figures(cluster, own)
    assert (found["place"], found["of"], found["before_count"]) == (4, 4, 3)
    assert [(row["id"], row["term"]) for row in found["before"]] == [
        (third, "priority"), (second, "priority"), (first, "priority"),
    ]
    assert found["before"][0]["difference"] == pytest.approx(100 / 2048)
    assert found["changes"] == [{"options": "-p 201", "place": 1, "by": "operator"}]
    later = cluster.submit(priority=-50)
    assert figures(cluster, own)["changes"] == [
        {"options": "-p 0", "place": 4, "by": "owner"},
        {"options": "-p 201", "place": 1, "by": "operator"},
    ]
    again = cluster.submit(priority=0, submit_time=cluster.state.jobs[own].submit_time)
    assert figures(cluster, again)["place"] == 4, "what -p 0 would give"
    assert figures(cluster, later)["place"] == 5


@pytest.mark.statement("PR-1", "PR-3")
def test_urgency_has_a_contribution_of_each_request_the_waiting_time_and_the_deadline() -> None:
    cluster = Cluster()
    classic(cluster, weight_waiting_time="2", weight_deadline="3600000")
    plain = cluster.submit(submit_time=NOW - 100)
    urgent = cluster.submit(submit_time=NOW - 50, deadline=NOW + 3600)
    found = figures(cluster, urgent)
    # slots 1000, 2 x 50 s, 3600000 / 3600 s
    assert found["urgency"]["total"] == 1000 + 100 + 1000
    assert found["urgency"]["texts"] == [
        "slots: 1000 x 1 slots = 1000",
        "waiting time: weight_waiting_time 2 x 50 s = 100",
        "deadline: weight_deadline 3.6e+06 / 3600 s = 1000",
    ]
    assert found["terms"][1]["formula"] == "(2100 - 1200) / (2100 - 1200)"
    assert figures(cluster, plain)["before"][0]["term"] == "urgency"


@pytest.mark.statement("PR-4", "PR-5")
def test_tickets_are_listed_by_policy_with_whose_they_are() -> None:
    cluster = Cluster()
    classic(cluster, weight_tickets_functional="1000", weight_user="1", weight_project="0", weight_department="0", weight_job="0")
    cluster.add("user", "alice", fshare="300", oticket="50")
    cluster.add("user", "bob", fshare="100")
    mine, theirs = cluster.submit(), cluster.submit(owner="bob")
    found = figures(cluster, mine)["tickets"]
    assert (found["override"], found["share"]) == (50, 0)
    assert found["texts"][0] == "override: 50 of user alice 50, divided among the jobs of each (share_override_tickets)"
    assert found["texts"][1].startswith(f"functional: {found['functional']:g} of 1000 (weight_tickets_functional) by shares: ")
    assert "user alice 300 (weight_user 1)" in found["texts"][1]
    assert found["functional"] == 1000, "ranked first, alone so far"
    assert figures(cluster, theirs)["tickets"]["functional"] == 250
    assert figures(cluster, theirs)["terms"][2]["formula"] == "250 / 1050"
    assert figures(cluster, theirs)["before"][0] == {
        "id": mine, "name": "job", "owner": "alice", "priority": figures(cluster, mine)["priority"], "term": "tickets",
        "difference": pytest.approx(0.01 * (1 - 250 / 1050)),
    }


@pytest.mark.statement("PR-6")
def test_share_tree_tickets_are_explained_node_by_node() -> None:
    cluster = Cluster()
    classic(cluster, weight_tickets_share="1000")
    cluster.add("user", "alice")
    cluster.add("user", "bob")
    nodes = "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1,2\n"
    nodes += "id=1\nname=alice\ntype=0\nshares=3\nchildnodes=NONE\nid=2\nname=bob\ntype=0\nshares=1\nchildnodes=NONE\n"
    cluster.apply(ObjectSet("share_tree", "", {"nodes": nodes}))
    mine = cluster.submit()
    cluster.submit(owner="bob")
    texts = figures(cluster, mine)["tickets"]["texts"]
    assert texts[0] == "share tree: 750 of 1000 (weight_tickets_share) at leaf /alice"
    assert texts[-1] == "  /alice: 3 shares, 75.0% of the tree; used 0.0%, so 75.0% now"


def test_a_held_job_takes_no_part() -> None:
    cluster = Cluster()
    held = cluster.submit(holds={1: Ranges.of([1])})
    assert order_of(cluster).of_job(held) is None


@pytest.mark.statement("PR-1")
def test_the_places_are_the_order_in_which_the_scheduler_starts_the_jobs() -> None:
    cluster = Cluster(hosts=1, slots=1)
    classic(cluster)
    cluster.submit()
    cluster.cycle()
    jobs = [cluster.submit(priority=priority) for priority in (-300, 5, 0, 100, 0)]
    cluster.cycle()
    places = sorted(jobs, key=lambda job: figures(cluster, job)["place"])
    begun: list[int] = []
    running = 1
    while len(begun) < len(jobs):
        cluster.end(running)
        (start,) = cluster.cycle().starts
        running = start.job_id
        begun.append(running)
    assert begun == places
