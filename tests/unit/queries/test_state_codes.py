"""State codes and their order, for tasks and for queue instances. The orders of the codes come from the real 8.1.9."""

from __future__ import annotations

import pytest

from gridengine.state.jobs import Grant, Hold, Job, Task
from gridengine.state.state_codes import instance_state_codes, pending_groups, pending_state_codes, running_state_codes
from gridengine.values.ranges import Ranges
from tests.builders import Cluster


def pending(cluster: Cluster, job: Job, **fields: object) -> str:
    return pending_state_codes(cluster.state, job, 1, Task(1, **fields) if fields else None)  # type: ignore[arg-type]


@pytest.mark.statement("ST-32")
def test_pending_tasks() -> None:
    cluster = Cluster()
    job = cluster.job()
    assert pending(cluster, job) == "qw"
    assert pending(cluster, job, error="no shell") == "Eqw"
    assert pending(cluster, job, restarts=1) == "Rq"
    job.holds = {Hold.USER.value: Ranges.of([1])}
    assert pending(cluster, job) == "hqw"
    assert pending(cluster, job, error="no shell") == "Ehqw"
    assert pending(cluster, job, restarts=1) == "hRq"
    assert pending(cluster, job, restarts=1, error="x") == "EhRq"


@pytest.mark.statement("ST-32", "DP-2", "DP-4")
def test_dependencies_are_holds() -> None:
    cluster = Cluster()
    first = cluster.submit(array="1-4")
    job = cluster.job(predecessors=[first])
    assert pending(cluster, job) == "hqw"
    later = cluster.job(array="1-8", array_predecessors=[first])
    assert [(state_codes, str(tasks)) for state_codes, tasks in pending_groups(cluster.state, later)] == [
        ("hqw", "1-4:1"),
        ("qw", "5-8:1"),
    ]


@pytest.mark.statement("ST-17")
def test_pending_tasks_in_groups() -> None:
    cluster = Cluster()
    job = cluster.job(array="1-1000000", holds={Hold.USER.value: Ranges.parse("10-20")})
    job.tasks = {5: Task(5, error="x"), 7: Task(7, restarts=1), 8: Task(8, "running")}
    job.pending = job.pending - Ranges.of([5, 7, 8])
    assert [(state_codes, str(tasks)) for state_codes, tasks in pending_groups(cluster.state, job)] == [
        ("qw", "1-4:1,6,9,21-1000000:1"),
        ("Eqw", "5"),
        ("Rq", "7"),
        ("hqw", "10-20:1"),
    ]


@pytest.mark.statement("ST-17")
def test_pending_tasks_of_different_holds_are_apart() -> None:
    cluster = Cluster()
    system, user, operator = Ranges.parse("2-3"), Ranges.parse("1-6"), Ranges.parse("3-4")
    holds = {Hold.SYSTEM.value: system, Hold.USER.value: user, Hold.OPERATOR.value: operator}
    job = cluster.job(array="1-8", holds=holds)
    assert [(state_codes, str(tasks)) for state_codes, tasks in pending_groups(cluster.state, job)] == [
        ("qw", "7,8"),
        ("hqw", "1,5,6"),
        ("hqw", "4"),
        ("hqw", "2"),
        ("hqw", "3"),
    ]


@pytest.mark.statement("ST-32", "QM-4", "QI-6", "QI-7", "QI-8")
@pytest.mark.parametrize(
    ("task", "queue", "held", "state_codes"),
    [
        ({}, {}, False, "r"),
        ({"status": "transferring"}, {}, False, "t"),
        ({"status": "transferring", "restarts": 1, "conditions": {"deleted": "x", "suspended": ""}}, {}, True, "dhRt"),
        ({"restarts": 1}, {}, False, "Rr"),
        ({"conditions": {"suspended": ""}}, {}, False, "s"),
        ({"conditions": {"threshold_suspended": ""}}, {}, False, "T"),
        ({}, {"suspended": True}, False, "S"),
        ({}, {"subordinated": True}, False, "S"),
        ({}, {"calendar_suspended": True}, False, "S"),
        ({"conditions": {"suspended": ""}}, {"suspended": True}, False, "Ss"),
        ({"conditions": {"deleted": "alice"}}, {}, False, "dr"),
        ({"conditions": {"suspended": "", "deleted": "alice"}, "restarts": 1}, {}, False, "dRs"),
        ({}, {}, True, "hr"),
        ({}, {"disabled": True}, False, "r"),
    ],
)
def test_tasks_at_a_host(task: dict, queue: dict, held: bool, state_codes: str) -> None:  # type: ignore[type-arg]
    cluster = Cluster()
    for name, value in queue.items():
        setattr(cluster.state.instances["all.q@h1"], name, value)
    job = cluster.job(holds={Hold.USER.value: Ranges.of([1])} if held else {})
    shown = Task(1, **{"status": "running", **task}, granted=[Grant("all.q@h1", 1)])
    assert running_state_codes(cluster.state, job, shown) == state_codes


@pytest.mark.statement("QI-12", "QI-3", "QI-4", "QI-5", "QI-10", "QI-11")
def test_queue_instances() -> None:
    cluster = Cluster()
    instance = cluster.state.instances["all.q@h1"]
    assert instance_state_codes(cluster.state, instance) == ""
    assert instance_state_codes(cluster.state, instance, alarm=True) == "a"
    for name in ("disabled", "suspended", "calendar_disabled", "calendar_suspended", "subordinated", "orphaned"):
        setattr(instance, name, True)
    instance.errors.append("prolog failed")
    cluster.state.ambiguous["all.q@h1"] = []
    cluster.state.hosts["h1"].up = False
    assert instance_state_codes(cluster.state, instance, True, True) == "aACDduESsco"
