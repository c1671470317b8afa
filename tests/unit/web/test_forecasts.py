"""The forecast of a job in the browser and in the REST API."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.forecast.calibration import CLASSES_S
from tests.unit.web.browsing import Visitor, text_of
from tests.unit.web.followed import Followed


@pytest.fixture
def waiting(followed: Followed, forecasts_in_process: None) -> int:
    """A job that waits behind another job for the end of an array."""
    cell = followed.cell
    cell.submit(name="full", tasks="1-12", hard=["h_rt=100"])
    cell.cycle()
    cell.submit(name="high")
    job = cell.submit(name="low", priority=-100)
    cell.cycle()
    cell.master.flush()
    return int(job)


@pytest.mark.statement("PR-1", "GU-12")
def test_the_page_has_the_expected_start_and_the_terms_of_the_priority(waiting: int, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get(f"/jobs/{waiting}/forecast"))
    text = text_of(page.find(".//main"))
    assert "if no job ends before its limit: 2027-01-15 08:01:40" in text
    assert "Place 2 of 2, with priority 0.50617." in text
    assert "(-100 + 1024) / 2048" in text
    assert "high of alice, 0.55500: priority +0.04883" in text
    assert f"qalter -p 1 {waiting}" in text


def test_the_page_of_a_pending_job_leads_to_its_forecast(waiting: int, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get(f"/jobs/{waiting}"))
    assert page.xpath(f"//a[@href='/jobs/{waiting}/forecast']")
    running = browse(lambda visitor: visitor.get("/jobs/1"))
    assert not running.xpath("//a[@href='/jobs/1/forecast']")


def test_a_running_job_has_no_expected_start_on_its_page(waiting: int, browse: Any) -> None:
    text = text_of(browse(lambda visitor: visitor.get("/jobs/1/forecast")).find(".//main"))
    assert "Expected start It is not pending." in text
    assert "Place among the pending jobs None: it runs, with priority 0.55500." in text


@pytest.mark.parametrize("job", ["99", "x", "12345678"])
def test_a_job_that_does_not_exist_has_no_forecast(waiting: int, browse: Any, job: str) -> None:
    async def play(visitor: Visitor) -> int:
        await visitor.get(f"/jobs/{job}/forecast")
        return visitor.status

    assert browse(play) == 404


@pytest.mark.statement("GU-12")
def test_the_api_has_start_priority_and_duration(waiting: int, browse: Any) -> None:
    async def play(visitor: Visitor) -> list[Any]:
        return [(await visitor.json(f"/api/v1/jobs/{waiting}/{name}"))[1] for name in ("start", "priority", "duration")]

    start, priority, duration = browse(play)
    assert start["latest"] == start["earliest"] > 0
    assert (priority["place"], priority["before_count"]) == (2, 1)
    assert (duration["limit"], duration["estimate"]) == (None, None)


def test_the_api_has_the_figures_of_past_forecasts(waiting: int, browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        return (await visitor.json("/api/v1/forecasts"))[1]

    found = browse(play)
    assert [row["up_to"] for row in found["classes"]] == [*CLASSES_S[:-1], None]
    assert {row["count"] for row in found["classes"]} == {0}
