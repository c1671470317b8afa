"""The configuration and its effects, in a browser, beside qconf, qstat and qhost: each object that the pages know."""

from __future__ import annotations

import json
import re
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.integration.cells import DemoCell, eventually
from tests.integration.web.browser import Visits, confirm, go, log_in


@pytest.fixture
def page(web_cell: DemoCell, visits: Visits) -> Page:
    return log_in(web_cell, visits)


def add_group(cell: DemoCell, name: str) -> None:
    """A host group with the cell's host."""
    (cell.work / name).write_text(f"group_name {name}\nhostlist {cell.host}\n")
    cell.must("qconf", "-Ahgrp", name)


@pytest.mark.statement("GU-1")
def test_host_groups_are_made_cloned_changed_and_removed_along_their_graph(web_cell: DemoCell, page: Page) -> None:
    page.get_by_role("link", name="Host groups").click()
    page.get_by_role("link", name="Add").click()
    page.get_by_label("group_name").fill("@rack")
    page.get_by_label("hostlist").fill(web_cell.host)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("added")
    assert web_cell.host in web_cell.must("qconf", "-shgrp", "@rack")

    go(page, "/hostgroups?group=@rack")
    page.get_by_role("link", name="Clone").click()
    page.get_by_label("group_name").fill("@racks")
    page.get_by_label("hostlist").fill("@rack")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("added")
    go(page, "/hostgroups?group=@racks")
    expect(page.get_by_role("link", name=re.compile("@rack: 1 hosts"))).to_be_visible()
    assert f"@racks\n   @rack\n      {web_cell.host}" in web_cell.must("qconf", "-shgrp_tree", "@racks")

    go(page, "/config/host_group/@rack")
    page.get_by_label("hostlist").fill("@racks")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main .notes")).to_contain_text("@racks")  # a circle
    assert web_cell.host in web_cell.must("qconf", "-shgrp", "@rack")
    for name in ("@racks", "@rack"):
        go(page, f"/config/host_group/{name}")
        page.get_by_role("button", name="Remove").click()
        confirm(page)
        expect(page.locator("main")).to_contain_text("removed")
    assert "@rack" not in web_cell.must("qconf", "-shgrpl")


@pytest.mark.statement("GU-3", "GU-8")
def test_a_queue_shows_what_each_host_gets_and_what_is_ambiguous_or_detached(web_cell: DemoCell, page: Page) -> None:
    host = web_cell.host
    for group in ("@one", "@two"):
        add_group(web_cell, group)
    web_cell.must("qconf", "-mattr", "queue", "slots", "2,[@one=3],[@two=4]", "all.q")
    web_cell.must("qconf", "-mattr", "queue", "priority", f"0,[{host}=5]", "all.q")
    go(page, "/queues/all.q")
    row = page.get_by_role("row", name=re.compile(f"^{re.escape(host)}"))
    expect(row).to_contain_text("ambiguous")
    expect(row.get_by_role("cell").filter(has_text="5")).to_contain_text(host)
    eventually("qstat has it, too", lambda: re.search(r" c *$", web_cell.must("qstat", "-f"), re.M) is not None)
    web_cell.must("qconf", "-purge", "queue", "slots", "all.q@@two")
    expect(row).not_to_contain_text("ambiguous")  # without a reload
    web_cell.must("qconf", "-rattr", "hostgroup", "hostlist", "NONE", "@one")
    expect(page.get_by_role("heading", name="Detached settings")).to_be_visible()
    assert "@one" in web_cell.command("qconf", "-sds").stdout
    for attribute, identifier in (("slots", "@one"), ("priority", host)):
        web_cell.must("qconf", "-purge", "queue", attribute, f"all.q@{identifier}")
    for name in ("@one", "@two"):
        web_cell.must("qconf", "-dhgrp", name)
    go(page, "/config/cluster_queue/all.q")
    expect(page.get_by_label("complex_values", exact=True)).to_be_visible()
    assert page.locator("[name='attr complex_list']").count() == 0
    go(page, f"/config/exec_host/{host}")
    expect(page.get_by_label("complex_values", exact=True)).to_be_visible()
    assert page.locator("[name='attr complex_list']").count() == 0


@pytest.mark.statement("GU-6")
def test_parallel_and_checkpointing_environments_have_no_queue_list_and_queues_have_theirs(page: Page) -> None:
    for kind in ("parallel_environment", "checkpoint"):
        go(page, f"/config/{kind}/+")
        expect(page.get_by_role("button", name="Save")).to_be_visible()
        assert page.locator("[name='attr queue_list']").count() == 0
    go(page, "/config/cluster_queue/all.q")
    for name in ("pe_list", "ckpt_list", "qtype"):
        expect(page.get_by_label(name, exact=True)).to_be_visible()
    page.get_by_label("qtype", exact=True).fill("BATCH PARALLEL")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".error")).to_contain_text("qtype")


