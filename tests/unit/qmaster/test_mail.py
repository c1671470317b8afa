"""Mail: which events bring about which letters."""

from __future__ import annotations

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from gridengine.mail import Mail
from gridengine.state.machines.task import TaskSuspensionChanged
from tests.harness import Cell


@pytest.fixture
def mails(cell: Cell) -> list[Mail]:
    """The mail messages so far."""
    cell.configure("configuration", "global", administrator_mail="none")
    posted: list[Mail] = []
    cell.master.post = posted.extend
    return posted


def subjects(mails: list[Mail]) -> list[str]:
    found = [message.subject for message in mails]
    mails.clear()
    return found


@pytest.mark.statement("MA-1", "SO-19")
def test_begin_and_end(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(name="x", mail_options="be", mail_list=["a@b", "c"])
    cell.cycle()
    assert mails[0].recipients == ("a@b", "c")
    assert mails[0].body.splitlines()[:4] == [
        f"Job {job} (x) Started",
        " User       = alice",
        " Queue      = all.q",
        f" Host       = {cell.running[job, 1, 1]}",
    ]
    assert subjects(mails) == [f"Job {job} (x) Started"]
    cell.end(job, exit_status=3)
    labels = ",".join(line.partition("=")[0].strip() for line in mails[0].body.splitlines()[1:])
    used = "User Time,System Time,Wallclock Time,CPU,Max vmem"
    assert labels == f"User,Queue,Host,Start Time,End Time,{used},Exit Status"
    assert " Queue            = all.q@h" in mails[0].body
    assert " Wallclock Time   = 00:00:" in mails[0].body
    assert " Exit Status      = 3\n" in mails[0].body
    assert subjects(mails) == [f"Job {job} (x) Complete"]


@pytest.mark.statement("SO-19")
def test_only_what_was_asked_for_and_to_the_owner_by_default(cell: Cell, mails: list[Mail]) -> None:
    quiet, begins, ends = cell.submit(), cell.submit(mail_options="b"), cell.submit(mail_options="e")
    cell.cycle()
    assert subjects(mails) == [f"Job {begins} (sleep) Started"]
    cell.end(quiet)
    cell.end(begins)
    assert not mails
    cell.end(ends)
    assert mails[0].recipients == ("alice@h1",)


@pytest.mark.statement("MA-1")
def test_every_task_of_an_array_has_its_own(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(name="x", tasks="1-2", mail_options="b")
    cell.cycle()
    assert sorted(subjects(mails)) == [f"Job-array task {job}.{task} (x) Started" for task in (1, 2)]


@pytest.mark.statement("MA-1")
def test_aborted_rescheduled_and_in_error(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(name="x", mail_options="a")
    cell.cycle()
    cell.end(job, exit_status=99, failed=25)
    assert subjects(mails) == [f"Job {job} (x) Rescheduled"]
    cell.cycle()
    cell.end(job, failed=26, reason="no such\n~!directory")
    assert ": no such\n ~!directory (on host h1)\n" in mails[0].body, "no line of a reason begins a line of the letter"
    assert subjects(mails) == [f"Job {job} (x) Set in error state"]
    cell.ask("delete_jobs", targets=[str(job)])
    assert " deleted by alice\n" in mails[0].body
    assert subjects(mails) == [f"Job {job} (x) was killed from pending"]
    job = cell.submit(name="x", mail_options="ae")
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(job)])
    cell.end(job, exit_status=137, failed=100)
    lines = mails[0].body.splitlines()
    assert lines[1:3] == [" Exit Status      = 137", " Signal           = KILL"]
    assert lines[-2:] == [" failed assumedly after job", " deleted by alice"]
    assert subjects(mails) == [f"Job {job} (x) Aborted"]


@pytest.mark.statement("MA-1")
def test_an_array_deleted_at_once_is_one_mail(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(name="x", tasks="1-5000", mail_options="a")
    cell.ask("delete_jobs", targets=[str(job)])
    assert subjects(mails) == [f"Job-array tasks 1-5000:1 of job {job} (x) was killed from pending"]


@pytest.mark.statement("MA-1")
def test_suspension_of_the_job_and_of_its_queue(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(name="x", mail_options="s", hard_queues=["all.q@h1"])
    cell.cycle()
    assert not mails
    for action, what, target, subject in (
        ("suspend", "job", str(job), "Suspended"),
        ("unsuspend", "job", str(job), "Continued"),
        ("suspend", "queue", "all.q@h1", "Suspended"),
        ("unsuspend", "queue", "all.q@h1", "Continued"),
        ("disable", "queue", "all.q@h1", ""),
    ):
        cell.admin("change_states", action=action, what=what, targets=[target])
        assert subjects(mails) == ([f"Job {job} (x) {subject}"] if subject else [])


@pytest.mark.statement("MA-1")
def test_a_job_with_two_causes_of_its_suspension_sends_one_mail_for_its_stop_and_one_for_its_start(
    cell: Cell, mails: list[Mail]
) -> None:
    job = cell.submit(name="x", mail_options="s", hard_queues=["all.q@h1"])
    cell.cycle()
    user, queue = {"what": "job", "targets": [str(job)]}, {"what": "queue", "targets": ["all.q@h1"]}
    for first, second in ((user, queue), (queue, user)):
        for action, subject in (("suspend", "Suspended"), ("unsuspend", "Continued")):
            cell.admin("change_states", action=action, **first)
            assert subjects(mails) == ([f"Job {job} (x) Suspended"] if action == "suspend" else [])
            cell.admin("change_states", action=action, **second)
            assert subjects(mails) == ([f"Job {job} (x) Continued"] if action == "unsuspend" else []), subject


@pytest.mark.statement("MA-1")
def test_a_threshold_does_not_continue_a_job_that_a_user_has_suspended(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit(name="x", mail_options="s", hard_queues=["all.q@h1"])
    cell.cycle()
    cell.admin("change_states", action="suspend", what="job", targets=[str(job)])
    assert subjects(mails) == [f"Job {job} (x) Suspended"]
    for suspended in (True, False):
        cell.master.record(Decision(events=[TaskSuspensionChanged(job, 1, "threshold", suspended)]), DAEMON)
        cell.master.flush()
        assert subjects(mails) == []


@pytest.mark.statement("MA-2")
def test_problems_go_to_the_administrators(cell: Cell, mails: list[Mail]) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job, failed=8, reason="prolog broken")
    assert not mails
    cell.configure("configuration", "global", administrator_mail="root@x,ops@x")
    cell.cycle()
    cell.end(job, failed=8, reason="prolog broken")
    assert mails[0].recipients == ("root@x", "ops@x")
    assert "in error state" in mails[0].subject
    assert "prolog broken" in mails[0].body


def test_mail_waits_for_the_commit(cell: Cell, mails: list[Mail]) -> None:
    cell.submit(mail_options="a")
    cell.undecided("delete_jobs", {"targets": ["1"]})
    assert not mails
    cell.master.flush()
    assert len(mails) == 1


@pytest.mark.statement("MA-2", "QI-3")
def test_a_lost_host_is_mailed_to_the_administrators_once(cell: Cell, mails: list[Mail]) -> None:
    jobs = [cell.submit(hard_queues=["all.q@h1"]), cell.submit(hard_queues=["all.q@h1"], tasks="1-2")]
    cell.cycle()
    cell.master.lose_host("h2")
    assert not mails, "without administrator_mail there is nobody to tell"
    cell.configure("configuration", "global", administrator_mail="ops@x")
    cell.master.lose_host("h3", orderly=True)
    assert not mails, "its daemon was stopped"
    for _ in range(2):
        cell.master.lose_host("h1")
        cell.master.flush()
    [message] = mails
    assert (message.recipients, message.subject) == (("ops@x",), 'Host "h1" is lost')
    assert "last heard: 01/15/2027 08:00:00" in message.body
    assert f"jobs there: {jobs[0]}, {jobs[1]}.1, {jobs[1]}.2\n" in message.body
