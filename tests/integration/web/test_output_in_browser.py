"""The tools above the output of a task, in a browser: search, wrapped lines, and a pause; over a cell in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gridengine.protocols.delivery import OutputTail
from tests.harness import Cell
from tests.integration.web.browser import PHONE, Visits, overhang, resize, serious_findings
from tests.integration.web.served_cell import ServedCell
from tests.unit.web.followed import ALICE

TEXT = "Step 1\nstep 2 " + 200 * "long " + "\nlast\n"


@pytest.fixture
def output(visits: Visits, tmp_path: Path) -> Iterator[ServedCell]:
    """A cell with the running job 1, which has an output."""
    cell = Cell(tmp_path / "cell")
    cell.submit(name="talks")
    cell.cycle()
    served = ServedCell(cell, tmp_path, ALICE)
    served.link.tail = OutputTail("/home/alice/talks.o1", len(TEXT), 0, TEXT)
    yield served
    visits.close()
    served.stop()


@pytest.mark.statement("GU-12")
def test_the_visitor_searches_wraps_and_pauses_the_output(visits: Visits, output: ServedCell) -> None:
    page = visits.open(f"{output.address}/jobs/1")
    pane = page.get_by_role("region", name="stdout")
    expect(pane).to_contain_text("last")
    page.get_by_label("Find in this output").fill("step")
    expect(page.locator("[data-found]")).to_have_text("2 matches")
    assert page.evaluate("CSS.highlights.get('found').size") == 2
    is_wide = "(pane) => pane.scrollWidth > pane.clientWidth"
    assert pane.evaluate(is_wide)
    page.get_by_label("Wrap lines").check()
    assert not pane.evaluate(is_wide)
    page.get_by_label("Follow").uncheck()
    output.link.tail = OutputTail("/home/alice/talks.o1", 5, 0, "step 3\n")
    page.wait_for_timeout(9000)  # two requests of the page
    expect(pane).to_contain_text("last")
    page.get_by_label("Follow").check()
    expect(pane).to_contain_text("step 3")
    expect(page.locator("[data-found]")).to_have_text("1 match")
    assert serious_findings(page) == []
    resize(page, PHONE)
    assert overhang(page) == []
