"""A change that is tried in a form: its effects on jobs and reservations before it is saved."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.qmaster.serve.requests import forecasting
from gridengine.protocols.gdi.requests import Answer
from tests.unit.web.browsing import Visitor, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed
from tests.unit.web.test_configuration_pages import change, form_of, stored

SCHEDULER, QUEUE = "/config/scheduler/-", "/config/cluster_queue/all.q"


@pytest.fixture
def waiting(followed: Followed, forecasts_in_process: None) -> tuple[int, int]:
    """All slots are taken; a wide job waits behind a slim job."""
    cell = followed.cell
    cell.add("parallel_environment", "two", slots="99", allocation_rule="$fill_up")
    cell.configure("cluster_queue", "all.q", pe_list="two")
    cell.submit(name="full", pe="two", pe_range="12", hard=["h_rt=100"])
    cell.cycle()
    wide = cell.submit(name="wide", pe="two", pe_range="12", hard=["h_rt=60"], priority=-300)
    slim = cell.submit(name="slim", hard=["h_rt=60"])
    cell.cycle()
    cell.master.flush()
    return wide, slim


@pytest.mark.statement("GU-12", "PR-1")
def test_a_weight_is_tried_before_it_is_saved(followed: Followed, waiting: tuple[int, int], browse: Any) -> None:
    wide, slim = waiting
    page = browse(lambda visitor: change(visitor, SCHEDULER, "try", weight_urgency="1"), ROOT)
    (panel,) = page.xpath("//section[@id='trial']")
    assert "Places of pending jobs: 2" in text_of(panel)
    assert "Expected starts: 2" in text_of(panel)
    places, starts = panel.xpath(".//table")
    assert [text_of(row) for row in places.xpath(".//tbody/tr")] == [f"{wide} wide alice 2 1", f"{slim} slim alice 1 2"]
    assert [link.get("href") for link in starts.xpath(".//tbody//a")] == [f"/jobs/{wide}", f"/jobs/{slim}"]
    assert stored(followed, "scheduler", "")["weight_urgency"] == "0.100000"  # type: ignore[index]
    assert page.xpath("//input[@name='attr weight_urgency']")[0].get("value") == "1", "it can be saved"


def test_a_change_without_effects_has_a_sentence(waiting: tuple[int, int], browse: Any) -> None:
    page = browse(lambda visitor: change(visitor, SCHEDULER, "try", weight_urgency="0.05"), ROOT)
    assert "No effect on queue states, reservations, running tasks and 2 pending jobs." in text_of(page.find(".//main"))


@pytest.mark.statement("GU-6", "CA-2")
def test_overrides_of_a_queue_are_tried_too(followed: Followed, waiting: tuple[int, int], browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        page = await visitor.get("/queues/all.q/overrides?attribute=slots")
        before = page.xpath("//input[@name='before']")[0].get("value")
        fields = {"before": before, "column": "slots", "cell slots h3": "0", "do": "try"}
        return await visitor.send("/queues/all.q/overrides", fields)

    panel = browse(play, ROOT).xpath("//section[@id='trial']")[0]
    assert "Pending jobs that could never start: 1" in text_of(panel)
    assert "wide" in text_of(panel)


def test_a_refused_change_and_a_visitor_without_rights_get_no_effects(waiting: tuple[int, int], browse: Any) -> None:
    page = browse(lambda visitor: change(visitor, QUEUE, "try", slots="x"), ROOT)
    assert not page.xpath("//section[@id='trial']")
    assert page.xpath("//*[@aria-invalid='true' and @name='attr slots']")
    assert not browse(lambda visitor: visitor.get(QUEUE), ALICE).xpath("//button[@value='try']")


def test_a_form_that_a_visitor_without_rights_sends_themselves_is_refused(waiting: tuple[int, int], browse: Any) -> None:
    fields = browse(lambda visitor: visitor.get(SCHEDULER), ROOT)
    sent = form_of(fields) | {"attr weight_urgency": "1", "do": "try"}

    page = browse(lambda visitor: visitor.send(SCHEDULER, sent), ALICE)
    assert not page.xpath("//section[@id='trial']//table")
    assert "manager" in text_of(page.find(".//main"))


def test_without_the_process_of_forecasts_the_preview_is_shown_alone(
    waiting: tuple[int, int], browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(spool: str, question: bytes) -> Answer:
        return Answer(1, [("error", "cannot forecast: No module named daemons.forecast")])

    monkeypatch.setattr(forecasting, "ask_process", missing)
    text = text_of(browse(lambda visitor: change(visitor, QUEUE, "try", hostlist="h1"), ROOT).find(".//main"))
    assert "cannot forecast: No module named daemons.forecast" in text
    assert "all.q@h3" in text
