"""A job that has ended has its page and its row: exit status, what failed means, usage, and never the look of a success."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridengine.failed import CHANGING_DIRECTORY, ENFORCED
from tests.unit.web.browsing import rows, visiting, words
from tests.unit.web.followed import Followed


def run(followed: Followed, **ended: Any) -> int:
    """A job of alice's that ran to its end."""
    job = followed.cell.submit(name="sim")
    followed.cell.cycle()
    followed.cell.pass_time(60)
    followed.cell.end(job, 1, **ended)
    followed.cell.master.flush()
    followed.take()
    return job


@pytest.fixture
def page(followed: Followed, tmp_path: Path) -> Callable[[str], Any]:
    def get(address: str) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path) as visitor:
                return await visitor.get(address)

        return asyncio.run(playing())

    return get


@pytest.mark.statement("GU-12", "AC-1")
@pytest.mark.parametrize(
    ("ended", "result", "state"),
    [
        ({"exit_status": 0}, "exit status 0", "z finished"),
        ({"exit_status": 3}, "exit status 3", "z failed"),
        ({"exit_status": 137}, "killed by signal KILL", "z failed"),
        ({"exit_status": 137, "failed": ENFORCED}, "killed on h1 after 1 s", "z failed"),
    ],
)
def test_a_finished_job_has_its_page(followed: Followed, page: Any, ended: dict[str, int], result: str, state: str) -> None:
    job = run(followed, **ended)
    shown = page(f"/jobs/{job}")
    assert words(shown.find(".//h1")) == f"Job {job} · sim"
    assert "owner alice" in words(shown.find(".//main"))
    (row,) = rows(shown)[:1]
    assert row[1].startswith(f"{state} {result}")
    assert row[2:5] == [str(ended["exit_status"]), "h1", "all.q"]
    if "failed" in ended:
        assert "failed 37: " in row[1]


def test_the_list_shows_how_jobs_ended_and_when(followed: Followed, page: Any) -> None:
    good, bad = run(followed, exit_status=0), run(followed, exit_status=3)
    listed = {row[1]: row for row in rows(page("/jobs?state=finished"))}
    assert listed[str(good)][4] == "z finished exit status 0"
    assert listed[str(bad)][4] == "z failed exit status 3"
    ended = followed.cell.state.finished[-1].end_time
    assert ended > followed.cell.state.finished[-1].submit_time
    failures = words(page("/"))
    assert "Failed in the last 24 hours" in failures and "1 failed, all finished jobs" in failures


def test_a_job_that_never_was_is_missing(followed: Followed, page: Any) -> None:
    assert "There is no job 999" in words(page("/jobs/999"))


def test_a_task_in_error_shows_as_that(followed: Followed, page: Any) -> None:
    job = run(followed, failed=CHANGING_DIRECTORY)
    states = [row[1] for row in rows(page(f"/jobs/{job}"))]
    assert any(text.startswith("Eqw error") for text in states), states
