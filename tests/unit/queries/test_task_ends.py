"""DRMAA states and ends of tasks."""

from __future__ import annotations

import pytest

from daemons.qmaster.queries.task_ends import end_of, outcome, state_after, states, usage
from gridengine.state.jobs import Hold
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.machines.task import TaskRequeued, TaskStarted, TaskSuspensionChanged
from gridengine.usage.accounting import FIELDS, AccountingRecord
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster


def record(**fields: str) -> AccountingRecord:
    return AccountingRecord(["0"] * len(FIELDS)).replace(**fields)


@pytest.mark.statement("DM-1")
@pytest.mark.parametrize(
    ("failed", "status", "expected", "state"),
    [
        ("0", "0", ("exited", 0), "done"),
        ("0", "3", ("exited", 3), "done"),
        ("0", "137", ("exited", 137), "done"),
        ("100", "137", ("signaled", 9), "failed"),
        ("37", "137", ("signaled", 9), "failed"),
        ("37", "1", ("exited", 1), "failed"),
        ("15", "2", ("exited", 2), "failed"),
        ("26", "0", ("aborted", 0), "failed"),
        ("11", "1", ("aborted", 0), "failed"),
        ("19", "0", ("unknown", 0), "failed"),
    ],
)
def test_ends_of_tasks(failed: str, status: str, expected: tuple[str, int], state: str) -> None:
    ended = record(failed=failed, exit_status=status)
    assert (outcome(ended), state_after(ended)) == (expected, state)


@pytest.mark.statement("DM-1")
def test_usage_has_the_names_of_the_original_and_four_decimals() -> None:
    texts = usage(record(failed="100", exit_status="139", ru_utime="1.5", cpu="2.25", maxvmem="1024", end_time="1800000000"))
    assert {"signal=11.0000", "ru_utime=1.5000", "cpu=2.2500", "acct_cpu=2.2500", "maxvmem=1024.0000"} <= set(texts)
    assert {"end_time=1800000000.0000", "exit_status=139.0000", "vmem=0.0000"} <= set(texts)


def test_the_task_number_of_a_non_array_job_is_0() -> None:
    line = end_of(record(job_number="12", exit_status="4"))
    assert (line["job"], line["task"], line["state"], line["outcome"], line["status"]) == (12, 0, "done", "exited", 4)


@pytest.mark.statement("DM-3")
def test_states_of_waiting_tasks() -> None:
    cluster = Cluster(1)
    job = cluster.submit()
    after = cluster.submit(predecessors=(job,))
    asked = [(job, 0), (job, 1), (job, 2), (after, 0), (99, 0)]
    assert states(cluster.state, asked) == ["queued_active", "queued_active", "", "system_on_hold", ""]
    cluster.apply(HoldsChanged(job, Ranges.of((1,)), set_holds=Hold.USER))
    assert states(cluster.state, [(job, 1)]) == ["user_on_hold"]
    cluster.apply(HoldsChanged(job, Ranges.of((1,)), set_holds=Hold.OPERATOR))
    assert states(cluster.state, [(job, 1)]) == ["user_system_on_hold"]


@pytest.mark.statement("DM-3")
def test_states_of_tasks_at_a_host() -> None:
    cluster = Cluster(1)
    job = cluster.submit()
    cluster.cycle()
    assert states(cluster.state, [(job, 0)]) == ["running"]
    attempt = cluster.state.jobs[job].tasks[1].attempt
    cluster.apply(TaskStarted(job, 1, attempt, NOW))
    for by, suspended, expected in (
        ("user", True, "user_suspended"),
        ("threshold", True, "user_system_suspended"),
        ("user", False, "system_suspended"),
    ):
        cluster.apply(TaskSuspensionChanged(job, 1, by, suspended))
        assert states(cluster.state, [(job, 0)]) == [expected]
    cluster.apply(TaskRequeued(job, 1, attempt, NOW, error="no such file"))
    assert states(cluster.state, [(job, 0)]) == ["error"]
