"""The effects of a change of the configuration on the cell as it is now."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from daemons.forecast.change import ChangeEffects
from daemons.forecast.copies import OnCopy, Reached
from daemons.forecast.run_times import RunTimes
from gridengine.config import KINDS
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.parts import whole_state
from gridengine.state.state import State
from tests.builders import NOW, Cluster
from tests.forecasts import basis, copies_of


def effects(cluster: Cluster, *events: Any, starts: bool = False) -> dict[str, Any]:
    before = cluster.state.snapshot()
    effects = ChangeEffects(lambda: whole_state(cluster.parts()), events, basis(RunTimes([]), cluster.now))
    found = effects.all(copies_of if starts else None)
    assert cluster.state.snapshot() == before
    return found


def setting(cluster: Cluster, kind: str, name: str, **attributes: str) -> ObjectSet:
    """A change of attributes of an object, or a new object."""
    text = cluster.state.kind(kind).get(name) or KINDS[kind].template(name).attributes()
    assert attributes.keys() <= text.keys()
    return ObjectSet(kind, name, {**text, **attributes})


def changed(data: dict[str, Any]) -> set[str]:
    """The kinds of effects that there are."""
    return {kind for kind, listed in data.items() if isinstance(listed, dict) and listed["count"]}


def ids(listed: dict[str, Any]) -> list[int]:
    return [row["id"] for row in listed["first"]]


def test_a_change_without_effects_has_none() -> None:
    cluster = Cluster()
    cluster.submit()
    data = effects(cluster, setting(cluster, "scheduler", "", schedule_interval="0:0:20"), starts=True)
    assert (changed(data), data["pending"], data["examined"]) == (set(), 1, 1)


@pytest.mark.statement("PR-1", "SC-8")
def test_a_weight_that_reverses_the_order_moves_places_and_expected_starts() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.complex("gpu INT <= YES YES 0 1000")
    cluster.values("h1", "gpu=1")
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    urgent = cluster.submit(hard={"h_rt": "60", "gpu": "1"}, priority=-100)
    plain = cluster.submit(hard={"h_rt": "60"})
    data = effects(cluster, setting(cluster, "scheduler", "", weight_urgency="0"), starts=True)
    assert changed(data) == {"order", "expected"}
    assert [(row["id"], row["before"], row["after"]) for row in data["order"]["first"]] == [(plain, 2, 1), (urgent, 1, 2)]
    starts = {row["id"]: (row["before"]["earliest"] - NOW, row["after"]["earliest"] - NOW) for row in data["expected"]["first"]}
    assert starts == {plain: (160, 100), urgent: (100, 160)}
    assert "expected" not in effects(cluster)


def test_runs_that_reach_no_start_and_end_at_other_times_are_no_difference() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    cluster.submit(hard={"h_rt": "60"})
    ends = count(NOW)

    def unfinished(state: State) -> OnCopy:
        return lambda work: lambda: Reached({}, next(ends), False, 0)

    events = (setting(cluster, "scheduler", "", weight_urgency="0"),)
    found = ChangeEffects(lambda: whole_state(cluster.parts()), events, basis(RunTimes([]), cluster.now)).all(unfinished)
    assert next(ends) > NOW, "runs were made"
    assert found["expected"] == {"count": 0, "first": []}


@pytest.mark.statement("HG-8", "QI-13")
def test_hosts_that_leave_a_queue_orphan_tasks_and_keep_jobs_from_starting() -> None:
    cluster = Cluster(hosts=2, slots=1)
    running = cluster.submit(hard_queues=("*@h2",))
    cluster.cycle()
    here, there = cluster.submit(hard_queues=("*@h1",)), cluster.submit(hard_queues=("*@h2",))
    data = effects(cluster, setting(cluster, "host_group", "@allhosts", hostlist="h1"))
    assert changed(data) == {"instances", "running", "impossible"}
    assert data["instances"]["first"] == [{"before": "", "after": "o", "count": 1, "names": ["all.q@h2"], "tasks": 1}]
    (task,) = data["running"]["first"]
    assert (task["id"], task["before"], task["after"]) == (running, "r", "r")
    assert task["text"] == "queue instance all.q@h2 leaves the configuration, the task goes on"
    (row,) = data["impossible"]["first"]
    assert row["id"] == there and 'queue instance "all.q@h2" dropped because it is orphaned' in row["text"]
    assert here not in ids(data["impossible"])


def test_a_host_that_is_added_makes_jobs_possible() -> None:
    cluster = Cluster(hosts=2, slots=1)
    cluster.change("host_group", "@allhosts", hostlist="h1")
    waiting = cluster.submit(hard_queues=("*@h2",))
    data = effects(cluster, setting(cluster, "host_group", "@allhosts", hostlist="h1 h2"))
    assert changed(data) == {"instances", "starting", "possible"}
    assert data["instances"]["first"][0] | {"names": []} == {"before": None, "after": "", "count": 1, "names": [], "tasks": 0}
    assert (ids(data["starting"]), ids(data["possible"])) == ([waiting], [waiting])


def test_a_job_that_would_start_now_and_waits_with_the_change_has_the_cause() -> None:
    cluster = Cluster(hosts=1, slots=2)
    job = cluster.submit(array="1-2")
    data = effects(cluster, setting(cluster, "cluster_queue", "all.q", slots="1"))
    (row,) = data["waiting"]["first"]
    assert (row["id"], row["before"], row["after"]) == (job, 2, 1)
    other = effects(cluster, setting(cluster, "resource_quota", "none", enabled="TRUE", limit="users {*} to slots=0"))
    assert "exceeds limit" in other["waiting"]["first"][0]["text"]


@pytest.mark.statement("CA-2", "SU-1")
def test_consequences_by_rule_count_calendars_and_subordination() -> None:
    cluster = Cluster(hosts=1, slots=2)
    cluster.queue("low.q", slots="2")
    running = cluster.submit(hard_queues=("low.q",))
    cluster.submit(hard_queues=("all.q",))
    cluster.cycle()
    above = setting(cluster, "cluster_queue", "all.q", subordinate_list="low.q=1")
    data = effects(cluster, above)
    assert data["instances"]["first"] == [{"before": "", "after": "S", "count": 1, "names": ["low.q@h1"], "tasks": 1}]
    assert [(row["id"], row["before"], row["after"]) for row in data["running"]["first"]] == [(running, "r", "S")]
    always_off = setting(cluster, "calendar", "closed", week="mon-sun=0-24=off")
    data = effects(cluster, always_off, setting(cluster, "cluster_queue", "low.q", calendar="closed"))
    assert [(row["before"], row["after"]) for row in data["instances"]["first"]] == [("", "D")]


def test_a_task_that_runs_where_it_no_longer_could_is_named_with_the_reason() -> None:
    cluster = Cluster(hosts=1)
    running = cluster.submit()
    cluster.cycle()
    closed = setting(cluster, "userset", "others", entries="bob", type="ACL")
    data = effects(cluster, closed, setting(cluster, "cluster_queue", "all.q", user_lists="others"))
    assert changed(data) == {"running"}
    assert ids(data["running"]) == [running] and "has no permission" in data["running"]["first"][0]["text"]


@pytest.mark.statement("SC-7")
def test_a_reserved_start_moves() -> None:
    cluster = Cluster(hosts=1, slots=2)
    cluster.change("scheduler", "", max_reservation="5", params="DURATION_OFFSET=0")
    cluster.pe("two", "$fill_up")
    cluster.queue(pe_list="two")
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    wide = cluster.submit(pe="two", pe_range="2", reserve=True, hard={"h_rt": "50"})
    data = effects(cluster, setting(cluster, "scheduler", "", max_reservation="0"))
    assert [(row["id"], row["before"] - NOW, row["after"]) for row in data["planned"]["first"]] == [(wide, 100, 0)]


def test_long_lists_are_counted_and_bounded() -> None:
    cluster = Cluster(hosts=1, slots=1)
    for number in range(30):
        cluster.submit(hard={"h_rt": str(number + 1)})
    data = effects(cluster, ObjectRemoved("cluster_queue", "all.q"), InstanceFlagsChanged([], {}))
    assert (data["impossible"]["count"], len(data["impossible"]["first"])) == (30, 10)
    assert data["instances"]["first"][0]["after"] is None
