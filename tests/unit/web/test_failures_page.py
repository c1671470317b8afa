"""The page of failures: counts by user, host, queue and result, and the filtered list."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.usage.failed import OPENING_FILES, RESCHEDULED
from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import Followed


def _run(followed: Followed, user: str, **end: Any) -> int:
    cell = followed.cell
    job = cell.submit(user, name="sim")
    cell.cycle()
    cell.pass_time(60)
    cell.end(job, 1, **end)
    cell.master.flush()
    return job


@pytest.fixture
def jobs(followed: Followed) -> list[int]:
    """Failed jobs and a successful job: a failure of two days ago, then today's, in order."""
    first = _run(followed, "alice", exit_status=1)
    accounted, old = followed.cell.master.spool.accounted, first + 900
    days_ago = {"job_number": str(old), "end_time": str(followed.cell.now - 2 * 86_400)}
    accounted.add([(old, 0, followed.cell.records(first)[0].replace(**days_ago))])
    ends = (("alice", 3), ("bob", 3), ("bob", 137))
    failed = [_run(followed, user, exit_status=status) for user, status in ends]
    _run(followed, "bob", exit_status=0)
    return [old, first, *failed]


def _listed(page: Any) -> list[str]:
    return [row[0] for row in rows(page, 4)]


@pytest.mark.statement("AC-1")
def test_failures_are_counted_and_listed_with_the_newest_first(jobs: list[int], browse: Any) -> None:
    page = browse(lambda visitor: visitor.get("/failures"))
    counts = [rows(page, at) for at in range(4)]
    assert counts[0] == [["alice", "2"], ["bob", "2"]]
    assert sum(int(number) for _, number in counts[1]) == 4
    assert counts[2] == [["all.q", "4"]]
    assert counts[3] == [["exit status 3", "2"], ["exit status 1", "1"], ["killed by signal KILL", "1"]]
    assert _listed(page) == [str(job) for job in reversed(jobs[1:])]
    week = browse(lambda visitor: visitor.get("/failures?span=7d"))
    assert sorted(_listed(week)) == sorted(map(str, jobs))


def test_each_count_leads_to_the_list_of_its_tasks(jobs: list[int], browse: Any) -> None:
    async def play(visitor: Visitor) -> list[list[str]]:
        page = await visitor.get("/failures")
        tables = page.findall(".//table/tbody")
        first = [table.find(".//a").get("href") for table in tables[:4]]
        return [_listed(await visitor.get(address)) for address in (first[0], first[3])]

    assert browse(play) == [[str(jobs[2]), str(jobs[1])], [str(jobs[3]), str(jobs[2])]]


def test_the_file_has_the_list(jobs: list[int], browse: Any) -> None:
    async def play(visitor: Visitor) -> str:
        async with visitor.client.get("/failures?owner=bob&format=csv") as response:
            return await response.text()

    head, *lines = browse(play).splitlines()
    assert head.startswith("job,task,name,owner,host,queue,result,ended")
    assert [line.split(",")[0] for line in lines] == [str(jobs[4]), str(jobs[3])]


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ({"failed": RESCHEDULED, "exit_status": 99}, "No failures"),
        ({"failed": OPENING_FILES}, "failed 26: opening input/output file"),
    ],
)
def test_an_attempt_that_runs_again_is_no_failure(followed: Followed, browse: Any, end: dict[str, int], text: str) -> None:
    _run(followed, "alice", **end)
    assert text in text_of(browse(lambda visitor: visitor.get("/failures")))
