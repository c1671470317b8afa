"""-hold_jid and its relatives: the dependencies, and the fate of jobs that can never run."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.placement.pending import ready_tasks
from gridengine.protocols.delivery import Load
from gridengine.state.state_codes import pending_groups
from tests.harness import LOAD, Cell


def refusal(cell: Cell, **fields: Any) -> str:
    answer = cell.ask("submit", **{"binary": True, "script_file": "x", **fields})
    assert answer.status == 1
    return answer.answers[0][1]


def ready(cell: Cell, job: int) -> list[int]:
    return [task_id for task_id, _ in ready_tasks(cell.state, cell.state.jobs[job], cell.now)]


def mails(cell: Cell, job: int) -> list[tuple[str, str]]:
    return [(each, str(tasks)) for each, tasks in pending_groups(cell.state, cell.state.jobs[job])]


@pytest.mark.statement("DP-1", "DP-3")
def test_names_mean_own_jobs_and_are_resolved_once(cell: Cell) -> None:
    first, _ = cell.submit(name="prep1"), cell.submit("bob", name="prep2")
    job = cell.submit(hold_jid=["prep*", "99", "nosuch"])
    cell.submit(name="prep3")
    assert cell.state.jobs[job].predecessors == (first,)
    assert cell.state.jobs[job].predecessors_requested == ("prep*", "99", "nosuch")


@pytest.mark.statement("DP-2")
@pytest.mark.parametrize("exit_status", [0, 1, 137])
def test_any_end_of_the_predecessor_releases(cell: Cell, exit_status: int) -> None:
    first = cell.submit()
    job = cell.submit(hold_jid=[str(first)])
    cell.cycle()
    assert mails(cell, job) == [("hqw", "1")]
    cell.end(first, exit_status=exit_status)
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("DP-2")
def test_exit_100_keeps_holding_until_the_error_is_cleared_and_the_job_ends(cell: Cell) -> None:
    first = cell.submit()
    job = cell.submit(hold_jid=[str(first)])
    cell.cycle()
    cell.end(first, exit_status=100, failed=30)
    cell.cycle()
    assert mails(cell, job) == [("hqw", "1")]
    cell.admin("change_states", action="clear", what="job", targets=[str(first)])
    cell.cycle()
    cell.end(first)
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("DP-2")
def test_deletion_of_the_predecessor_releases_too(cell: Cell) -> None:
    first = cell.submit(holds="u")
    job = cell.submit(hold_jid=[str(first)])
    cell.ask("delete_jobs", targets=[str(first)])
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("DP-2", "SB-8")
def test_a_number_that_is_used_again_does_not_hold(cell: Cell) -> None:
    first = cell.submit()
    job = cell.submit(hold_jid=[str(first)], holds="u")
    cell.cycle()
    cell.end(first)
    cell.state.next_job_id = first
    assert cell.submit() == first
    assert cell.state.waits_for(cell.state.jobs[job]) == []


@pytest.mark.statement("DP-4")
def test_array_dependency_task_by_task(cell: Cell) -> None:
    first = cell.submit(tasks="1-3")
    job = cell.submit(tasks="1-3", hold_jid_ad=[str(first)])
    cell.cycle()
    assert mails(cell, job) == [("hqw", "1-3:1")]
    cell.end(first, 2)
    assert ready(cell, job) == [2]
    assert mails(cell, job) == [("hqw", "1,3"), ("qw", "2")]
    cell.cycle()
    assert cell.placed(job, 2)


@pytest.mark.statement("DP-4")
@pytest.mark.parametrize(
    ("before", "after", "ended", "expected"),
    [
        ("1-4", "1-4:2", [1, 2], [1]),
        ("1-4", "1-4:2", [1, 3], []),
        ("1-6:2", "1-6", [3], [3, 4]),
        ("1-6:2", "1-6:3", [1], []),
        ("1-6:2", "1-6:3", [1, 3], [1]),
        ("1-6:2", "1-6:3", [3, 5], [4]),
        ("2-9:3", "2-9:2", [2, 5], [2, 4, 6]),
    ],
)
def test_array_dependency_with_different_steps(
    cell: Cell, before: str, after: str, ended: list[int], expected: list[int]
) -> None:
    first = cell.submit(tasks=before, holds="u")
    job = cell.submit(tasks=after, hold_jid_ad=[str(first)])
    assert ready(cell, job) == []
    cell.ask("delete_jobs", targets=[f"{first}.{task}" for task in ended])
    assert ready(cell, job) == expected
    held = {task for group, tasks in pending_groups(cell.state, cell.state.jobs[job]) if "h" in group for task in tasks}
    assert held == set(cell.state.jobs[job].array) - set(expected), "what qstat shows is what the scheduler does"


@pytest.mark.statement("DP-4")
def test_unequal_ranges_and_serial_jobs_are_refused(cell: Cell) -> None:
    array, serial = cell.submit(tasks="1-4"), cell.submit()
    assert "same range" in refusal(cell, tasks="1-6", hold_jid_ad=[str(array)])
    assert "array jobs" in refusal(cell, hold_jid_ad=[str(array)])
    assert "array jobs" in refusal(cell, tasks="1-4", hold_jid_ad=[str(serial)])
    assert cell.submit(tasks="1-4", hold_jid_ad=["99", "nosuch"]), "ended and unknown jobs do not count (DP-3)"
    job = cell.submit(tasks="1-4:3", hold_jid_ad=[str(array)])
    assert cell.state.jobs[job].task_range == (1, 4, 3)


@pytest.mark.statement("DP-4")
def test_array_dependency_of_a_million_tasks_stays_small(cell: Cell) -> None:
    cell.configure("configuration", "global", max_aj_tasks="0")
    first = cell.submit(tasks="1-1000000", holds="u")
    job = cell.submit(tasks="1-1000000:2", hold_jid_ad=[str(first)])
    cell.ask("delete_jobs", targets=[f"{first}.1-2"])
    assert next(ready_tasks(cell.state, cell.state.jobs[job], cell.now))[0] == 1
    assert mails(cell, job) == [("qw", "1"), ("hqw", "3-999999:2")]


@pytest.mark.statement("DP-2")
@pytest.mark.parametrize(("option", "exit_status"), [("hold_jid_ok", 0), ("hold_jid_fail", 3)])
def test_a_condition_that_is_met_releases(cell: Cell, option: str, exit_status: int) -> None:
    first = cell.submit()
    job = cell.submit(**{option: [str(first)]})
    cell.cycle()
    assert mails(cell, job) == [("hqw", "1")]
    cell.end(first, exit_status=exit_status)
    cell.master.tick()
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("DP-2")
@pytest.mark.parametrize(("option", "exit_status"), [("hold_jid_ok", 1), ("hold_jid_fail", 0)])
def test_a_job_that_can_never_run_is_ended_with_a_record(cell: Cell, option: str, exit_status: int) -> None:
    first = cell.submit()
    job = cell.submit(**{option: [str(first)]})
    after, cleanup = cell.submit(hold_jid_ok=[str(job)]), cell.submit(hold_jid_fail=[str(job)])
    cell.cycle()
    cell.end(first, exit_status=exit_status)
    cell.restart()
    for host in cell.names:
        cell.report(host, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    cell.cycle()
    assert not cell.placed(job), "it must not slip through before it is ended"
    cell.master.tick()
    cell.master.flush()
    assert job not in cell.state.jobs
    assert cell.records(job)[0].failed == "37"
    cell.master.tick()
    cell.cycle()
    assert after not in cell.state.jobs, "what needed it cannot run either"
    assert cell.placed(cleanup)


@pytest.mark.statement("DP-2")
def test_success_of_an_array_is_that_of_all_tasks(cell: Cell) -> None:
    first = cell.submit(tasks="1-3")
    job = cell.submit(hold_jid_ok=[str(first)])
    cell.cycle()
    for task in (1, 2, 3):
        cell.end(first, task, exit_status=int(task == 2))
    assert cell.state.jobs[job].doomed == f"job {first} had to succeed but failed"


def test_a_smaller_number_of_finished_jobs_holds_at_once(cell: Cell) -> None:
    jobs = [cell.submit() for _ in range(3)]
    cell.cycle()
    for job in jobs:
        cell.end(job)
    assert [each.id for each in cell.state.finished] == jobs
    cell.configure("configuration", "global", finished_jobs="1")
    assert [each.id for each in cell.state.finished] == jobs[-1:]


@pytest.mark.statement("DP-3")
def test_conditions_on_jobs_that_have_ended(cell: Cell) -> None:
    good, bad = cell.submit(), cell.submit()
    cell.cycle()
    cell.end(good)
    cell.end(bad, exit_status=1)
    cell.configure("configuration", "global", finished_jobs="0")
    assert cell.state.jobs[cell.submit(hold_jid_ok=[str(good)])].predecessors == ()
    assert "could never run" in refusal(cell, hold_jid_ok=[str(bad)])
    assert "could never run" in refusal(cell, hold_jid_fail=[str(good)])
    assert "unknown" in refusal(cell, hold_jid_ok=["77"])


@pytest.mark.statement("DP-5", "DP-6")
def test_conditions_can_be_taken_off(cell: Cell) -> None:
    first, other = cell.submit(), cell.submit()
    job = cell.submit(hold_jid_ok=[str(first)], hold_jid=[str(other)])
    cell.ask("alter_jobs", targets=[str(job)], changes={"hold_jid_ok": []})
    assert cell.state.jobs[job].predecessors == (other,)
    assert cell.state.jobs[job].conditions == {}


@pytest.mark.statement("DP-4", "DP-5")
def test_an_array_must_not_wait_for_itself_by_way_of_another(cell: Cell) -> None:
    first = cell.submit(tasks="1-2")
    second = cell.submit(tasks="1-2", hold_jid_ad=[str(first)])
    third = cell.submit(hold_jid=[str(second)])
    change = lambda job, **lists: cell.ask("alter_jobs", targets=[str(job)], changes=lists).answers[0][1]  # noqa: E731
    for lists in ({"hold_jid_ad": [str(second)]}, {"hold_jid": [str(third)]}, {"hold_jid_ad": [str(first)]}):
        assert change(first, **lists) == f"denied: job {first} would wait for itself"
    assert change(third, hold_jid=[str(second), str(first)]).startswith("modified")


@pytest.mark.statement("DP-1", "DP-2")
def test_a_job_in_two_lists_is_waited_for_once(cell: Cell) -> None:
    first = cell.submit()
    job = cell.submit(hold_jid=[str(first)], hold_jid_ok=[str(first)])
    assert (cell.state.jobs[job].predecessors, cell.state.jobs[job].conditions) == ((first,), {first: "ok"})


@pytest.mark.statement("DP-5")
def test_many_ways_to_one_job_are_gone_once(cell: Cell) -> None:
    """Two predecessors at each of forty steps are a million million paths from the last job to the first."""
    first = before = cell.submit(holds="u")
    for _ in range(40):
        pair = [cell.submit(hold_jid=[str(before)]) for _ in range(2)]
        before = cell.submit(hold_jid=[str(job) for job in pair])
    last = cell.submit(holds="u")
    answer = cell.ask("alter_jobs", targets=[str(last)], changes={"hold_jid": [str(before)]})
    assert answer.status == 0
    answer = cell.ask("alter_jobs", targets=[str(first)], changes={"hold_jid": [str(last)]})
    assert answer.answers == [("error", f"denied: job {first} would wait for itself")]
