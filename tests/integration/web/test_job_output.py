"""The output of a job, seen by its owner alone while it runs, in a real cell with real users and files."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import needs
from tests.integration.cells import DemoCell, eventually, need_user
from tests.integration.web.browser import PHONE, Visits, go, overhang, serious_findings

pytestmark = needs.root
SECRET = "of root alone"


@pytest.fixture
def place(web_cell: DemoCell) -> Iterator[Path]:
    """A directory of alice's."""
    for user in ("alice", "bob"):
        need_user(user)
    directory = web_cell.work / "alices"
    directory.mkdir(exist_ok=True)
    os.chown(directory, pwd.getpwnam("alice").pw_uid, -1)
    yield directory
    web_cell.command("qdel", "-u", "alice")
    eventually("no job is left", lambda: web_cell.must("qstat", "-u", "*") == "")


def run_as(cell: DemoCell, user: str, *command: str) -> str:
    """The output of a command of the user."""
    done = cell.command(*command, user=user, group=pwd.getpwnam(user).pw_gid, extra_groups=[])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def submitted(cell: DemoCell, *arguments: str) -> str:
    """The number of a job of alice's, which runs."""
    job = run_as(cell, "alice", "qsub", "-terse", "-b", "y", *arguments).partition(".")[0]
    eventually("it runs", lambda: re.search(rf"^ *{job} .* r ", cell.must("qstat", "-u", "*"), re.M))
    return job


def logged_in(cell: DemoCell, visits: Visits, user: str, **options: object) -> Page:
    page = visits.open(run_as(cell, user, "gridengine", "web", "--login"), **options)  # type: ignore[arg-type]
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    return page


@pytest.mark.statement("GU-12")
def test_the_owner_sees_lines_as_they_are_written(web_cell: DemoCell, visits: Visits, place: Path) -> None:
    script = r'i=0; while :; do i=$((i+1)); echo "line $i <b>"; printf "\033[31mred\007\n" >&2; sleep 1; done'
    job = submitted(web_cell, "-N", "talks", "-o", str(place), "-e", str(place), "/bin/sh", "-c", script)
    page = logged_in(web_cell, visits, "alice")
    go(page, f"/jobs/{job}")
    shown = page.get_by_role("region", name="stdout")
    expect(shown).to_contain_text("line 1 <b>")
    expect(page.locator("#output")).to_contain_text(f"{place}/talks.o{job}")
    page.get_by_role("link", name="stderr").click()
    expect(page.get_by_role("region", name="stderr")).to_contain_text("red␇")
    page.get_by_role("link", name="stdout").click()
    expect(shown).to_contain_text("line 1 <b>")
    first = shown.inner_text().count("line")
    page.evaluate("document.querySelector('#output pre').same = true")
    expect(shown).to_contain_text(f"line {first + 4} ")  # without a reload
    assert page.evaluate("document.querySelector('#output pre').same")  # what one reads is not put elsewhere
    web_cell.must("qhold", job)  # the page is sent again
    expect(page.locator("main")).to_contain_text("hold by")
    expect(shown).to_contain_text("line 1 <b>")
    assert page.evaluate("document.querySelector('#output pre').same")
    assert serious_findings(page) == []
    phone = logged_in(web_cell, visits, "alice", size=PHONE)
    go(phone, f"/jobs/{job}/output?task=1&stream=stderr")
    expect(phone.get_by_role("region", name="stderr")).to_contain_text("red")
    assert overhang(phone) == []
    web_cell.must("qdel", job)
    expect(page.get_by_role("button", name="Resubmit")).to_be_visible()
    go(page, f"/jobs/{job}")  # the host still knows where the task wrote
    expect(page.get_by_role("region", name="stdout")).to_contain_text("line 1 <b>")
    assert serious_findings(page) == []
    go(phone, f"/jobs/{job}?stream=stderr")
    expect(phone.get_by_role("region", name="stderr")).to_contain_text("red")
    assert overhang(phone) == []
    page.get_by_role("button", name="Resubmit").click()
    expect(page.locator("#answers")).to_contain_text('("talks") has been submitted')


def test_a_token_with_a_scope_is_made_on_the_page(web_cell: DemoCell, visits: Visits, place: Path) -> None:
    page = logged_in(web_cell, visits, "alice")
    go(page, "/me")
    page.get_by_label("Label").fill("nightly build")
    page.get_by_label("Scope").select_option("read")
    page.get_by_role("button", name="Create token").click()
    token = page.get_by_role("region", name="Token").inner_text().strip()
    address = page.url.rpartition("/me")[0]
    headers = {"Authorization": f"Bearer {token}"}
    assert page.request.get(f"{address}/api/v1/jobs", headers=headers).status == 200
    refused = page.request.delete(f"{address}/api/v1/jobs/1", headers=headers)
    assert (refused.status, refused.json()["detail"]) == (403, "this token is of the scope read, and this needs submit")
    listed = run_as(web_cell, "alice", "gridengine", "web", "--list")
    assert re.search(r"^nightly build +read .* 127\.0\.0\.1 ", listed, re.M), listed
    assert serious_findings(page) == []
    phone = logged_in(web_cell, visits, "alice", size=PHONE)
    go(phone, "/me")
    assert overhang(phone) == []


@pytest.mark.statement("GU-12")
def test_only_the_owner_sees_the_output(web_cell: DemoCell, visits: Visits, place: Path) -> None:
    job = submitted(web_cell, "-o", str(place), "-j", "y", "/bin/sh", "-c", f"echo {SECRET}; sleep 600")
    owner = logged_in(web_cell, visits, "alice")
    go(owner, f"/jobs/{job}")
    expect(owner.get_by_role("region", name="stdout")).to_contain_text(SECRET)
    expect(owner.locator("#output .tabs a")).to_have_count(1)  # stderr is in it
    for user in ("bob", "root"):
        page = logged_in(web_cell, visits, user)
        go(page, f"/jobs/{job}")
        expect(page.locator("#output")).to_contain_text("Only the owner (alice) can view output")
        go(page, f"/jobs/{job}/output")
        expect(page.locator("main")).to_contain_text(f'job {job} belongs to "alice", not to "{user}"')
        assert SECRET not in page.content()


@pytest.mark.statement("GU-12")
def test_a_link_shows_nothing_that_the_owner_may_not_read(web_cell: DemoCell, visits: Visits, place: Path) -> None:
    closed = web_cell.work / "closed"
    closed.write_text(SECRET)
    closed.chmod(0o600)
    output = place / "output"
    job = submitted(web_cell, "-o", str(output), "-j", "y", "/bin/sleep", "600")
    page = logged_in(web_cell, visits, "alice")
    eventually("its output is there", output.exists)
    for target, reason in ((closed, "Permission denied"), ("/dev/zero", "is no plain file")):
        output.unlink()
        output.symlink_to(target)
        go(page, f"/jobs/{job}/output")
        expect(page.locator(".written")).to_contain_text(reason)
        assert SECRET not in page.content()
    output.unlink()
    os.mkfifo(output)
    assert stat.S_ISFIFO(output.stat().st_mode)
    go(page, f"/jobs/{job}/output")
    expect(page.locator(".written")).to_contain_text("is no plain file")
