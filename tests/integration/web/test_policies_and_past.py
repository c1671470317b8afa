"""Quotas, the share tree, the history and messages of a real cell in a real browser, beside the commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.integration.cells import DemoCell, eventually
from tests.integration.web.browser import Visits, confirm, go, log_in

QUOTAS = "{\n name few\n enabled TRUE\n limit name people users {*} to slots=8\n}\n"
PROJECT = "name web\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n"


@pytest.mark.statement("RQ-7")
def test_a_bar_shows_what_qquota_counts(web_cell: DemoCell, visits: Visits, tmp_path: Path) -> None:
    (tmp_path / "quotas").write_text(QUOTAS)
    web_cell.must("qconf", "-Arqs", str(tmp_path / "quotas"))
    page = log_in(web_cell, visits)
    go(page, "/quotas")
    expect(page.get_by_role("heading", name="Nothing is in use")).to_be_visible()
    job = web_cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "sleep", "600").strip()
    eventually("it counts", lambda: "few/people" in web_cell.must("qquota"))
    used, limit = re.search(r"few/people +slots=(\d+)/(\d+)", web_cell.must("qquota")).groups()  # type: ignore[union-attr]
    row = page.get_by_role("row", name="few/people")
    expect(row.get_by_role("img", name=f"{used} of {limit} in use")).to_be_visible()  # without a reload
    web_cell.must("qdel", job)
    expect(page.get_by_role("heading", name="Nothing is in use")).to_be_visible()
    web_cell.must("qconf", "-drqs", "few")


@pytest.mark.statement("GU-2", "GU-12")
def test_a_change_of_a_queue_is_undone_unless_a_later_change_followed(web_cell: DemoCell, visits: Visits) -> None:
    def seq_no() -> str:
        return re.search(r"^seq_no +(\S+)$", web_cell.must("qconf", "-sq", "all.q"), re.M)[1]  # type: ignore[index]

    before = seq_no()
    page = log_in(web_cell, visits)
    go(page, "/history?kind=cluster_queue&name=all.q")
    web_cell.must("qconf", "-mattr", "queue", "seq_no", "77", "all.q")
    page.get_by_role("row", name=re.compile("seq_no.*77")).get_by_role("link", name=re.compile("Undo")).click()
    page.get_by_role("button", name="Preview the undo").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    assert seq_no() == "77"
    web_cell.must("qconf", "-mattr", "queue", "seq_no", "78", "all.q")
    page.get_by_role("button", name="Undo this change").click()
    confirm(page)
    expect(page.get_by_role("row", name=re.compile(f"seq_no 77 78 {before}"))).to_be_visible()
    assert seq_no() == "78"
    web_cell.must("qconf", "-mattr", "queue", "seq_no", "77", "all.q")
    page.get_by_role("button", name="Preview the undo").click()
    page.get_by_role("button", name="Undo this change").click()
    confirm(page)
    expect(page.locator("main")).to_contain_text("modified")
    assert seq_no() == before


@pytest.mark.statement("QF-32", "PR-11")
def test_shares_of_a_node_are_set_in_place(web_cell: DemoCell, visits: Visits, tmp_path: Path) -> None:
    (tmp_path / "project").write_text(PROJECT)
    web_cell.must("qconf", "-Aprj", str(tmp_path / "project"))
    page = log_in(web_cell, visits)
    page.get_by_role("link", name="Policies").click()
    expect(page.get_by_role("heading", name="No share tree")).to_be_visible()
    page.get_by_label("Path of a new node").fill("/web")
    page.get_by_label("Shares", exact=True).fill("10")
    page.get_by_role("button", name="Add").click()
    shares = page.get_by_label("Shares of /web", exact=True)
    expect(shares).to_have_value("10")
    shares.fill("40")
    page.get_by_role("button", name="Set the shares of /web").click()
    eventually("qconf shows it", lambda: re.search(r"name=web\ntype=1\nshares=40$", web_cell.must("qconf", "-sstree"), re.M))
    web_cell.must("qconf", "-mstnode", "/web=25")
    page.get_by_role("heading", name="Policies").click()  # what is typed in stays as long as one is in the field
    expect(shares).to_have_value("25")
    web_cell.must("qconf", "-dstree")
    expect(page.get_by_role("heading", name="No share tree")).to_be_visible()
    web_cell.must("qconf", "-dprj", "web")


@pytest.mark.statement("QM-1", "GC-4")
def test_pages_show_the_user_who_disabled_an_instance_and_the_messages_of_the_qmaster(web_cell: DemoCell, visits: Visits) -> None:
    instance = f"all.q@{web_cell.host}"
    page = log_in(web_cell, visits)
    go(page, f"/instances/{instance}")
    web_cell.must("qmod", "-d", instance)
    expect(page.locator("main")).to_contain_text(re.compile(r"d since \d+-.* by \S+@node0"))
    web_cell.must("qmod", "-e", instance)
    expect(page.locator("main")).not_to_contain_text("d since")
    lines = (web_cell.place / "spool" / "qmaster" / "messages").read_text().splitlines()
    page.get_by_role("link", name="Messages").click()
    *_, last = (fields[4] for line in lines if len(fields := line.split("|", 4)) == 5)
    expect(page.get_by_role("row").filter(has_text=last[:40])).not_to_have_count(0)


def test_an_ended_job_is_in_the_report_of_the_page_and_of_the_command(web_cell: DemoCell, visits: Visits) -> None:
    web_cell.must("qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "-j", "y", "sleep", "1")

    def tasks() -> int:
        report = json.loads(web_cell.must("gridengine", "report", "--period", "30d", "--format", "json"))
        return int(report["total"]["tasks"])

    eventually("the record is in the file", lambda: tasks() > 0)
    page = log_in(web_cell, visits)
    go(page, "/reports?by=host&period=30d")
    expect(page.get_by_role("row", name=re.compile("^node"))).to_be_visible(timeout=60_000)
    go(page, "/me")
    expect(page.get_by_role("row", name=re.compile("^30 days"))).to_be_visible(timeout=60_000)
