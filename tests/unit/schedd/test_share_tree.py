"""The share tree policy: the leaf of a job, the division of tickets, and the long-term effect."""

from __future__ import annotations

import pytest

from gridengine.placement.share_tree import ShareTree
from gridengine.state.jobs import Usage
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.machines.usage import UsageCharged
from tests.builders import Cluster

PROJECTS = """id=0
name=Root
type=0
shares=1
childnodes=1,2,5
id=1
name=p1
type=1
shares=75
childnodes=NONE
id=2
name=p2
type=1
shares=25
childnodes=3,4
id=3
name=alice
type=0
shares=4
childnodes=NONE
id=4
name=default
type=0
shares=1
childnodes=NONE
id=5
name=default
type=0
shares=100
childnodes=NONE"""
USERS = """id=0
name=Root
type=0
shares=1
childnodes=1,2
id=1
name=alice
type=0
shares=30
childnodes=NONE
id=2
name=bob
type=0
shares=10
childnodes=NONE"""


def cell(tree: str, slots: int = 0, **scheduler: str) -> Cluster:
    cluster = Cluster(hosts=1, slots=max(slots, 1))
    cluster.queue(slots=str(slots))
    plain = {"weight_ticket": "1", "weight_urgency": "0", "weight_priority": "0", "weight_tickets_share": "1000"}
    cluster.change("scheduler", "", halftime="0", **{**plain, **scheduler})
    for user in ("alice", "bob", "carl"):
        cluster.add("user", user)
    for project in ("p1", "p2", "p3"):
        cluster.add("project", project)
    cluster.apply(ObjectSet("share_tree", "", {"nodes": tree}))
    return cluster


def spend(cluster: Cluster, user: str, project: str, cpu: float) -> None:
    cluster.apply(UsageCharged([(user, project, Usage(cpu=cpu), cluster.now)]))


def shares(cluster: Cluster, *jobs: int) -> list[float]:
    cluster.cycle()
    return [round(cluster.state.tickets[job].share, 2) if job in cluster.state.tickets else 0.0 for job in jobs]


@pytest.mark.statement("PR-6")
def test_shares_divide_the_tickets_among_those_who_have_jobs() -> None:
    cluster = cell(USERS)
    alice = cluster.submit()
    assert shares(cluster, alice) == [1000]
    bob, again = cluster.submit(owner="bob"), cluster.submit()
    assert shares(cluster, alice, again, bob) == [750, 375, 250]
    stranger = cluster.submit(owner="carl")
    assert shares(cluster, stranger) == [0]


@pytest.mark.statement("PR-6")
def test_leaves_of_projects_of_users_in_them_and_of_the_others() -> None:
    cluster = cell(PROJECTS)
    in_leaf = cluster.submit(project="p1", owner="bob")
    own, default = cluster.submit(project="p2"), cluster.submit(project="p2", owner="bob")
    other = cluster.submit(project="p3", owner="carl")
    # Root 75:25:100, in p2 4:1
    assert shares(cluster, in_leaf, own, default, other) == [375, 100, 25, 500]
    # default is a node of its own for each user
    another = cluster.submit(owner="bob")
    assert shares(cluster, in_leaf, other, another) == [250, 333.33, 333.33]


@pytest.mark.statement("PR-6")
@pytest.mark.parametrize(("factor", "expected"), [("1", [714.29, 285.71]), ("2", [555.56, 444.44]), ("5", [500, 500])])
def test_past_usage_is_compensated_within_the_factor(factor: str, expected: list[float]) -> None:
    """Shares are 3:1, used is 9:1: alice gets 5/6 of her share, bob 5/2 of his, but not more than `factor` times it."""
    cluster = cell(USERS, compensation_factor=factor)
    spend(cluster, "alice", "", 9000)
    spend(cluster, "bob", "", 1000)
    alice, bob = cluster.submit(), cluster.submit(owner="bob")
    assert shares(cluster, alice, bob) == expected


@pytest.mark.statement("PR-6", "PR-7")
def test_usage_is_weighted_by_its_kinds() -> None:
    cluster = cell(USERS, usage_weight_list="cpu=0.000000,mem=0.000000,io=1.000000")
    spend(cluster, "alice", "", 1e9)
    alice, bob = cluster.submit(), cluster.submit(owner="bob")
    assert shares(cluster, alice, bob) == [750, 250]


