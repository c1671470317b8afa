"""qresub: copies of jobs."""

from __future__ import annotations

import msgspec
import pytest

from tests.harness import Cell


def resubmit(cell: Cell, *targets: object, user: str = "alice", holds: str = "") -> tuple[int, list[str]]:
    answer = cell.ask("resubmit_jobs", user, targets=[str(target) for target in targets], holds=holds)
    return answer.status, [text for _, text in answer.answers]


@pytest.mark.statement("SO-45")
def test_a_copy_has_everything_but_number_holds_and_past(cell: Cell) -> None:
    script, environment = "#!/bin/sh\necho grüße\n", {"A": "1\n2"}
    original = cell.submit(
        **{"binary": False, "script": script, "script_file": "run.sh", "environment": environment, "holds": "u"},
        **{"environment_names": ["A"], "hard": ["h_rt=100"], "tasks": "1-9:4", "priority": -3, "context": {"x": "y"}},
        **{"mail_list": ["a@b"], "cwd": "/tmp", "rerun": True, "hold_jid": ["nosuch"]},
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
def test_several_copies_and_a_new_hold(cell: Cell) -> None:
    one, two = cell.submit(name="a"), cell.submit(name="b")
    assert resubmit(cell, one, two, holds="u") == (
        0,
        ['Your job 3 ("a") has been submitted', 'Your job 4 ("b") has been submitted'],
    )
    assert [list(cell.state.jobs[job].holds) for job in (3, 4)] == [[1], [1]]
    assert resubmit(cell, one, holds="s")[0] == 4


@pytest.mark.statement("SO-45")
def test_who_may_copy_what(cell: Cell) -> None:
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
