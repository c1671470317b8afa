"""Records of jobs in the reporting file: new_job, and a line of job_log for each step of each task."""

from __future__ import annotations

import pytest

from daemons.qmaster.spooling.followed_file import NOTE_S
from tests.harness import Cell

REPORTING = "reporting=true joblog=true"


@pytest.fixture
def logged(cell: Cell) -> Cell:
    """A cell that logs jobs."""
    cell.configure("configuration", "global", reporting_params=REPORTING)
    return cell


def records(cell: Cell, kind: str) -> list[list[str]]:
    """The fields of all records of a type, behind time and type."""
    path = cell.directory / "reporting"
    lines = [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []
    return [line[2:] for line in lines if line[1] == kind]


def steps(cell: Cell) -> list[tuple[str, str, str, str]]:
    """(event, task, state, user) of each line of job_log."""
    return [(line[1], line[3], line[5], line[6]) for line in records(cell, "job_log")]


def over(task: str, state: str) -> list[tuple[str, str, str, str]]:
    """The last lines of each task."""
    return [("finished", task, state, "master"), ("deleted", task, "T", "scheduler")]


BEGUN = [("pending", "-1", "", "alice"), ("sent", "0", "t", "master"), ("delivered", "0", "r", "master")]
EXECD = "execution daemon"


@pytest.mark.statement("RP-1")
def test_a_new_job_is_recorded_as_it_was_submitted(logged: Cell) -> None:
    job = logged.submit(name="night", project="", account="acct", priority=-5)
    begin = str(int(logged.now))
    assert records(logged, "new_job") == [
        [begin, str(job), "-1", "NONE", "night", "alice", "users", "", "defaultdepartment", "acct", "1019"]
    ]


@pytest.mark.statement("RP-4")
def test_a_line_has_its_fields_in_the_order_of_8_1_9(logged: Cell) -> None:
    job = logged.submit(name="night", account="acct")
    begin = str(int(logged.now))
    described = ["night", "alice", "users", "", "defaultdepartment", "acct"]
    line = records(logged, "job_log")[0]
    assert line[:-1] == [begin, "pending", str(job), "-1", "NONE", "", "alice", "h1", "0", "1024", begin, *described]


@pytest.mark.statement("RP-4")
def test_a_job_that_runs_and_ends(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    logged.end(job, exit_status=1)
    assert steps(logged) == [*BEGUN, ("finished", "0", "r", EXECD), *over("0", "r")]


def test_tasks_of_an_array_are_logged_by_their_numbers(logged: Cell) -> None:
    logged.submit(tasks="2-4:2")
    logged.cycle()
    assert steps(logged)[0] == ("pending", "-1", "", "alice")
    assert {step for step in steps(logged) if step[0] == "delivered"} == {
        ("delivered", "2", "r", "master"),
        ("delivered", "4", "r", "master"),
    }


def test_a_running_job_that_is_deleted_names_who_did_it_and_ends_by_its_host(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    logged.ask("delete_jobs", targets=[str(job)])
    logged.end(job, failed=100, exit_status=137)
    assert steps(logged) == [*BEGUN, ("deleted", "0", "r", "alice"), ("deleted", "0", "r", EXECD), *over("0", "r")]
    assert [line[7] for line in records(logged, "job_log") if line[6] == "alice"] == ["h1", "h1"]


def test_many_waiting_tasks_are_deleted_in_one_line(logged: Cell) -> None:
    job = logged.submit(tasks="1-70000")
    logged.ask("delete_jobs", targets=[str(job)])
    assert steps(logged) == [BEGUN[0], ("deleted", "-1", "", "alice"), *over("-1", "")]


def test_a_task_that_begins_again_and_one_in_error(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    logged.end(job, exit_status=99, failed=25)
    assert steps(logged)[3:] == [("restart", "0", "r", EXECD), ("restart", "0", "r", "master")]
    before = len(steps(logged))
    logged.cycle()
    logged.end(job, exit_status=100, failed=26)
    assert steps(logged)[before:] == [*BEGUN[1:], ("error", "0", "r", EXECD), ("restart", "0", "r", "master")]


def test_a_suspension_names_the_user_who_asked_for_it(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    for action in ("suspend", "unsuspend"):
        logged.ask("change_states", action=action, what="job", targets=[str(job)])
    assert steps(logged)[3:] == [("suspended", "0", "r", "alice"), ("unsuspended", "0", "r", "alice")]


@pytest.mark.statement("RP-2")
@pytest.mark.parametrize(("parameters", "kinds"), [("reporting=true", {"new_job", "acct"}), ("joblog=true", set())])
def test_unrequested_records_are_not_written(cell: Cell, parameters: str, kinds: set[str]) -> None:
    cell.configure("configuration", "global", reporting_params=parameters)
    job = cell.submit()
    cell.cycle()
    cell.end(job)
    path = cell.directory / "reporting"
    lines = path.read_text().splitlines() if path.exists() else []
    assert {line.split(":")[1] for line in lines} == kinds


@pytest.mark.statement("AC-6")
def test_a_text_of_a_user_cannot_break_a_record(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    logged.end(job, exit_status=100, failed=26, reason="no: such\n1:acct:thing")
    lines = records(logged, "job_log")
    assert {len(line) for line in lines} == {18}
    assert lines[-2][-1].endswith(" no  such 1 acct thing (on host h1)")
    assert len(records(logged, "acct")) == 1


def ended_just_before_death(cell: Cell) -> None:
    """A job with its end on disk when the master dies, before any consequence of the end."""
    job = cell.submit()
    cell.cycle()
    cell.master.publish = lambda transactions: None  # type: ignore[method-assign]
    cell.end(job)


@pytest.mark.statement("RP-1")
def test_records_lost_between_commit_and_file_are_written_at_the_next_start(logged: Cell) -> None:
    ended_just_before_death(logged)
    logged.restart()
    assert steps(logged) == [*BEGUN, ("finished", "0", "r", EXECD), *over("0", "r")]


def test_records_that_the_file_had_when_the_master_died_are_not_written_again(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    logged.end(job)
    before = steps(logged)
    logged.restart()
    assert steps(logged) == before


def test_the_spool_keeps_records_only_until_the_disk_has_them(logged: Cell) -> None:
    job = logged.submit()
    logged.cycle()
    assert list(logged.master.spool.records(0))
    logged.pass_time(NOTE_S + 1)
    assert not list(logged.master.spool.records(0))
    logged.end(job)
    logged.restart()
    assert steps(logged)[-3:] == [("finished", "0", "r", EXECD), *over("0", "r")], "numbers of rows go on where they were"


def test_a_rotated_file_goes_on_with_what_is_new(logged: Cell) -> None:
    logged.submit()
    logged.pass_time(NOTE_S + 1)
    (logged.directory / "reporting").rename(logged.directory / "reporting.1")
    ended_just_before_death(logged)
    logged.restart()
    new = steps(logged)
    assert len([step for step in new if step[0] == "pending"]) == 1
    assert new[-1] == ("deleted", "0", "T", "scheduler")
