"""qmod: its answers, and its effects on tasks and queue instances, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Cell


@pytest.mark.statement("QM-7", "QM-10")
@pytest.mark.parametrize(
    ("target", "action", "user", "expected"),
    [
        ("{job}", "suspend", "alice", [("info", "alice - suspended job-array task {job}.1")]),
        ("{job}.1", "unsuspend", "alice", [("info", "alice - job-array task {job}.1 is already unsuspended")]),
        (
            "{job}.3", "suspend", "alice",
            [("info", "Modify operation can not be applied on job-array task {job}.3 in pending/hold state")],
        ),
        (
            "{job}.3-4", "suspend", "alice",
            [("info", "Modify operation can not be applied on job {job} in pending/hold state")],
        ),
        ("{job}.9", "suspend", "alice", [("error", 'invalid queue or job "{job}.9"')]),
        ("{job}", "clear", "alice", [("error", "Job {job} is not in error state")]),
        ("{job}", "clear", "bob", [("error", 'bob - you do not have the necessary privileges to modify the job "{job}"')]),
        (
            "{job}", "reschedule", "alice",
            [
                ("error", 'alice - you do not have the necessary privileges to modify the job "{job}"'),
                ("hint", "only operators reschedule jobs: ask one (qconf -so), or submit a copy (qresub)"),
            ],
        ),
        ("{job}", "suspend", "bob", [("error", 'bob - you do not have the necessary privileges to modify the job "{job}"')]),
        ("{job}", "clear", "root", [("error", "Job {job} is not in error state")]),
        ("{job}.1", "reschedule", "root", [("info", "root - pushed rescheduling of job-array task {job}.1 on host {host}")]),
        ("99", "suspend", "root", [("error", 'invalid queue or job "99"')]),
    ],
)
def test_qmod_answers_for_tasks(cell: Cell, target: str, action: str, user: str, expected: list[tuple[str, str]]) -> None:
    job = cell.submit(tasks="1-4", task_concurrency=1, rerun=True)
    cell.cycle()
    names = {"job": job, "host": cell.running[(job, 1, 1)]}
    answer = cell.ask("change_states", user, targets=[target.format(**names)], action=action, what="job")
    assert answer.answers == [(level, text.format(**names)) for level, text in expected]


@pytest.mark.statement("QM-10")
@pytest.mark.parametrize(("tasks", "named"), [("3-3", "job-array task 1.3"), ("3-5", "job 1")])
def test_an_array_of_which_nothing_runs_is_named_by_its_one_task_or_as_a_job(cell: Cell, tasks: str, named: str) -> None:
    assert cell.submit(tasks=tasks, holds="u") == 1
    answer = cell.ask("change_states", targets=["1"], action="suspend", what="job")
    assert answer.answers == [("info", f"Modify operation can not be applied on {named} in pending/hold state")]


@pytest.mark.statement("QM-10", "QM-7")
def test_only_tasks_that_are_named_or_run_are_suspended(cell: Cell) -> None:
    job = cell.submit(tasks="1-4", task_concurrency=3)
    cell.cycle()
    cell.ask("change_states", targets=[f"{job}.1-2"], action="suspend", what="job")
    answer = cell.ask("change_states", targets=[str(job)], action="suspend", what="job")
    assert [text for _, text in answer.answers] == [
        f"alice - job-array task {job}.1 is already suspended",
        f"alice - job-array task {job}.2 is already suspended",
        f"alice - suspended job-array task {job}.3",
    ]


@pytest.mark.statement("QM-11", "EX-4")
def test_errors_of_single_tasks_are_cleared_alone_or_together(cell: Cell) -> None:
    job = cell.submit(tasks="1-3")
    cell.cycle()
    for task in (1, 2, 3):
        cell.end(job, task, exit_status=100, failed=30)
    clear = lambda target: cell.admin("change_states", targets=[target], action="clear", what="job").answers  # noqa: E731
    cleared = [("info", f"root@master cleared error state of job-array task {job}.{task}") for task in (1, 2, 3)]
    assert clear(f"{job}.2") == cleared[1:2]
    assert clear(str(job)) == [cleared[0], cleared[2]]
    assert clear(str(job)) == [("error", f"Job {job} is not in error state")]


@pytest.mark.statement("QM-5", "QM-6", "QI-4")
@pytest.mark.parametrize(
    ("action", "user", "expected"),
    [
        ("disable", "alice", 'alice@h1 changed state of "all.q@h1" (disabled)'),
        ("enable", "alice", 'Queue instance "all.q@h1" is already in the specified state: enabled'),
        ("suspend", "alice", 'alice@h1 changed state of "all.q@h1" (suspended)'),
        ("unsuspend", "alice", 'Queue instance "all.q@h1" is already in the specified state: unsuspended'),
        ("clear", "alice", 'Queue instance "all.q@h1" is already in the specified state: no error'),
        ("reschedule", "alice", 'alice - you have no permission to modify queue "all.q@h1"'),
        ("disable", "bob", 'bob - you have no permission to modify queue "all.q@h1"'),
        ("disable", "root", 'root@h1 changed state of "all.q@h1" (disabled)'),
    ],
)
def test_qmod_answers_for_queues(cell: Cell, action: str, user: str, expected: str) -> None:
    cell.configure("cluster_queue", "all.q", owner_list="alice")
    answer = cell.ask("change_states", user, targets=["all.q@h1"], action=action, what="queue")
    assert [text for _, text in answer.answers] == [expected]


@pytest.mark.statement("QM-5", "QI-4")
@pytest.mark.parametrize("action", ["enable", "clear"])
def test_by_force_a_state_is_set_again(cell: Cell, action: str) -> None:
    forced = {"targets": ["all.q@h1"], "action": action, "what": "queue", "force": True}
    state = {"enable": "enabled", "clear": "no error"}[action]
    assert cell.admin("change_states", **forced).answers == [
        ("info", f'root@master forced state change of "all.q@h1" ({state})')
    ]
    answer = cell.ask("change_states", "alice", **forced)
    assert answer.answers == [("error", 'denied: "alice" must be operator to force a state change (-f)')]


@pytest.mark.statement("QM-10")
@pytest.mark.parametrize(
    ("what", "found"), [("queue", ["all.q@h1", "invalid queue"]), ("job", ["invalid", "job"]), ("any", ["all.q@h1", "job"])]
)
def test_arguments_of_qmod_select_queues_or_jobs(cell: Cell, what: str, found: list[str]) -> None:
    job = cell.submit()
    cell.cycle()
    answer = cell.admin("change_states", targets=["all.q@h1", str(job)], action="suspend", what=what)
    assert all(state in text for state, (_, text) in zip(found, answer.answers, strict=True)), answer.answers
    assert answer.status == (what != "any")


@pytest.mark.statement("QM-8")
def test_a_task_is_pushed_back_once(cell: Cell) -> None:
    job = cell.submit(rerun=True)
    cell.cycle()
    host = cell.running[(job, 1, 1)]
    push = {"action": "reschedule", "what": "job", "targets": [str(job)]}
    expected = [cell.admin("change_states", **push).answers for _ in range(2)]
    assert expected == [
        [("info", f"root - pushed rescheduling of job {job} on host {host}")],
        [("info", f"job {job} is already being ended")],
    ]
    other = cell.submit(rerun=True)
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(other)])
    answer = cell.admin("change_states", **{**push, "targets": [str(other)]})
    assert answer.answers == [("info", f"job {other} is already being ended")]


@pytest.mark.statement("QM-8", "QM-5")
def test_tasks_of_a_queue_are_pushed_back_in_their_order(tmp_path: Path) -> None:
    cell = Cell(tmp_path, hosts=1, slots=20)
    jobs = [cell.submit(rerun=True, tasks="1-5") for _ in range(4)]
    cell.cycle()
    answer = cell.admin("change_states", action="reschedule", what="queue", targets=["all.q@h1"])
    assert [text for _, text in answer.answers] == [
        f"root - pushed rescheduling of job-array task {job}.{task} on host h1" for job in jobs for task in range(1, 6)
    ]


@pytest.mark.statement("QF-14")
def test_a_queue_that_is_named_twice_is_cleaned_once(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    instance = cell.placed(job)[0][0]
    cell.admin("clean_queues", queues=[instance, "all.q", instance])
    assert len(cell.records(job)) == 1
