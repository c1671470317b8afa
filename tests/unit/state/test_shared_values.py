"""Equal values of jobs are stored once, from events and snapshots, and a change affects one job alone."""

from __future__ import annotations

from typing import Any

from gridengine.state.events import decode_events, encode_events
from gridengine.state.invariants import invariants
from gridengine.state.jobs import Grant, Job, JobChanges, Task
from gridengine.state.machines.job import HoldsChanged, JobChanged, JobSubmitted
from gridengine.state.machines.task import TaskDispatched
from gridengine.state.shared_values import share_values
from gridengine.state.state import State, decode_snapshot
from gridengine.values.ranges import Ranges
from tests.builders import Cluster

REQUEST: dict[str, Any] = {"hard": {"h_rt": "60", "arch": "lx"}, "cwd": "/home/alice/work", "mail_list": ("alice@h1",)}
SHARED = ("name", "owner", "cwd", "hard", "soft", "mail_list", "context", "pending", "holds", "tasks")


def two(cluster: Cluster) -> list[Job]:
    """Two jobs that differ in nothing but the number, each made of values of its own as a decoder makes them."""
    for _ in range(2):
        data = encode_events([JobSubmitted(cluster.job(**REQUEST))])
        for event in decode_events(data):
            cluster.apply(event)
    first, second = cluster.state.jobs.values()
    return [first, second]


def test_jobs_of_events_share_what_is_equal() -> None:
    first, second = two(Cluster())
    assert all(getattr(first, name) is getattr(second, name) for name in SHARED)


def test_jobs_of_a_snapshot_share_what_is_equal() -> None:
    cluster = Cluster()
    two(cluster)
    first, second = State(decode_snapshot(cluster.state.snapshot())).jobs.values()
    assert all(getattr(first, name) is getattr(second, name) for name in SHARED)


def test_a_changed_job_leaves_the_others_as_they_are() -> None:
    cluster = Cluster()
    first, second = two(cluster)
    cluster.apply(JobChanged(first.id, JobChanges(hard={"h_rt": "90"})))
    assert (cluster.state.jobs[first.id].hard, cluster.state.jobs[second.id].hard) == ({"h_rt": "90"}, REQUEST["hard"])


def test_a_task_and_a_hold_are_of_one_job_alone() -> None:
    cluster = Cluster()
    first, second = two(cluster)
    cluster.apply(TaskDispatched(first.id, 1, 1, [Grant("all.q@h1", 1)], 1.0))
    cluster.apply(HoldsChanged(first.id, Ranges.of([1]), set_holds=1))
    assert [*first.tasks] == [1] and first.holds == {1: Ranges.of([1])}
    assert not second.tasks and not second.holds


def test_a_write_to_the_shared_empty_table_is_found() -> None:
    cluster = Cluster()
    first, _ = two(cluster)
    first.tasks[1] = Task(1)
    try:
        assert any("the empty table that jobs share" in fault for fault in invariants(cluster.state))
    finally:
        first.tasks.clear()


def test_tables_in_another_order_stay_as_they_were_asked_for() -> None:
    jobs = [Job(number, "a", "alice", 1, "users", 1, 1.0) for number in (1, 2)]
    jobs[0].hard, jobs[1].hard = {"a": "1", "b": "2"}, {"b": "2", "a": "1"}
    share_values(jobs)
    assert [list(job.hard) for job in jobs] == [["a", "b"], ["b", "a"]]
