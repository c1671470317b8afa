"""The pages of a real cell in a real browser, beside the commands: each shows the changes of the other."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.integration.cells import DemoCell, eventually
from tests.integration.web.browser import PHONE, Visits, confirm, go, log_in, overhang, serious_findings


@pytest.mark.statement("GU-12")
def test_a_job_is_seen_held_and_deleted(web_cell: DemoCell, visits: Visits) -> None:
    page = log_in(web_cell, visits)
    page.get_by_role("link", name="Jobs", exact=True).click()
    job = web_cell.must("qsub", "-terse", "-b", "y", "-N", "shown", "-l", "arch=nosuch", "sleep", "600").strip()
    row = page.get_by_role("row", name=re.compile(f"{job}.*shown"))
    expect(row).to_contain_text("waiting")  # without a reload
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Hold").click()
    expect(row).to_contain_text("held")
    expect(row.get_by_role("checkbox")).to_be_checked()  # it is the same job
    expect(page.locator("#answers")).to_contain_text(job)
    assert re.search(rf"^ *{job} .* hqw ", web_cell.must("qstat"), re.M)
    web_cell.must("qrls", job)
    expect(row).not_to_contain_text("held")
    row.get_by_role("link", name=job).click()
    expect(page.get_by_role("heading", name="Pending reason")).to_be_visible()
    expect(page.locator("main")).to_contain_text("qalter -l arch=")
    page.get_by_role("button", name="Delete").click()
    confirm(page)
    expect(page.locator("main")).to_contain_text("Finished")
    assert web_cell.command("qstat", "-j", job).returncode == 1


@pytest.mark.statement("GU-5")
def test_a_job_is_submitted_once_its_fault_is_fixed(web_cell: DemoCell, visits: Visits) -> None:
    page = log_in(web_cell, visits)
    go(page, "/submit?-N=fromform")
    page.get_by_label("Script").fill("#$ -h\nsleep 60\n")
    page.get_by_text("All options", exact=True).click()
    page.get_by_label("Priority").fill("5000")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#error-\\-p")).to_contain_text("from -1023 to 1024")
    expect(page.get_by_label("Priority")).to_be_focused()
    page.get_by_label("Priority").fill("-5")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#outcome .note")).to_contain_text("Would wait")
    expect(page.get_by_label("Script")).to_have_value("#$ -h\nsleep 60\n")
    assert "fromform" not in web_cell.must("qstat")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("main")).to_contain_text("has been submitted")
    assert re.search(r" fromform +\S+ +hqw ", web_cell.must("qstat"))
    web_cell.must("qdel", "fromform")


@pytest.mark.statement("GU-4")
def test_an_instance_is_put_aside_and_taken_back(web_cell: DemoCell, visits: Visits) -> None:
    page = log_in(web_cell, visits)
    go(page, "/instances")
    instance = f"all.q@{web_cell.host}"
    row = page.get_by_role("row", name=re.compile(re.escape(instance)))
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Disable").click()
    confirm(page)
    expect(row).to_contain_text("disabled")
    eventually("qstat shows it", lambda: re.search(r" d *$", web_cell.must("qstat", "-f"), re.M) is not None)
    web_cell.must("qmod", "-e", instance)
    expect(row).to_contain_text("ready")


@pytest.mark.statement("GU-9", "GU-10")
def test_slots_are_reserved_for_a_job_and_given_back(web_cell: DemoCell, visits: Visits) -> None:
    page = log_in(web_cell, visits)
    page.get_by_role("link", name="Reservations").click()
    page.get_by_role("link", name="Reserve", exact=True).click()
    page.get_by_label("Duration").fill("0:10:00")
    page.get_by_label("Name", exact=True).fill("browser")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("main")).to_contain_text("qrsub -d 0:10:00 -N browser")
    assert "browser" not in web_cell.must("qrstat", "-u", "*")
    page.get_by_role("button", name="Reserve", exact=True).click()
    expect(page.locator("main")).to_contain_text("granted")
    page.get_by_role("link", name="All reservations").click()
    row = page.get_by_role("row", name=re.compile("browser"))
    expect(row).to_contain_text("running")
    number = re.search(r"^ *(\d+) +browser", web_cell.must("qrstat", "-u", "*"), re.M)[1]  # type: ignore[index]
    job = web_cell.must("qsub", "-terse", "-b", "y", "-ar", number, "-o", "/dev/null", "-j", "y", "sleep", "600").strip()
    row.get_by_role("link", name=number, exact=True).click()
    expect(page.get_by_role("row", name=re.compile(f"^{job} "))).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    confirm(page)
    eventually("it is gone", lambda: "browser" not in web_cell.must("qrstat", "-u", "*"))


@pytest.mark.statement("GU-2")
def test_a_queue_is_cloned_changed_and_removed(web_cell: DemoCell, visits: Visits) -> None:
    page = log_in(web_cell, visits)
    go(page, "/config/cluster_queue/all.q")
    page.get_by_role("link", name="Clone").click()
    page.get_by_label("qname").fill("night.q")
    page.get_by_label("slots", exact=True).fill("x")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".error")).to_contain_text("slots")
    page.get_by_label("slots", exact=True).fill("3")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("main")).to_contain_text(f"night.q@{web_cell.host}")
    assert "night.q" not in web_cell.must("qconf", "-sql")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("added")
    assert re.search(r"^slots +3$", web_cell.must("qconf", "-sq", "night.q"), re.M)
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Remove").click()
    confirm(page)
    expect(page.locator("main")).to_contain_text("removed")
    assert "night.q" not in web_cell.must("qconf", "-sql")


def test_pages_of_a_login_have_no_serious_findings_and_fit_their_windows(web_cell: DemoCell, visits: Visits) -> None:
    """Pages of a login, and pages with live figures; test_every_page.py has all pages."""
    wide, phone = log_in(web_cell, visits), log_in(web_cell, visits, size=PHONE, scheme="dark")
    for path in ("/me", "/", "/hosts", f"/instances/all.q@{web_cell.host}"):
        for page in (wide, phone):
            go(page, path)
            assert overhang(page) == [], path
        assert serious_findings(wide) == [], path
    visits.close()


def test_a_used_login_link_is_refused(web_cell: DemoCell, visits: Visits) -> None:
    link = web_cell.must("gridengine", "web", "--login").strip()
    first = visits.open(link)
    first.get_by_role("button", name="Log in").click()
    expect(first.get_by_role("heading", name="Overview")).to_be_visible()
    page = visits.open(link)
    expect(page.get_by_role("heading", name="This link has been used, or is too old.")).to_be_visible()
    visits.forgive("403")
