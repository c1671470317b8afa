"""qconf -cq: tasks in queue instances are ended at once, each task a single time."""

from __future__ import annotations

import pytest

from tests.harness import Cell
from tests.unit.qmaster.asking import texts


@pytest.mark.statement("QF-36", "QF-14")
def test_operators_may_clean_queues(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    refused = cell.ask("clean_queues", "alice", "h1", queues=["all.q"])
    assert refused.status == 1 and job in cell.state.jobs
    cell.admin("config_add", kind="operator", name="alice")
    assert cell.ask("clean_queues", "alice", "h1", queues=["all.q"]).status == 0
    assert job not in cell.state.jobs


@pytest.mark.statement("QF-14", "AC-1")
def test_a_parallel_job_ends_once_and_what_runs_beside_it_ends_as_well(cell: Cell) -> None:
    cell.add("parallel_environment", "pairs", slots="9", allocation_rule="1")
    cell.configure("cluster_queue", "all.q", pe_list="pairs")
    parallel = cell.submit(pe="pairs", pe_range="3")
    serial = [cell.submit(hard_queues=[f"all.q@{host}"]) for host in cell.names]
    cell.cycle()
    answer = cell.admin("clean_queues", queues=["all.q", "all.q@h*", "all.q@h1"])
    assert texts(answer)[:3] == [f'root@master purged queue "all.q@{host}"' for host in cell.names]
    assert cell.state.jobs == {}
    assert [len(cell.records(job)) for job in (parallel, *serial)] == [1, 1, 1, 1]


@pytest.mark.statement("QF-14")
@pytest.mark.parametrize("expression", ["nosuch", "all.q@nohost", "all.q@(h1"])
def test_an_unmatched_expression_is_reported_and_the_next_queue_is_cleaned(cell: Cell, expression: str) -> None:
    job = cell.submit(hard_queues=["all.q@h1"])
    cell.cycle()
    answer = cell.admin("clean_queues", queues=[expression, "all.q@h1"])
    assert answer.answers == [
        ("error", f'invalid queue or job "{expression}"'),
        ("info", 'root@master purged queue "all.q@h1"'),
    ]
    assert job not in cell.state.jobs