@pytest.mark.statement("PR-6")
def test_running_jobs_have_the_tickets_of_the_leaves_that_run() -> None:
    """Seen on the original: alice 1, bob and carl 6 each by the default leaf; jobs of bob and carl run, others wait."""
    nodes = (("Root", 1, "1,2"), ("alice", 10, "NONE"), ("default", 60, "NONE"))
    tree = "\n".join(f"id={n}\nname={name}\ntype=0\nshares={s}\nchildnodes={c}" for n, (name, s, c) in enumerate(nodes))
    cluster = cell(tree, slots=2, weight_tickets_share="100000")
    owners = ("alice", "bob", "carl", "alice", "bob")
    jobs = [cluster.submit(owner=owner) for owner in owners]
    assert list(map(int, shares(cluster, *jobs))) == [7692, 46153, 46153, 3846, 23076]
    assert list(map(int, shares(cluster, *jobs))) == [7692, 50000, 50000, 3846, 23076]


@pytest.mark.statement("PR-6")
def test_running_jobs_of_one_leaf_divide_its_tickets() -> None:
    cluster = cell(USERS, slots=2, weight_tickets_share="1000")
    jobs = [cluster.submit(), cluster.submit()]
    assert shares(cluster, *jobs) == [1000, 500], "as each would have them that came to run"
    assert shares(cluster, *jobs) == [500, 500]


@pytest.mark.statement("PR-6")
def test_without_a_tree_or_weight_no_job_gets_share_tickets() -> None:
    cluster = cell(USERS, weight_tickets_share="0")
    job = cluster.submit()
    assert shares(cluster, job) == [0]
    cluster.change("scheduler", "", weight_tickets_share="10")
    assert shares(cluster, job) == [10]
    cluster.apply(ObjectRemoved("share_tree", ""))
    assert shares(cluster, job) == [0]


@pytest.mark.statement("PR-14", "PR-6")
def test_in_the_long_run_usage_follows_the_shares() -> None:
    """Two projects with shares 3:1, always enough jobs of both, eight slots, jobs of different lengths: their usage is 3:1."""
    tree = PROJECTS.replace("childnodes=3,4", "childnodes=NONE").replace("childnodes=1,2,5", "childnodes=1,2")
    cluster = cell(tree.partition("id=3")[0].strip(), slots=8)
    used = {"p1": 0.0, "p2": 0.0}
    ends: list[tuple[float, int, str, float]] = []
    serial = 0
    for _ in range(150):
        waiting = [job.project for job in cluster.state.jobs.values() if job.pending]
        for project in used:
            for _ in range(waiting.count(project), 8):
                cluster.submit(project=project)
        for start in cluster.cycle(cluster.now + 10).starts:
            serial += 1
            length = 50.0 + 37 * (serial % 5)
            ends.append((cluster.now + length, start.job_id, cluster.state.jobs[start.job_id].project, length))
        for end in [end for end in ends if end[0] <= cluster.now]:
            ends.remove(end)
            spend(cluster, "alice", end[2], end[3])
            cluster.end(end[1])
            used[end[2]] += end[3]
    assert used["p1"] / used["p2"] == pytest.approx(3.0, rel=0.1)


NESTED = (
    (0, "Root", 0, 1, "1,4,7"), (1, "dept", 0, 60, "2,3"), (2, "p1", 1, 3, "5,6"), (3, "p2", 1, 1, "NONE"),
    (4, "bob", 0, 20, "8,9,10"), (5, "alice", 0, 2, "NONE"), (6, "default", 0, 1, "NONE"), (7, "default", 0, 20, "NONE"),
    (8, "bob", 0, 1, "NONE"), (9, "carl", 0, 1, "NONE"), (10, "p3", 0, 1, "NONE"),
)
"""A department with projects, a group that is called like one of its users, and a user who is called like a project."""


def text_of(nodes: tuple[tuple[int, str, int, int, str], ...]) -> str:
    return "\n".join(
        f"id={number}\nname={name}\ntype={kind}\nshares={shares}\nchildnodes={below}"
        for number, name, kind, shares, below in nodes
    )


