"""Equal values of jobs are stored once, from events and snapshots, and a change affects one job alone."""

from __future__ import annotations

from typing import Any

from gridengine.state.events import decode_events, encode_events
from gridengine.state.jobs import Job, JobChanges
from gridengine.state.machines.job import JobChanged, JobSubmitted
from gridengine.state.shared_values import share_values
from gridengine.state.state import State, decode_snapshot
from tests.builders import Cluster

REQUEST: dict[str, Any] = {"hard": {"h_rt": "60", "arch": "lx"}, "cwd": "/home/alice/work", "mail_list": ("alice@h1",)}
SHARED = ("name", "owner", "cwd", "hard", "soft", "mail_list", "context", "pending")


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
    assert first.tasks is not second.tasks and first.holds is not second.holds, "these change with their job"


def test_a_changed_job_leaves_the_others_as_they_are() -> None:
    cluster = Cluster()
    first, second = two(cluster)
    cluster.apply(JobChanged(first.id, JobChanges(hard={"h_rt": "90"})))
    assert (cluster.state.jobs[first.id].hard, cluster.state.jobs[second.id].hard) == ({"h_rt": "90"}, REQUEST["hard"])


def test_tables_in_another_order_stay_as_they_were_asked_for() -> None:
    jobs = [Job(number, "a", "alice", 1, "users", 1, 1.0) for number in (1, 2)]
    jobs[0].hard, jobs[1].hard = {"a": "1", "b": "2"}, {"b": "2", "a": "1"}
    share_values(jobs)
    assert [list(job.hard) for job in jobs] == [["a", "b"], ["b", "a"]]