@pytest.mark.statement("GU-7")
def test_only_choices_that_go_together_can_be_chosen(web_cell: DemoCell, page: Page) -> None:
    go(page, "/complexes/edit")
    row = page.locator("#row-new-0")
    row.get_by_label("name", exact=True).fill("licence")
    row.get_by_label("shortcut").fill("lic")
    row.get_by_label("type").select_option("STRING")
    assert row.get_by_label("relop").locator("option:not([disabled])").all_text_contents() == ["==", "!="]
    assert row.get_by_label("consumable").locator("option:not([disabled])").all_text_contents() == ["NO"]
    expect(row.get_by_label("default")).to_have_value("NONE")
    row.get_by_label("type").select_option("INT")
    row.get_by_label("relop").select_option("<=")
    row.get_by_label("consumable").select_option("YES")
    row.get_by_label("default").fill("1")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("main")).to_contain_text("licence is added")
    assert "licence" not in web_cell.must("qconf", "-sc")
    page.get_by_role("button", name="Commit").click()
    expect(page.get_by_role("link", name="All complexes")).to_be_visible()
    assert re.search(r"^licence +lic +INT +<= +YES +YES +1 +0$", web_cell.must("qconf", "-sc"), re.M)
    go(page, "/complexes/edit")
    page.get_by_label("Remove licence").check()
    page.get_by_role("button", name="Commit").click()
    confirm(page)
    expect(page.get_by_role("link", name="All complexes")).to_be_visible()
    assert "licence" not in web_cell.must("qconf", "-sc")


@pytest.mark.statement("GU-11")
def test_the_reservation_of_a_job_is_seen_and_changed(web_cell: DemoCell, page: Page) -> None:
    first, second = (
        re.search(r"\d+", web_cell.must("qrsub", "-a", "203001010000", "-d", "60"))[0] for _ in range(2)  # type: ignore[index]
    )
    job = web_cell.must("qsub", "-terse", "-b", "y", "-h", "-ar", first, "sleep", "1").strip()
    go(page, f"/jobs/{job}")
    expect(page.get_by_role("link", name=first, exact=True)).to_be_visible()
    page.get_by_role("link", name="Change").click()
    page.get_by_label("Reservation").fill("999999")
    expect(page.locator("#outcome")).to_contain_text("999999")  # while it is typed
    page.get_by_label("Reservation").fill(second)
    page.get_by_role("button", name="Change", exact=True).click()
    eventually("the job has it", lambda: re.search(rf"^ar_id: +{second}$", web_cell.must("qstat", "-j", job), re.M) is not None)
    web_cell.must("qdel", job)
    web_cell.must("qrdel", first, second)


@pytest.mark.statement("GU-13")
def test_resources_of_an_instance_with_their_origins(web_cell: DemoCell, page: Page) -> None:
    instance = f"all.q@{web_cell.host}"
    go(page, f"/instances/{instance}")
    lines = re.findall(r"^\t(\w\w):(\w+)=(.*)$", web_cell.must("qstat", "-F", "arch,slots,num_proc,qname", "-q", instance), re.M)
    assert len(lines) == 4
    for option, name, value in lines:
        row = page.get_by_role("row", name=re.compile(f"^{name} "))
        expect(row).to_contain_text(value)
        expect(row).to_contain_text(option)


@pytest.mark.statement("DM-5", "GU-12")
def test_a_program_does_the_same_through_the_api(web_cell: DemoCell) -> None:
    token = web_cell.must("gridengine", "web", "--token").strip()
    port = re.search(r"port (\d+)", (web_cell.common / "web").read_text())[1]  # type: ignore[index]

    def ask(method: str, path: str, body: object = None) -> dict[str, object]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"http://localhost:{port}/api/v1{path}", data, method=method)
        request.add_header("Authorization", f"Bearer {token}")
        with urlopen(request) as response:
            found: dict[str, object] = json.load(response)
            return found

    job = ask("POST", "/jobs", {"binary": True, "script_file": "/bin/sleep", "args": ["600"], "name": "api", "holds": "u"})
    number = job["data"]["job_id"]  # type: ignore[index]
    assert re.search(rf"^ *{number} .* api .* hqw ", web_cell.must("qstat"), re.M)
    assert ask("GET", f"/jobs/{number}")["name"] == "api"
    assert "would" not in str(ask("DELETE", f"/jobs/{number}?dry_run=true"))
    assert web_cell.command("qstat", "-j", str(number)).returncode == 0
    ask("DELETE", f"/jobs/{number}")
    assert web_cell.command("qstat", "-j", str(number)).returncode == 1
