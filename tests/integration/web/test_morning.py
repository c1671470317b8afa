"""An administrator's morning in a browser: an alarm, a host put aside, a queue mended, a reservation by hand, a job in it."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.integration.cells import DemoCell, eventually
from tests.integration.web.browser import PATIENCE_MS, Visits, confirm, go, log_in


@pytest.mark.statement("GU-2", "GU-4", "GU-9", "GU-10", "GU-12")
def test_an_administrators_morning(web_cell: DemoCell, visits: Visits) -> None:
    instance = f"all.q@{web_cell.host}"
    web_cell.must("qconf", "-mattr", "queue", "prolog", "/nowhere/prolog", "all.q")
    page = log_in(web_cell, visits)
    night = ("-r", "y", "-N", "night", "-o", "/dev/null", "-j", "y", "sleep", "900")
    job = web_cell.must("qsub", "-terse", "-b", "y", *night).strip()
    see_the_alarm(page, instance)
    put_the_host_aside(page, web_cell, instance)
    fix_the_queue(page, web_cell, instance)
    page.get_by_role("link", name="Jobs", exact=True).click()
    row = page.get_by_role("row", name=re.compile(f"{job}.*night"))
    expect(row).to_contain_text("running")
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Reschedule").click()
    confirm(page)
    eventually("the job began anew", lambda: re.search(rf"^ *{job} .* Rr ", web_cell.must("qstat", "-s", "r"), re.M))
    reserve_by_hand_and_follow_a_job(page, web_cell)
    web_cell.must("qdel", job)


def see_the_alarm(page: Page, instance: str) -> None:
    """The overview says, without a reload, which instance is in error and why."""
    alarm = page.locator(".note").filter(has_text=f"warning: {instance}")
    expect(alarm).to_contain_text("prolog", timeout=2 * PATIENCE_MS)  # alarms begin once their condition has held
    alarm.get_by_role("link", name="Show").click()
    expect(page.locator("main")).to_contain_text("error")


def put_the_host_aside(page: Page, cell: DemoCell, instance: str) -> None:
    go(page, f"/instances/{instance}")
    expect(page.locator("main")).to_contain_text("prolog")
    page.get_by_role("button", name="Disable").click()
    confirm(page)
    eventually("it is put aside", lambda: re.search(r" dE? *$", cell.must("qstat", "-f"), re.M) is not None)


def fix_the_queue(page: Page, cell: DemoCell, instance: str) -> None:
    """With a preview of the change, which is not made before it is saved."""
    go(page, "/config/cluster_queue/all.q")
    page.get_by_label("prolog", exact=True).fill("NONE")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("main")).to_contain_text("get new values")
    assert "/nowhere/prolog" in cell.must("qconf", "-sq", "all.q")
    page.get_by_role("button", name="Save").click()
    eventually("it is mended", lambda: "/nowhere/prolog" not in cell.must("qconf", "-sq", "all.q"))
    go(page, f"/instances/{instance}")
    page.get_by_role("button", name="Clear error").click()
    page.get_by_role("button", name="Enable").click()
    expect(page.locator("main")).to_contain_text("ready")


def reserve_by_hand_and_follow_a_job(page: Page, cell: DemoCell) -> None:
    """Drag over the row of the host from now on, make the reservation of the form, see the bar, and run a job in it to its
    end."""
    go(page, "/reservations?view=time&span=6h")
    row = page.locator(f"g[data-queue='*@{cell.host}'] .row")
    box = row.bounding_box()
    now = page.locator(".timeline line.now").bounding_box()
    assert box is not None and now is not None
    middle, left = box["y"] + box["height"] / 2, now["x"]
    page.mouse.move(left + 60, middle)
    page.mouse.down()

    def marked() -> bool:
        page.mouse.move(left + 150, middle, steps=5)
        return page.locator(".dragged").is_visible()

    eventually("it is marked", marked)  # news of the page take the mark away until the pointer moves again
    page.mouse.up()
    expect(page.get_by_label("Queues", exact=True)).to_have_value(f"*@{cell.host}")
    start = page.get_by_label("Start", exact=True).input_value()
    assert re.fullmatch(r"\d{12}\.00", start)  # CCYYMMDDhhmm.SS, as -a takes it
    page.get_by_label("Start", exact=True).fill("")
    page.get_by_label("Duration").fill("0:10:00")
    page.get_by_label("Name", exact=True).fill("byhand")
    page.get_by_role("button", name="Reserve", exact=True).click()
    expect(page.locator("main")).to_contain_text("granted")
    number = re.search(r"^ *(\d+) +byhand", cell.must("qrstat", "-u", "*"), re.M)[1]  # type: ignore[index]
    go(page, "/reservations?view=time&span=6h")
    bar = page.locator(f".timeline a[href='/reservations/{number}']")
    expect(bar).to_have_count(1)
    expect(bar.locator("title")).to_have_text(re.compile(f"{number} byhand of .*: running"))
    assert matches_qrstat(page, number, cell)
    job = cell.must("qsub", "-terse", "-b", "y", "-ar", number, "-o", "/dev/null", "-j", "y", "sleep", "2").strip()
    go(page, f"/jobs/{job}")
    expect(page.locator("main")).to_contain_text("Finished")
    eventually("it is recorded", lambda: re.search(rf"^arid +{number} *$", cell.command("qacct", "-j", job).stdout, re.M))
    go(page, f"/reservations/{number}")
    page.get_by_role("button", name="Delete", exact=True).click()
    confirm(page)
    eventually("it is gone", lambda: "byhand" not in cell.must("qrstat", "-u", "*"))


def matches_qrstat(page: Page, number: str, cell: DemoCell) -> bool:
    """Whether a bar begins and ends, to a pixel, where the times of qrstat are on the scale."""
    shown = cell.must("qrstat", "-ar", number)
    times = [
        time.mktime(time.strptime(re.search(rf"^{name} +(.*)$", shown, re.M)[1].strip(), "%m/%d/%Y %H:%M:%S"))  # type: ignore[index]
        for name in ("start_time", "end_time")
    ]
    scale = page.locator(".timeline svg").evaluate("(svg) => ({...svg.dataset})")
    begin, end, left, wide = (float(scale[name]) for name in ("begin", "end", "left", "wide"))
    bar = page.locator(f".timeline a[href='/reservations/{number}'] rect")
    x, width = (float(bar.get_attribute(name) or 0) for name in ("x", "width"))
    expected = [left + (when - begin) / (end - begin) * wide for when in times]
    return abs(x - expected[0]) <= 1 and abs(x + width - expected[1]) <= 1.5
