"""qhold and qrls: levels, task ranges, and the words and exit codes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Cell


def hold(cell: Cell, *targets: object, user: str = "alice", **fields: Any) -> tuple[int, list[str]]:
    answer = cell.ask("hold_jobs", user, targets=[str(target) for target in targets], **fields)
    return answer.status, [text for _, text in answer.answers]


@pytest.mark.statement("SO-49", "AJ-6")
def test_each_task_that_changes_is_named(cell: Cell) -> None:
    job = cell.submit(tasks="1-6")
    assert hold(cell, f"{job}.1-3") == (0, [f"modified hold of job-array task {job}.{task}" for task in (1, 2, 3)])
    assert hold(cell, f"{job}.2:4") == (0, [f"modified hold of job-array task {job}.4"]), "2 and 3 are held already"
    assert hold(cell, f"{job}.1", release=True) == (0, [f"modified hold of job-array task {job}.1"])
    assert hold(cell, job, tasks="9-10") == (0, []), "no such tasks"
    assert str(cell.state.jobs[job].holds[1]) == "2-4:1"
    cell.cycle()
    assert sorted(cell.state.jobs[job].tasks) == [1, 5, 6]


@pytest.mark.statement("SO-49")
def test_a_task_that_is_named_twice_changes_once(cell: Cell) -> None:
    job = cell.submit(tasks="1-3", holds="u")
    expected = [f"modified hold of job-array task {job}.{task}" for task in (2, 3, 1)]
    assert hold(cell, f"{job}.2-3", job, release=True) == (0, expected)


@pytest.mark.statement("SO-49")
def test_a_hold_keeps_a_job_until_it_is_released(cell: Cell) -> None:
    job = cell.submit()
    assert hold(cell, job) == (0, [f"modified hold of job {job}"])
    assert hold(cell, job) == (0, [])
    cell.cycle()
    assert not cell.placed(job)
    assert hold(cell, job, release=True) == (0, [f"modified hold of job {job}"])
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("SO-49")
def test_three_levels_of_rights(cell: Cell) -> None:
    job = cell.submit()
    assert hold(cell, job, holds="s") == (10, ['denied: "alice" must be manager to set manager hold'])
    assert hold(cell, job, holds="o") == (10, ['denied: "alice" must be operator to set operator hold'])
    cell.admin("config_add", kind="operator", name="bob", attributes=[])
    assert hold(cell, job, user="bob", holds="o")[0] == 0
    assert hold(cell, job, user="bob", holds="s")[0] == 10
    assert hold(cell, job, user="root", holds="s")[0] == 0
    assert hold(cell, job, holds="o", release=True) == (10, ['denied: "alice" must be operator to remove operator hold'])
    assert hold(cell, job, holds="s", release=True) == (10, ['denied: "alice" must be manager to remove manager hold'])
    assert hold(cell, job, user="root", holds="os", release=True)[0] == 0
    assert not cell.state.jobs[job].holds


@pytest.mark.statement("SO-49")
def test_a_user_holds_and_releases_only_their_own_jobs(cell: Cell) -> None:
    mine, other = cell.submit(name="x1"), cell.submit("bob", name="x2")
    text = f'denied: "alice" must be at least owner of job {other} to change job attributes'
    assert hold(cell, other) == (18, [text])
    assert hold(cell, "x*") == (0, [f"modified hold of job {mine}"])
    assert hold(cell, users=["alice"], release=True) == (0, [f"modified hold of job {mine}"])
    assert hold(cell, users=["nobody"]) == (3, ["The job * of user(s) nobody does not exist"])
    assert hold(cell, 99, mine) == (3, ['denied: job "99" does not exist', f"modified hold of job {mine}"])


@pytest.mark.statement("AJ-6")
def test_a_large_array_is_held_in_one_line(cell: Cell) -> None:
    job = cell.submit(tasks="1-50000")
    assert hold(cell, job) == (0, [f"modified hold of job-array tasks 1-50000:1 of job {job}"])
    assert len(cell.state.jobs[job].holds[1].runs) == 1


@pytest.mark.statement("SO-13", "SO-49")
def test_operator_holds_at_submission_need_the_right(cell: Cell) -> None:
    assert cell.ask("submit", binary=True, script_file="x", holds="o").status == 1
    job = cell.submit("root", holds="uo")
    assert sorted(cell.state.jobs[job].holds) == [1, 2]


@pytest.mark.statement("SO-49")
def test_codes_that_name_no_hold_are_refused(cell: Cell) -> None:
    job = cell.submit()
    assert hold(cell, job, holds="ux") == (7, ['denied: unknown hold list "ux"'])
    assert not cell.state.jobs[job].holds


@pytest.mark.statement("SO-49")
def test_a_further_hold_keeps_existing_holds(cell: Cell) -> None:
    job = cell.submit(tasks="1-3", holds="u")
    expected = [f"modified hold of job-array task {job}.{task}" for task in (1, 2, 3)]
    assert hold(cell, f"{job}.2", user="root", holds="uo") == (0, expected[1:2])
    assert {kind: str(tasks) for kind, tasks in cell.state.jobs[job].holds.items()} == {1: "1-3:1", 2: "2"}
    assert hold(cell, job, user="root", holds="uo") == (0, [expected[0], expected[2]]), "2 has both already"
    assert hold(cell, f"{job}.1", user="root", holds="so", release=True) == (0, expected[:1]), "it had no system hold"
    assert hold(cell, job, user="root", holds="s", release=True) == (0, [])
    assert {kind: str(tasks) for kind, tasks in cell.state.jobs[job].holds.items()} == {1: "1-3:1", 2: "2,3"}


@pytest.mark.statement("SO-49")
def test_a_refused_job_keeps_no_other_from_being_held(cell: Cell) -> None:
    strange, held, mine = cell.submit("bob"), cell.submit("root", name="r"), cell.submit()
    assert hold(cell, strange, held, mine)[1][2:] == [f"modified hold of job {mine}"]


@pytest.mark.statement("AJ-6")
@pytest.mark.parametrize(("tasks", "lines"), [(1000, 1000), (1001, 1)])
def test_a_thousand_tasks_are_named_one_by_one(cell: Cell, tasks: int, lines: int) -> None:
    assert len(hold(cell, cell.submit(tasks=f"1-{tasks}"))[1]) == lines


@pytest.mark.statement("SO-49", "SO-13")
@pytest.mark.parametrize(
    ("user", "codes", "taken"),
    [("alice", "u", True), ("bob", "o", True), ("bob", "s", False), ("root", "uos", True), ("alice", "o", False)],
)
def test_holds_at_submission_need_the_rights_of_the_user(cell: Cell, user: str, codes: str, taken: bool) -> None:
    cell.admin("config_add", kind="operator", name="bob", attributes=[])
    answer = cell.ask("submit", user, binary=True, script_file="x", holds=codes)
    assert (answer.status == 0) == taken, answer.answers


@pytest.mark.statement("SO-49")
def test_a_hold_of_a_running_job_answers_that_it_runs_on(cell: Cell) -> None:
    running, array, waiting = cell.submit(), cell.submit(tasks="1-3"), cell.submit(hard=["arch=nosuch"])
    cell.cycle()
    hint = f"job {running}, {array} runs on: the hold counts if it is to start again (qmod -sj suspends it)"
    assert hold(cell, running, f"{array}.2", waiting)[1][-1] == hint
    assert hold(cell, running)[1] == [], "it has that hold"
    assert hold(cell, running, release=True) == (0, [f"modified hold of job {running}"])
    assert hold(cell, waiting, release=True)[1] == [f"modified hold of job {waiting}"]
