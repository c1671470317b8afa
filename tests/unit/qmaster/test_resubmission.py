"""qresub: copies of jobs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import pytest

from daemons.qmaster.decide.jobs import resubmission
from daemons.qmaster.decision import Payload
from daemons.qmaster.spooling import ended_payloads
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.transaction import Transaction
from gridengine.state.machines import job as machine
from tests.harness import Cell


def resubmit(cell: Cell, *targets: object, user: str = "alice", holds: str = "") -> tuple[int, list[str]]:
    answer = cell.ask("resubmit_jobs", user, targets=[str(target) for target in targets], holds=holds)
    return answer.status, [text for _, text in answer.answers]


@pytest.mark.statement("SO-45")
def test_a_copy_has_everything_but_number_holds_and_past(cell: Cell) -> None:
    script, environment = "#!/bin/sh\necho grüße\n", {"A": "1\n2"}
    original = cell.submit(
        binary=False, script=script, script_file="run.sh", environment=environment, holds="u",
        environment_names=["A"], hard=["h_rt=100"], tasks="1-9:4", priority=-3, context={"x": "y"},
        mail_list=["a@b"], cwd="/tmp", rerun=True, hold_jid=["nosuch"],
    )
    cell.now += 10
    assert resubmit(cell, original) == (0, [f'Your job-array {original + 1}.1-9:4 ("run.sh") has been submitted'])
    first, copy = cell.state.jobs[original], cell.state.jobs[original + 1]
    same = {"id": 0, "submit_time": 0.0, "holds": {}}
    assert msgspec.structs.replace(copy, **same) == msgspec.structs.replace(first, **same)
    assert copy.holds == {}
    payload = cell.master.spool.payload(copy.id)
    assert (payload.script, payload.environment) == (script.encode(), environment)


@pytest.mark.statement("SO-45")
def test_a_copy_may_have_only_some_tasks_of_an_array(cell: Cell) -> None:
    original = cell.submit(name="sweep", tasks="1-9", holds="u")
    answer = cell.ask("resubmit_jobs", targets=[str(original)], holds="u", tasks="2,5-7")
    assert answer.answers == [("info", 'Your job-array 2.2,5-7:1 ("sweep") has been submitted')]
    copy = cell.state.jobs[2]
    assert (str(copy.pending), str(copy.array), copy.task_range) == ("2,5-7:1", "1-9:1", cell.state.jobs[original].task_range)
    assert copy.holds == {1: copy.pending}
    cell.ask("hold_jobs", targets=["2"], holds="u", release=True)
    cell.cycle()
    assert sorted(key.task for key in cell.running if key.job == 2) == [2, 5, 6, 7]


@pytest.mark.statement("SO-45")
@pytest.mark.parametrize(
    ("tasks", "text"),
    [
        ("9-12", "job rejected: the original job has no tasks 10-12:1"),
        ("0", 'job rejected: "0" is not a range: 0 is not within 1 and 4294967295'),
        ("x", 'job rejected: "x" is not a range: "x" is not a positive number'),
    ],
)
def test_a_copy_with_impossible_tasks_is_refused(cell: Cell, tasks: str, text: str) -> None:
    original = cell.submit(tasks="1-9")
    answer = cell.ask("resubmit_jobs", targets=[str(original)], tasks=tasks)
    assert (answer.status, answer.answers) == (4, [("error", text)])
    assert list(cell.state.jobs) == [original]


@pytest.mark.statement("SO-45")
def test_several_copies_and_a_new_hold(cell: Cell) -> None:
    one, two = cell.submit(name="a"), cell.submit(name="b")
    assert resubmit(cell, one, two, holds="u") == (
        0,
        ['Your job 3 ("a") has been submitted', 'Your job 4 ("b") has been submitted'],
    )
    assert [list(cell.state.jobs[job].holds) for job in (3, 4)] == [[1], [1]]
    assert resubmit(cell, one, holds="s")[0] == 4


@pytest.mark.statement("SO-45")
def test_owners_copy_their_jobs_and_managers_all_jobs(cell: Cell) -> None:
    job = cell.submit(tasks="1-3")
    text = "job rejected: bob@h1 is not allowed to resubmit jobs of user alice"
    assert resubmit(cell, job, user="bob") == (4, [text])
    assert resubmit(cell, job, user="root")[0] == 0
    assert cell.state.jobs[2].owner == "alice"
    assert resubmit(cell, 99) == (4, ['job "99" does not exist'])
    assert resubmit(cell, f"{job}.2")[0] == 4


@pytest.mark.statement("SO-45", "US-7")
def test_a_copy_is_checked_like_a_submission(cell: Cell) -> None:
    job = cell.submit()
    cell.configure("configuration", "global", max_u_jobs="1")
    assert "max_u_jobs" in resubmit(cell, job)[1][0]


@pytest.mark.statement("DM-1")
def test_a_copy_is_of_no_session(cell: Cell) -> None:
    job = cell.submit(session="a.1")
    assert cell.ask("resubmit_jobs", targets=[str(job)]).status == 0
    assert [(each.id, each.session) for each in cell.state.jobs.values()] == [(job, "a.1"), (job + 1, "")]


def test_the_last_jobs_that_ended_can_be_copied_where_that_is_asked_for(cell: Cell) -> None:
    script = "#!/bin/sh\ntrue\n"
    job = cell.submit(binary=False, script=script, script_file="run.sh", environment={"A": "1"}, hard=["h_rt=100"])
    cell.cycle()
    cell.end(job, 1, exit_status=3)
    cell.master.flush()
    assert resubmit(cell, job) == (4, [f'job "{job}" does not exist'])
    answer = cell.ask("resubmit_jobs", "alice", targets=[str(job)], ended=True)
    assert answer.answers == [("info", 'Your job 2 ("run.sh") has been submitted')]
    cell.master.flush()
    payload = cell.master.spool.payload(2)
    assert (payload.script, payload.environment) == (script.encode(), {"A": "1"})
    assert cell.state.jobs[2].hard == cell.state.ended_job(job).hard
    assert cell.ask("resubmit_jobs", "bob", targets=[str(job)], ended=True).status == 4
    assert not cell.state.jobs.get(3)


def test_of_older_ones_neither_job_nor_script_is_kept(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ended_payloads, machine, resubmission):
        monkeypatch.setattr(module, "KEPT_JOBS", 2)
    jobs = [cell.submit(binary=False, script="true\n", script_file="a") for _ in range(3)]
    for job in jobs:
        cell.cycle()
        cell.end(job, 1)
    cell.master.flush()
    assert [cell.master.spool.payload(job).script for job in jobs] == [None, b"true\n", b"true\n"]
    assert [cell.state.ended_job(job) is not None for job in jobs] == [False, True, True]
    answer = cell.ask("resubmit_jobs", "alice", targets=["1"], ended=True)
    assert answer.answers == [("error", "the script of job 1 is no longer known: that of the last 2 ended jobs is kept")]
    cell.restart()
    assert cell.ask("resubmit_jobs", "alice", targets=["2"], ended=True).status == 0
    cell.master.flush()
    cell.ask("delete_jobs", targets=["4"])
    cell.master.flush()
    assert [cell.master.spool.payload(job).script for job in (2, 3, 4)] == [None, b"true\n", b"true\n"]


def test_of_more_jobs_than_are_kept_that_end_together_the_last_ones_are(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_payloads, "KEPT_JOBS", 2)
    jobs = [cell.submit(binary=False, script="true\n", script_file="a") for _ in range(5)]
    cell.ask("delete_jobs", targets=[str(job) for job in jobs])
    cell.master.flush()
    assert [cell.master.spool.payload(job).script for job in jobs] == [None, None, None, b"true\n", b"true\n"]


def test_a_job_with_the_number_of_an_ended_one_keeps_its_script(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_payloads, "KEPT_JOBS", 2)
    spool, payload = cell.master.spool, Payload(b"true\n", {})
    revisions = itertools.count(cell.state.revision + 1)

    def commit(written: Sequence[int] = (), dropped: Sequence[int] = ()) -> None:
        payloads = dict.fromkeys(written, payload)
        spool.commit([Transaction(next(revisions), cell.now, "alice", "h1", [], payloads, list(dropped))])

    commit(written=[1, 2, 3])
    commit(dropped=[1])
    commit(written=[1])
    commit(dropped=[2, 3])
    commit(written=[4], dropped=[4])
    assert [spool.payload(job).script is not None for job in (1, 2, 3, 4)] == [True, False, True, True]


def test_ends_of_a_commit_that_failed_end_again(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_payloads, "KEPT_JOBS", 1)
    spool = cell.master.spool
    revision = cell.state.revision
    ends = Transaction(revision + 2, cell.now, "alice", "h1", [], dropped=[1, 2])
    spool.commit([Transaction(revision + 1, cell.now, "alice", "h1", [], dict.fromkeys((1, 2), Payload(b"true\n", {})))])
    with pytest.raises(SpoolError):
        spool.commit([ends, ends])  # the second has the revision of the first
    assert [spool.payload(job).script for job in (1, 2)] == [b"true\n", b"true\n"]
    spool.commit([ends])
    assert [spool.payload(job).script for job in (1, 2)] == [None, b"true\n"]
