"""Admission of jobs: known users, projects, departments, limits."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from gridengine.state.machines.configuration import ObjectRemoved
from tests.harness import Cell


def refusal(cell: Cell, user: str = "alice", **fields: Any) -> str:
    answer = cell.ask("submit", user, **{"binary": True, "script_file": "x", **fields})
    assert answer.status == 1, answer
    return answer.answers[0][1]


def globally(cell: Cell, **changes: str) -> None:
    assert cell.configure("configuration", "global", **changes).status == 0


@pytest.mark.statement("US-5", "PR-13")
def test_enforce_user_auto_makes_users_once_and_ends_them(cell: Cell) -> None:
    cell.add("project", "p")
    globally(
        cell,
        enforce_user="auto",
        auto_user_fshare="7",
        auto_user_oticket="3",
        auto_user_delete_time="100",
        auto_user_default_project="p",
    )
    job = cell.submit()
    assert cell.state.kind("user")["alice"] == {
        "name": "alice", "oticket": "3", "fshare": "7", "default_project": "p",
        "delete_time": str(int(cell.now) + 100),
    }
    assert cell.state.jobs[job].project == "p"
    cell.now += 101
    cell.master.tick()
    assert cell.state.has("user", "alice"), "he still has a job"
    cell.ask("delete_jobs", targets=[str(job)])
    cell.now += 101
    cell.master.tick()
    assert not cell.state.has("user", "alice")


@pytest.mark.statement("US-5")
def test_enforce_user_true_and_false(cell: Cell) -> None:
    globally(cell, enforce_user="true")
    assert "not a known user" in refusal(cell)
    cell.add("user", "alice")
    assert cell.submit()
    globally(cell, enforce_user="false")
    assert cell.submit("bob")
    assert not cell.state.has("user", "bob")


@pytest.mark.statement("US-5", "US-1")
def test_enforce_project_and_the_default_project(cell: Cell) -> None:
    globally(cell, enforce_project="true")
    assert "no project was assigned" in refusal(cell)
    cell.add("project", "p")
    cell.add("user", "alice", default_project="p")
    assert cell.state.jobs[cell.submit()].project == "p"
    cell.add("project", "q")
    assert cell.state.jobs[cell.submit(project="q")].project == "q"


@pytest.mark.statement("SO-26", "US-2")
def test_access_lists_of_projects(cell: Cell) -> None:
    cell.add("userset", "some", entries="bob")
    cell.add("project", "p", acl="some")
    assert refusal(cell, project="p") == 'job rejected: no access to project "p" for user "alice"'
    assert cell.submit("bob", project="p")
    cell.configure("project", "p", acl="NONE", xacl="some")
    assert cell.submit(project="p")
    assert "no access" in refusal(cell, "bob", project="p")
    assert refusal(cell, project="q") == 'job rejected: the requested project "q" does not exist'


@pytest.mark.statement("US-6")
def test_access_to_the_cluster(cell: Cell) -> None:
    cell.add("userset", "out", entries="alice")
    globally(cell, xuser_lists="out")
    assert "xuser_lists" in refusal(cell)
    assert cell.submit("bob")
    globally(cell, xuser_lists="none", user_lists="out")
    assert cell.submit()
    text = 'job rejected: user "bob" has no access to the cluster (user_lists, xuser_lists)'
    assert refusal(cell, "bob") == text, "where some are named, nobody else has"
    globally(cell, user_lists="none")
    for name in ("p", "q"):
        cell.add("project", name)
    globally(cell, projects="p")
    assert "without a project" in refusal(cell)
    assert 'project "q"' in refusal(cell, project="q")
    assert cell.submit(project="p")


@pytest.mark.statement("US-4")
def test_the_department_is_that_of_the_list(cell: Cell) -> None:
    cell.add("userset", "physics", type="DEPT", entries="alice,@phys")
    assert cell.state.jobs[cell.submit()].department == "physics"
    assert cell.state.jobs[cell.submit("bob")].department == "defaultdepartment"


@pytest.mark.statement("SB-7", "US-7")
def test_the_limits_are_named(cell: Cell) -> None:
    globally(cell, max_u_jobs="1")
    job = cell.submit()
    answer = cell.ask("submit", binary=True, script_file="x")
    assert answer.status == 25
    assert "only 1 jobs are allowed per user" in answer.answers[0][1]
    cell.ask("delete_jobs", targets=[str(job)])
    assert cell.submit()


@pytest.mark.statement("SO-36")
def test_ranges_keep_the_end_that_was_given(cell: Cell) -> None:
    for text, shown, tasks in (
        ("1-4:2", "1-4:2", [1, 3]),
        ("1-95:100", "1-95:100", [1]),
        ("2,4,6", "2-6:2", [2, 4, 6]),
        ("5", "5-5:1", [5]),
    ):
        answer = cell.ask("submit", binary=True, script_file="x", tasks=text)
        assert answer.data["tasks"] == shown  # type: ignore[index,call-overload]
        assert list(cell.state.jobs[answer.data["job_id"]].pending) == tasks  # type: ignore[index,call-overload]


@pytest.mark.statement("SO-41")
def test_validation_levels(cell: Cell) -> None:
    def ask(**fields: Any) -> tuple[int, list[tuple[str, str]]]:
        answer = cell.ask("submit", binary=True, script_file="x", **fields)
        return answer.status, answer.answers

    status, answers = ask(verify="e", hard=["arch=nosuch"])
    assert (status, answers[0][1].split("\n")[0]) == (1, "error: no suitable queues")
    assert 'cannot run at host "h1" because it offers only hl:arch=lx-amd64' in answers[0][1]
    assert ask(verify="w", hard=["arch=nosuch"]) == (0, [("warning", "warning: no suitable queues")])
    assert ask(verify="n", hard=["arch=nosuch"]) == (0, [])
    assert ask(verify="v") == (0, [("info", "verification: found suitable queue(s)")])
    assert sorted(cell.state.jobs) == [1, 2]
    for _ in range(12):
        cell.submit()
    cell.cycle()
    assert ask(verify="p")[0] == 1
    assert ask(verify="v")[0] == 0


@pytest.mark.statement("SO-22", "AJ-5")
def test_an_immediate_job_starts_or_goes(cell: Cell) -> None:
    array = cell.submit(now=True, tasks="1-12")
    cell.cycle()
    assert len(cell.state.jobs[array].tasks) == 12
    late = cell.submit(now=True)
    cell.cycle()
    assert late not in cell.state.jobs


@pytest.mark.statement("SO-1", "SO-11")
def test_start_time_and_deadline(cell: Cell) -> None:
    job = cell.submit(start_after=cell.now + 60)
    cell.cycle()
    assert not cell.placed(job)
    cell.now += 61
    cell.cycle()
    assert cell.placed(job)
    cell.configure("userset", "deadlineusers", entries="alice")
    assert cell.state.jobs[cell.submit(deadline=cell.now + 60)].deadline == cell.now + 60


@pytest.mark.statement("ST-25")
def test_only_so_many_finished_jobs_are_kept(cell: Cell) -> None:
    globally(cell, finished_jobs="2")
    jobs = [cell.submit() for _ in range(3)]
    cell.cycle()
    for job in jobs:
        cell.end(job, exit_status=job - 1)
    assert [(job.id, job.unsuccessful) for job in cell.state.finished] == [(2, True), (3, True)]
    globally(cell, finished_jobs="0")
    cell.ask("delete_jobs", targets=[str(cell.submit())])
    assert cell.state.finished == []


@pytest.mark.statement("ST-25", "GC-1")
def test_fewer_finished_jobs_are_kept_at_once(cell: Cell) -> None:
    jobs = [cell.submit() for _ in range(3)]
    cell.cycle()
    for job in jobs:
        cell.end(job)
    globally(cell, finished_jobs="2")
    assert [job.id for job in cell.state.finished] == [2, 3]


@pytest.mark.statement("EX-14")
@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"min_uid": "1001", "min_gid": "1001"}, ""),
        ({"min_uid": "1002"}, 'denied: user id 1001 of "alice" is below min_uid 1002'),
        ({"min_gid": "1002"}, 'denied: group id 1001 of "alice" is below min_gid 1002'),
    ],
)
def test_the_least_ids_are_those_that_may_just_submit(cell: Cell, limits: dict[str, str], text: str) -> None:
    globally(cell, **limits)
    answer = cell.ask("submit", binary=True, script_file="x")
    assert [message for _, message in answer.answers] == ([text] if text else [])


@pytest.mark.statement("EX-14")
@pytest.mark.parametrize(
    ("least", "manager", "taken"), [("0", True, True), ("0", False, True), ("1", True, True), ("1", False, False)]
)
def test_root_may_submit_where_he_is_a_manager_or_no_least_id_is_set(
    cell: Cell, least: str, manager: bool, taken: bool
) -> None:
    globally(cell, min_uid=least)
    if not manager:
        cell.master.record(Decision(events=[ObjectRemoved("manager", "root")]), DAEMON)
    answer = cell.ask("submit", "root", binary=True, script_file="x")
    assert (answer.status == 0) == taken, answer.answers
    assert cell.submit(), "that concerns nobody else"


@pytest.mark.statement("SB-7", "US-7")
def test_the_limit_of_the_cluster_counts_all_jobs_and_the_limit_of_users_their_own(cell: Cell) -> None:
    globally(cell, max_jobs="3", max_u_jobs="2")
    cell.submit()
    cell.submit("bob")
    cell.submit("bob")
    answer = cell.ask("submit", binary=True, script_file="x")
    text = "job rejected: only 3 jobs are allowed in the cluster (max_jobs), there are 3"
    assert (answer.status, answer.answers) == (25, [("error", text)])
    globally(cell, max_jobs="0")
    answer = cell.ask("submit", "bob", binary=True, script_file="x")
    text = 'job rejected: only 2 jobs are allowed per user (max_u_jobs), "bob" has 2'
    assert (answer.status, answer.answers) == (25, [("error", text)])
    assert cell.submit(), "alice has only one"


@pytest.mark.statement("US-5", "PR-13")
def test_a_user_who_is_made_for_ever_has_no_end(cell: Cell) -> None:
    globally(cell, enforce_user="auto", auto_user_delete_time="0")
    job = cell.submit()
    assert cell.state.kind("user")["alice"] == {
        "name": "alice", "oticket": "0", "fshare": "0", "delete_time": "0", "default_project": "NONE"
    }
    assert cell.state.jobs[job].project == ""
    cell.ask("delete_jobs", targets=[str(job)])
    cell.pass_time(10_000_000)
    assert cell.state.has("user", "alice")


@pytest.mark.statement("US-5", "PR-13")
def test_a_user_who_was_made_keeps_what_a_manager_gave_him_since(cell: Cell) -> None:
    globally(cell, enforce_user="auto")
    cell.submit()
    assert cell.configure("user", "alice", fshare="9", delete_time="0").status == 0
    cell.submit()
    assert cell.state.kind("user")["alice"]["fshare"] == "9"


@pytest.mark.statement("US-5", "PR-13")
def test_each_user_who_has_jobs_at_his_end_gets_another_term(cell: Cell) -> None:
    globally(cell, enforce_user="auto", auto_user_delete_time="100")
    gone, kept = cell.submit(), cell.submit("bob")
    cell.ask("delete_jobs", targets=[str(gone)])
    cell.add("user", "eve")
    end = int(cell.state.kind("user")["bob"]["delete_time"])
    cell.pass_time(end - 1 - cell.now)
    assert cell.state.has("user", "alice")
    cell.pass_time(end - cell.now)
    assert sorted(cell.state.kind("user")) == ["bob", "eve"], "alice is gone in the second in which her time is over"
    assert int(cell.state.kind("user")["bob"]["delete_time"]) == end + 100
    cell.ask("delete_jobs", "bob", targets=[str(kept)])
    globally(cell, auto_user_delete_time="0")
    kept = cell.submit("bob")
    cell.pass_time(100)
    assert cell.state.kind("user")["bob"]["delete_time"] == "0", "and one without an end where none is configured any more"


@pytest.mark.statement("US-5", "US-1")
@pytest.mark.parametrize(
    ("enforce", "known", "project"),
    [
        ("auto", {"alice": "p"}, "p"),
        ("auto", {"alice": "NONE"}, ""),
        ("auto", {}, "q"),
        ("true", {"alice": "p"}, "p"),
        ("false", {"alice": "p"}, "p"),
        ("false", {}, ""),
    ],
)
def test_where_the_project_of_a_job_comes_from(cell: Cell, enforce: str, known: dict[str, str], project: str) -> None:
    for name in "pq":
        cell.add("project", name)
    globally(cell, enforce_user=enforce, auto_user_default_project="q")
    for user, default in known.items():
        cell.add("user", user, default_project=default)
    assert cell.state.jobs[cell.submit()].project == project


@pytest.mark.statement("US-6")
@pytest.mark.parametrize(
    ("lists", "taken"),
    [
        ({}, ["", "p", "q"]),
        ({"projects": "p"}, ["p"]),
        ({"xprojects": "p"}, ["", "q"]),
        ({"projects": "p q", "xprojects": "q"}, ["p"]),
    ],
)
def test_the_project_lists_decide_about_access_to_the_cluster(cell: Cell, lists: dict[str, str], taken: list[str]) -> None:
    for name in "pq":
        cell.add("project", name)
    globally(cell, **lists)
    projects = ["", "p", "q"]
    answers = [cell.ask("submit", binary=True, script_file="x", project=project) for project in projects]
    assert [project for project, answer in zip(projects, answers, strict=True) if answer.status == 0] == taken


@pytest.mark.statement("US-4")
def test_only_a_list_that_is_a_department_is_one(cell: Cell) -> None:
    cell.add("userset", "friends", type="ACL", entries="alice")
    cell.add("userset", "physics", type="ACL DEPT", entries="@users")
    assert cell.state.jobs[cell.submit()].department == "physics", "by the group"
    assert cell.state.jobs[cell.submit("root")].department == "defaultdepartment"
