"""Reports: the page with its tabs, rows and sentences, the CSV file, the REST API, and the page of the visitor's usage."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from pathlib import Path
from typing import Any

import pytest

from daemons.web.reports import report_source
from daemons.web.reports.report_source import ReportError, ReportSource
from gridengine.usage.periods import Period
from tests.accounting_lines import accounting_line
from tests.unit.web.access_server import AccessServer, log_in
from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import Followed, read_figures, web_of

DAY = 86_400.0


@pytest.fixture
def accounting(tmp_path: Path) -> Path:
    """Tasks of the last days: two of alice, one of which failed, and one of bob; and one of the 30 days before."""
    now = time.time()
    path = tmp_path / "accounting"
    path.write_bytes(b"".join([
        accounting_line(now - 100 * DAY, 10),
        accounting_line(now - 40 * DAY, 3600),
        accounting_line(now - 5 * DAY, 7200, waited=60, cpu=3600, project="physics"),
        accounting_line(now - 2 * DAY, 3600, waited=120, exit_status=3, job_number=12, job_name="broken"),
        accounting_line(now - DAY, 36_000, owner="bob", slots=2, hostname="h2"),
    ]))
    return path


def test_groups_have_their_figures_beside_the_period_before(followed: Followed, accounting: Path, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get("/reports?period=30d"))
    found = {row[0]: row for row in rows(page)}
    assert list(found) == ["bob", "alice"]
    alice = found["alice"]
    assert alice[1:4] == ["2 +100 %", "3.0 +200 %", "13 % 13 %"]
    assert alice[4] == "00:01:30"
    assert alice[-2:] == ["1 50 %", "1.0"]
    text = text_of(page)
    assert "3 tasks" not in text and "23.0 slot hours" in text
    assert "Incomplete" not in text


@pytest.mark.parametrize(("by", "names"), [("project", ["NONE", "physics"]), ("queue", ["all.q"]), ("host", ["h2", "h1"])])
def test_each_tab_has_its_groups(followed: Followed, accounting: Path, browse: Any, by: str, names: list[str]) -> None:
    page = browse(lambda visitor: visitor.get(f"/reports?period=30d&by={by}"))
    assert [row[0] for row in rows(page)] == names
    current = [each.text for each in page.iterfind(".//nav[@class='tabs']/a[@aria-current]")]
    assert len(current) == 2, "the tabs of the group and of the period"
    links = [each.get("href") for each in page.iterfind(".//th[@scope='row']/a")]
    assert links == {"project": [], "queue": ["/queues/all.q"], "host": ["/hosts/h2", "/hosts/h1"]}[by]


def test_records_that_do_not_reach_back_are_reported(followed: Followed, accounting: Path, browse: Any) -> None:
    text = text_of(browse(lambda visitor: visitor.get("/reports?period=365d")))
    assert "Incomplete" in text and "The records begin on" in text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("period=soon", '"soon" is no period'), ("from=2026-02-03&to=2026-02-01", "the first day is after the last"),
        ("from=2020-01-01&to=2020-01-05", "No tasks"), ("by=nonsense&period=30d", "Report by User"),
    ],
)
def test_other_periods_have_an_answer(followed: Followed, accounting: Path, browse: Any, query: str, text: str) -> None:
    assert text in text_of(browse(lambda visitor: visitor.get(f"/reports?{query}")))


def test_without_the_file_the_page_has_the_reason(followed: Followed, browse: Any) -> None:
    assert "accounting: No such file or directory" in text_of(browse(lambda visitor: visitor.get("/reports")))


def test_the_file_has_all_groups(followed: Followed, accounting: Path, browse: Any) -> None:
    async def play(visitor: Visitor) -> str:
        async with visitor.client.get("/reports?period=30d&format=csv") as response:
            return await response.text()

    found = list(csv.DictReader(io.StringIO(browse(play))))
    assert [(row["name"], row["tasks"], row["slot_hours"], row["failed"]) for row in found] == [
        ("bob", "1", "20.0", "0"), ("alice", "2", "3.0", "1"),
    ]


def test_programs_get_the_report(followed: Followed, accounting: Path, browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        good = await visitor.json("/api/v1/reports?by=host&period=30d")
        return good, [await visitor.json(f"/api/v1/reports?{query}") for query in ("by=colour", "period=soon")]

    (status, data), refused = browse(play)
    assert (status, [row["name"] for row in data["rows"]]) == (200, ["h2", "h1"])
    assert data["total"]["tasks"] == 3
    assert [(status, answer["detail"].partition(":")[0].partition(",")[0]) for status, answer in refused] == [
        (400, "by must be one of user"), (400, '"soon" is no period'),
    ]


def test_my_page_has_usage_failures_hints_and_quotas(
    followed: Followed, accounting: Path, at: Any, access_server: AccessServer
) -> None:
    with accounting.open("ab") as file:
        for _ in range(3):
            file.write(accounting_line(time.time() - DAY, 60, cpu=60, category="-l h_vmem=8G", maxvmem=200 * 2**20))
    followed.cell.add("resource_quota", "people", enabled="TRUE", limit="name each users {*} to slots=500")
    followed.cell.submit()
    followed.cell.cycle()
    followed.cell.master.flush()
    followed.take()

    async def play(client: Any) -> Any:
        await log_in(client, access_server)
        return await Visitor(client, None).get("/me")  # type: ignore[arg-type]

    page = at(play)
    assert [row[:3] for row in rows(page)] == [["7 days", "5", "3.0"], ["30 days", "5", "3.0"]]
    text = text_of(page)
    assert "asked for 8 G, used 200 M at most, in 3 of 3 tasks of the last 30 days: -l h_vmem=400M would do" in text
    assert ["12", "broken", "exit status 3"] in [row[:3] for row in rows(page, 2)]
    assert "My quotas" in text and "1 of 500" in text
    assert "Sessions and tokens" in text


async def _source(followed: Followed, directory: Path, run: Any, now: list[float]) -> ReportSource:
    shared, _ = web_of(followed, directory)
    return ReportSource(shared.cell, shared.mirror, shared.read, run, lambda: now[0])


PERIODS = Period("30d", 1e9, 2e9), Period("", 1e8, 1e9)


def test_figures_are_read_once_and_kept_for_a_while(followed: Followed, accounting: Path, tmp_path: Path) -> None:
    asked: list[Any] = []
    now = [0.0]

    async def run(request: Any) -> Any:
        asked.append(request)
        return await read_figures(request)

    async def play() -> None:
        source = await _source(followed, tmp_path, run, now)
        await asyncio.gather(*(source.report("user", *PERIODS) for _ in range(5)))
        await source.report("host", *PERIODS)
        assert [each["by"] for each in asked] == ["user", "host"]
        now[0] += report_source.KEPT_S + 1
        await source.report("user", *PERIODS)
        assert len(asked) == 3
        await source.stop()

    asyncio.run(play())


def test_a_visitor_does_not_wait_for_a_slow_report_and_finds_it_later(
    followed: Followed, accounting: Path, tmp_path: Path
) -> None:
    async def play() -> None:
        may_go = asyncio.Event()

        async def run(request: Any) -> Any:
            await may_go.wait()
            return await read_figures(request)

        source = await _source(followed, tmp_path, run, [0.0])
        assert await source.report("user", *PERIODS, 0.0) is None
        with pytest.raises(ReportError, match="too many reports"):
            for number in range(report_source.MOST_WAITING + 2):
                await source.usage(f"user{number}", 0.0)
        may_go.set()
        found = await source.report("user", *PERIODS, 60.0)
        assert found is not None and found.table.total.tasks > 0
        await source.stop()

    asyncio.run(play())


def test_a_failure_is_not_kept_for_long(followed: Followed, tmp_path: Path) -> None:
    now = [0.0]

    async def play() -> None:
        source = await _source(followed, tmp_path, read_figures, now)
        with pytest.raises(ReportError, match="cannot read"):
            await source.report("user", *PERIODS)
        (tmp_path / "accounting").write_bytes(b"")
        now[0] += 11
        assert await source.report("user", *PERIODS) is not None
        await source.stop()

    asyncio.run(play())
