"""Log lines about jobs that were ended, stopped or moved from outside: one line each, with the user or the cause."""

from __future__ import annotations

import pytest

from daemons.qmaster.notifications.interventions import Intervention
from daemons.qmaster.transaction import Transaction
from gridengine.protocols.delivery import Inventory
from gridengine.usage.failed import AFTER_JOB, ENFORCED, RESCHEDULED
from gridengine.values.ranges import Ranges
from tests.harness import Cell

pytestmark = pytest.mark.statement("GC-4")


@pytest.fixture
def logged(cell: Cell) -> list[Intervention]:
    """Every line since the cell began."""
    lines: list[Intervention] = []

    def committed(transaction: Transaction) -> None:
        lines.extend(transaction.interventions)

    cell.master.subscribers.append(committed)
    return lines


def running(cell: Cell, **fields: object) -> tuple[int, str]:
    """A job that runs, and its host."""
    job = cell.submit(**fields)
    cell.cycle()
    return job, cell.state.jobs[job].tasks[1].host


def texts(logged: list[Intervention]) -> list[str]:
    return [f"{line.level} {line.text}" for line in logged]


def test_a_job_that_ends_by_itself_is_no_intervention(cell: Cell, logged: list[Intervention]) -> None:
    job, _ = running(cell)
    cell.end(job, exit_status=7)
    assert logged == []


@pytest.mark.statement("SO-46")
def test_qdel_is_logged_once_with_user_and_host(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell)
    cell.ask("delete_jobs", "root", "h2", targets=[str(job)])
    cell.ask("delete_jobs", "root", "h2", targets=[str(job)])
    cell.end(job, exit_status=137, failed=AFTER_JOB, reason="the job was to be deleted")
    assert texts(logged) == [f"W job {job} (alice) on {host} is ended: qdel by root@h2"]
    fields = {"job": job, "tasks": "", "user": "alice", "by": "root@h2", "hosts": [host], "what": "is ended: qdel by root@h2"}
    assert (logged[0].event, logged[0].fields) == ("TaskDeletionRequested", fields)


def test_the_deletion_of_a_pending_job_is_no_warning(cell: Cell, logged: list[Intervention]) -> None:
    job = cell.submit()
    cell.ask("delete_jobs", targets=[str(job)])
    assert texts(logged) == [f"I job {job} (alice) is deleted before it began: qdel by alice@h1"]


def test_tasks_of_an_array_job_share_a_line(cell: Cell, logged: list[Intervention]) -> None:
    job = cell.submit(tasks="1-4")
    cell.cycle()
    cell.ask("delete_jobs", "root", "h2", targets=[str(job)], force=True)
    [line] = texts(logged)
    assert line.startswith(f"W job {job}.1-4:1 (alice) on h1") and line.endswith("has ended: qdel -f by root@h2")


def test_tasks_are_not_looked_at_one_by_one(cell: Cell, logged: list[Intervention], monkeypatch: pytest.MonkeyPatch) -> None:
    job = cell.submit(tasks="1-9000")
    monkeypatch.delattr(Ranges, "__iter__")
    cell.ask("delete_jobs", targets=[f"{job}.1-9000:3"])
    cell.ask("delete_jobs", targets=[f"{job}.1-9000:2"])
    assert logged[0].fields["tasks"] == "1-8998:3"
    assert logged[1].text.startswith(f"job {job}.3000 of 3-8999 (alice) is deleted")


@pytest.mark.statement("RL-2")
def test_a_limit_is_named_with_its_value(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell)
    cell.end(job, exit_status=137, failed=ENFORCED, reason="11/25/2026 21:33:51 [0:139]: limit h_rt of 2 s exceeded")
    assert texts(logged) == [f"W job {job} (alice) on {host} has ended: limit h_rt of 2 s exceeded; exit status 137"]


def test_a_job_that_asks_to_run_again_is_its_own_affair(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell)
    cell.end(job, exit_status=99, failed=RESCHEDULED, reason="job ended with exit status 99")
    assert texts(logged) == [f"I job {job} (alice) on {host} waits to run again: job ended with exit status 99"]


@pytest.mark.statement("QM-8")
def test_qmod_reschedules_and_suspends(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell, rerun=True)
    cell.admin("change_states", what="job", action="suspend", targets=[str(job)])
    cell.admin("change_states", what="job", action="unsuspend", targets=[str(job)])
    cell.admin("change_states", what="job", action="reschedule", targets=[str(job)])
    cell.end(job, exit_status=137, failed=AFTER_JOB, reason="the job was to be deleted")
    assert texts(logged) == [
        f"W job {job} (alice) on {host} is suspended: qmod -sj by root@master",
        f"W job {job} (alice) on {host} goes on: qmod -usj by root@master",
        f"W job {job} (alice) on {host} is ended, to run again: qmod -r by root@master",
    ]


def test_a_suspend_threshold_is_named_and_that_there_is_none_any_more(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell)
    cell.configure("cluster_queue", "all.q", suspend_thresholds="np_load_avg=0.01", suspend_interval="0:0:1")
    cell.pass_time(5)
    cell.cycle()
    cell.configure("cluster_queue", "all.q", suspend_thresholds="NONE")
    cell.pass_time(5)
    cell.cycle()
    assert texts(logged) == [
        f"W job {job} (alice) on {host} is suspended: suspend_thresholds np_load_avg=0.01 of all.q@{host}",
        f"W job {job} (alice) on {host} goes on: all.q@{host} no longer has suspend_thresholds",
    ]


def test_a_suspended_queue_is_logged_with_the_number_of_its_tasks(cell: Cell, logged: list[Intervention]) -> None:
    _, host = running(cell)
    cell.admin("change_states", what="queue", action="suspend", targets=[f"all.q@{host}"])
    assert texts(logged) == [f"W queue instance all.q@{host} is suspended: qmod -sq by root@master; 1 task there"]


@pytest.mark.statement("EX-11")
def test_a_host_that_is_lost_takes_its_jobs_along(cell: Cell, logged: list[Intervention]) -> None:
    cell.configure("configuration", "global", reschedule_unknown="00:01:00")
    job, host = running(cell, rerun=True)
    cell.master.lose_host(host)
    cell.pass_time(90)
    [line] = texts(logged)
    assert line == f"W job {job} (alice) on {host} waits to run again: host {host} is lost for 1 min 30 s (reschedule_unknown)"


def test_a_task_that_its_host_forgot_is_logged(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell, rerun=False)
    cell.report(host, Inventory([], "boot1", []))
    assert texts(logged) == [f"W job {job} (alice) on {host} has ended: host {host} no longer knows it; exit status 137"]


@pytest.mark.statement("QF-14")
def test_a_queue_that_is_cleaned_names_the_command(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell)
    cell.admin("clean_queues", queues=[f"all.q@{host}"])
    assert texts(logged) == [f"W job {job} (alice) on {host} has ended: qconf -cq all.q@{host} by root@master"]


@pytest.mark.statement("QI-10")
def test_a_queue_in_error_is_an_error(cell: Cell, logged: list[Intervention]) -> None:
    job, host = running(cell)
    cell.end(job, failed=8, reason="prolog ended with exit status 3")
    first, second = texts(logged)
    assert first == f"E all.q@{host}: queue all.q marked QERROR as result of job {job}'s failure at host {host}: " \
        "prolog ended with exit status 3"
    assert second == f"W job {job} (alice) on {host} waits to run again: prolog ended with exit status 3"