@pytest.mark.statement("PR-6", "PR-14")
def test_projects_and_users_are_found_however_deep_they_are() -> None:
    cluster = cell(text_of(NESTED))
    in_project, by_default = cluster.submit(project="p1"), cluster.submit(project="p1", owner="bob")
    project = cluster.submit(project="p2", owner="bob")
    grouped, besides = cluster.submit(owner="bob"), cluster.submit(owner="carl")
    outside, not_in_tree = cluster.submit(), cluster.submit(project="p3")
    found = shares(cluster, in_project, by_default, project, grouped, besides, outside, not_in_tree)
    assert found == [300, 150, 150, 100, 100, 200, 100]


@pytest.mark.statement("PR-6")
def test_nodes_without_any_shares_are_equal() -> None:
    cluster = cell(USERS.replace("shares=30", "shares=0").replace("shares=10", "shares=0"))
    alice, bob = cluster.submit(), cluster.submit(owner="bob")
    assert shares(cluster, alice, bob) == [500, 500]


@pytest.mark.statement("PR-6")
def test_without_a_compensation_factor_those_who_have_used_nothing_get_nearly_all() -> None:
    cluster = cell(USERS, compensation_factor="0")
    spend(cluster, "alice", "", 9000)
    alice, bob = cluster.submit(), cluster.submit(owner="bob")
    assert shares(cluster, alice, bob) == [0, 1000]
    spend(cluster, "bob", "", 1000)
    # alice has 9/10 of the usage and 3/4 of the shares: 0.75 * 0.75/0.9 to 0.25 * 0.25/0.1
    assert shares(cluster, alice, bob) == [500, 500]


@pytest.mark.statement("PR-6")
def test_usage_counts_at_every_node_in_use_on_the_way_to_its_leaf() -> None:
    cluster = cell(PROJECTS, compensation_factor="10")
    spend(cluster, "alice", "p2", 600)
    spend(cluster, "bob", "p2", 400)
    spend(cluster, "carl", "p3", 1e9)
    leaf, own = cluster.submit(project="p1", owner="bob"), cluster.submit(project="p2")
    # p1 has used nothing: 0.75 * 10; p2 all that counts: 0.25 * 0.25
    assert shares(cluster, leaf, own) == [991.74, 8.26]
    spend(cluster, "bob", "p1", 3000)
    assert shares(cluster, leaf, own) == [750, 250], "3000 to 1000: also what bob has used of p2 is of that project"


WITHIN = ((0, "Root", 0, 1, "1,4,5"), (1, "p1", 1, 30, "2"), (2, "p2", 1, 1, "3"), (3, "alice", 0, 1, "NONE"))
WITHIN += ((4, "bob", 1, 10, "NONE"), (5, "default", 0, 60, "NONE"))
"""A project inside of a project, and a project that is called like a user."""


@pytest.mark.statement("PR-6", "PR-14")
def test_projects_inside_of_projects_are_found_and_none_stands_for_a_user_of_its_name() -> None:
    cluster = cell(text_of(WITHIN))
    tree = ShareTree(cluster.state, [cluster.job(owner="bob")], cluster.now)
    assert tree.leaf_of("alice", "p1") == tree.leaf_of("alice", "p2") == ("p1", "p2", "alice")
    assert tree.leaf_of("bob", "p2") == ()
    assert tree.leaf_of("alice", "") == ("alice",), "users of projects have another leaf outside"
    assert tree.top.below["bob"].shares == 60, "those of default"


@pytest.mark.statement("PR-6", "PR-11")
def test_targets_and_usage_of_each_active_node() -> None:
    cluster = cell(USERS.replace("shares=30", "shares=0").replace("shares=10", "shares=0"))
    jobs = [cluster.state.jobs[cluster.submit(owner=owner)] for owner in ("alice", "alice", "bob", "carl")]
    spend(cluster, "alice", "", 3000)
    top = ShareTree(cluster.state, jobs, cluster.now).top
    assert [(name, place.jobs, place.long_target) for name, place in top.below.items()] == [("alice", 2, 0.5), ("bob", 1, 0.5)]
    assert (top.jobs, top.long_target, top.short_target) == (3, 1, 1), "one whose owner has no leaf does not count"
    assert [place.used > 0 for place in top.below.values()] == [True, False]
