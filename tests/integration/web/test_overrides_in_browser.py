"""Forms of the configuration in a browser, on a cell of forty hosts in this process: the matrix of a queue, typed controls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Cell
from tests.integration.web.browser import PHONE, Visits, go, overhang, serious_findings
from tests.integration.web.served_cell import ServedCell

HOSTS = 40


@pytest.fixture
def served(tmp_path: Path, visits: Visits) -> Iterator[ServedCell]:
    cell = Cell(tmp_path / "cell", HOSTS)
    cell.add("host_group", "@racks", hostlist="h1 h2 h3")
    cell.add("calendar", "nights", year="NONE", week="mon-fri=6-20=off")
    cell.add("cluster_queue", "long.q", hostlist="@racks")
    found = ServedCell(cell, tmp_path)
    yield found
    visits.close()
    found.stop()


def queue_of(served: ServedCell) -> dict[str, str]:
    """The attributes of all.q."""
    return dict(served.cell.state.kind("cluster_queue")["all.q"])


def check_layout(page: Page) -> None:
    assert serious_findings(page) == []
    assert overhang(page) == []


@pytest.mark.statement("GU-3")
def test_a_queue_is_changed_for_forty_hosts_with_a_preview_and_the_change_is_undone(served: ServedCell, visits: Visits) -> None:
    before = queue_of(served)
    page = visits.open(served.address + "/queues/all.q")
    page.get_by_role("link", name="Change overrides").click()
    expect(page.get_by_role("row")).to_have_count(HOSTS + 4)  # the head, the default, two groups
    page.get_by_label("Select all on this page").check()
    for name in ("all", "@allhosts", "@racks"):
        page.get_by_label(f"Select {name}", exact=True).uncheck()
    page.get_by_label("Attribute").select_option("slots")
    page.get_by_label("Value", exact=True).fill("16")
    page.get_by_role("button", name="Set for selected").click()
    expect(page.locator("main")).to_contain_text("queue instances get new values")
    expect(page.locator("td.changed")).to_have_count(HOSTS)
    page.get_by_label("slots of h7", exact=True).fill("")
    expect(page.locator("td.changed")).to_have_count(HOSTS - 1)
    assert queue_of(served) == before
    check_layout(page)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main .note")).to_contain_text("modified")
    assert queue_of(served)["slots"].count("=16]") == HOSTS - 1
    assert "[h7=" not in queue_of(served)["slots"]

    page.get_by_role("link", name="History").last.click()
    page.get_by_role("link", name="Undo…").first.click()
    page.get_by_role("button", name="Preview the undo").click()
    page.get_by_role("button", name="Undo this change").click()
    page.locator("dialog#confirm[open] button.danger").click()
    expect(page.get_by_role("link", name="Continue")).to_be_visible()
    assert queue_of(served) == before


def test_a_cell_of_the_shown_matrix_leads_to_its_field(served: ServedCell, visits: Visits) -> None:
    page = visits.open(served.address + "/queues/all.q/overrides?attribute=slots")
    page.get_by_label("slots of h2", exact=True).fill("many")
    page.get_by_label("slots of h2", exact=True).press("Enter")
    expect(page.locator("td .error")).to_contain_text("many")
    expect(page.get_by_label("slots of h2", exact=True)).to_be_focused()
    page.get_by_label("slots of h2", exact=True).fill("2")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main .note")).to_contain_text("modified")
    go(page, "/queues/all.q")
    page.get_by_role("link", name="Change slots of h2: 2").click()
    expect(page.get_by_label("slots of h2", exact=True)).to_have_value("2")
    expect(page.get_by_label("slots of h2", exact=True)).to_be_focused()


@pytest.mark.statement("GU-2")
def test_a_form_marks_changes_filters_attributes_and_shows_faults_during_typing(served: ServedCell, visits: Visits) -> None:
    page = visits.open(served.address + "/config/cluster_queue/all.q")
    for heading in ("General", "Limits", "Thresholds", "Methods", "Access", "Subordination", "Complexes"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    check_layout(page)
    page.get_by_label("slots", exact=True).fill("many")
    expect(page.locator("[data-attribute=slots] .error")).to_contain_text("many")
    page.get_by_label("slots", exact=True).fill("8")
    expect(page.locator("[data-attribute=slots] .error")).to_have_count(0)
    page.get_by_role("group", name="rerun").get_by_label("TRUE").check()
    page.get_by_label("h_rt", exact=True).fill("24:00:00")
    page.locator("[data-attribute=pe_list] summary").click()
    page.locator("[data-attribute=pe_list] button", has_text="smp").click()
    expect(page.get_by_label("pe_list", exact=True)).to_have_value("make mpi")
    expect(page.locator("[data-changed]")).to_have_text("4 changed")

    page.get_by_label("Changed only").check()
    expect(page.locator(".attribute:visible")).to_have_count(4)
    page.get_by_label("Changed only").uncheck()
    page.get_by_label("Find an attribute").fill("processor time")
    expect(page.get_by_label("h_cpu", exact=True)).to_be_visible()
    expect(page.get_by_label("tmpdir", exact=True)).to_be_hidden()
    page.get_by_label("Find an attribute").fill("")

    limit = page.locator("[data-attribute=h_rt]")
    limit.get_by_role("button", name="Unlimited").click()
    expect(page.get_by_label("h_rt", exact=True)).to_have_value("INFINITY")
    limit.get_by_role("button", name="Unlimited").click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main .note")).to_contain_text("modified")
    changed = {name: queue_of(served)[name] for name in ("slots", "rerun", "h_rt", "pe_list")}
    assert changed == {"slots": "8", "rerun": "TRUE", "h_rt": "24:00:00", "pe_list": "make mpi"}


@pytest.mark.parametrize(
    "path",
    ["/config/cluster_queue/all.q", "/queues/all.q/overrides?attribute=slots", "/config/configuration/global", "/queues/all.q"],
)
def test_forms_fit_a_phone(served: ServedCell, visits: Visits, path: str) -> None:
    check_layout(visits.open(served.address + path, PHONE))


@pytest.mark.statement("GU-2")
def test_queues_are_changed_together_without_scripts(served: ServedCell, visits: Visits) -> None:
    page = visits.open(served.address + "/config/cluster_queue", java_script_enabled=False)
    for name in ("all.q", "long.q"):
        page.get_by_label(f"Select {name}").check()
    page.get_by_role("button", name="Change the selected objects together").click()
    page.get_by_label("Attribute").select_option("calendar")
    page.get_by_role("button", name="Choose").click()
    page.get_by_label("Value", exact=True).fill("nights")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("main")).to_contain_text("nights")
    page.get_by_role("button", name="Change 2").click()
    expect(page.get_by_role("link", name="Continue")).to_be_visible()
    assert queue_of(served)["calendar"] == "nights"
