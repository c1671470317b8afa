"""The grid of the tasks of an array, and the resubmission of the failed tasks."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.state.invariants import LAWS
from tests.unit.web.browsing import Visitor, text_of
from tests.unit.web.followed import BOB, Followed


def _cells(page: Any) -> list[tuple[str, str, str]]:
    return [(each.get("class"), each.get("title"), each.get("href")) for each in page.findall(".//div[@class='tasks']/a")]


@pytest.fixture
def array(followed: Followed) -> int:
    """An array of nine tasks: one succeeded, two failed, one runs, the others wait."""
    cell = followed.cell
    job = cell.submit(name="sweep", tasks="1-9", task_concurrency=4)
    cell.cycle()
    for task, status in ((1, 0), (2, 3), (4, 137)):
        cell.end(job, task, exit_status=status)
    cell.master.flush()
    return int(job)


@pytest.mark.statement("GU-12", "AC-1")
def test_each_task_has_a_cell_in_the_tone_of_its_state(array: int, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get(f"/jobs/{array}/tasks"))
    cells = _cells(page)
    assert [tone for tone, _, _ in cells] == ["ok", "bad", "busy", "bad", "wait", "wait", "wait", "wait", "wait"]
    assert cells[1][1:] == ("task 2: failed, exit status 3, run time 00:00:01", f"/jobs/{array}?task=2")
    assert cells[2][1].startswith("task 3: running, 00:00:0") and "on all.q@h" in cells[2][1]
    assert cells[3][1].startswith("task 4: failed, killed by signal KILL")
    assert "2 failed 1 running 5 waiting 1 finished" in text_of(page.find(".//main"))


def test_the_page_of_the_job_loads_the_grid(array: int, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get(f"/jobs/{array}"))
    assert f"/jobs/{array}/tasks" in [each.get("hx-get") for each in page.iter("div")]


def test_a_large_array_has_cells_of_ranges_that_lead_to_their_tasks(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    job = cell.submit(name="large", tasks="1-75000")
    cell.cycle()
    cell.end(job, 1, exit_status=3)
    cell.master.flush()

    async def play(visitor: Visitor) -> tuple[Any, Any]:
        page = await visitor.get(f"/jobs/{job}/tasks")
        return page, await visitor.get(_cells(page)[0][2])

    page, part = browse(play)
    cells = _cells(page)
    assert len(cells) == 1500 and cells[0][0] == "bad" and cells[-1][0] == "wait"
    assert cells[0][1].startswith("tasks 1-50: 1 failed, ")
    assert len(_cells(part)) == 50 and _cells(part)[0][1].startswith("task 1: failed")


@pytest.mark.statement("SO-45")
def test_the_failed_tasks_are_submitted_again_after_a_question(array: int, followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[str, list[str]]:
        async with visitor.client.post(f"/jobs/{array}/tasks", data={}) as response:
            question = await response.text()
        return question, await visitor.post(f"/jobs/{array}/tasks")

    question, answers = browse(play)
    assert "Resubmit 2 failed tasks of job 1?" in question and "with the tasks 2,4." in question
    assert answers == ['Your job-array 2.2,4 ("sweep") has been submitted']
    assert [str(job.pending) for job in followed.cell.state.jobs.values()][1] == "2,4"
    assert [text for law in LAWS for text in law(followed.cell.state)] == []


@pytest.mark.statement("SO-45")
def test_other_users_do_not_resubmit_the_tasks(array: int, followed: Followed, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get(f"/jobs/{array}/tasks"), BOB)
    assert "neither the owner of the job (alice) nor an operator" in text_of(page)
    assert browse(lambda visitor: visitor.post(f"/jobs/{array}/tasks"), BOB) == [
        "job rejected: bob@h1 is not allowed to resubmit jobs of user alice"
    ]
    assert list(followed.cell.state.jobs) == [array]


@pytest.mark.parametrize("path", ["/jobs/1/tasks", "/jobs/77/tasks", "/jobs/x/tasks"])
def test_a_job_without_tasks_has_no_grid(followed: Followed, browse: Any, path: str) -> None:
    followed.cell.submit()

    async def play(visitor: Visitor) -> int:
        await visitor.get(path)
        return visitor.status

    assert browse(play) == 404
