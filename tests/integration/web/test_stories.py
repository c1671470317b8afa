"""Stories in a browser over a cell in this process: a person starts at the overview and ends with the work done."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from playwright.sync_api import Page, expect

from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.view import Thresholds
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.shared import WEB
from gridengine.protocols.delivery import Load, OutputTail
from gridengine.protocols.gdi.requests import Caller
from tests.accounting_lines import accounting_line
from tests.harness import LOAD, Cell
from tests.integration.web.browser import PHONE, WIDE, Visits, confirm, load, overhang, resize, serious_findings
from tests.integration.web.served_cell import ServedCell
from tests.unit.web.followed import ALICE, ROOT

DAY_S = 86_400.0


def watch_alarms(app: web.Application) -> None:
    """Evaluate the alarm rules while the server runs; a condition is an alarm at once."""
    shared = app[WEB]
    shared.alarms = AlarmBook(hold_s=0.0)
    watch = AlarmWatch(shared, AlarmSettings(Thresholds(host_away_s=0.0)))

    async def start(_: web.Application) -> None:
        watch.start()

    async def stop(_: web.Application) -> None:
        await watch.stop()

    app.on_startup.append(start)
    app.on_cleanup.append(stop)


@pytest.fixture
def play(visits: Visits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Cell, Caller], ServedCell]]:
    """Starts the web server of a cell for one visitor; the server ends after its pages."""
    monkeypatch.setattr("daemons.web.alarms.watch.ROUND_S", 0.2)
    started: list[ServedCell] = []

    def start(cell: Cell, caller: Caller) -> ServedCell:
        started.append(ServedCell(cell, tmp_path, caller, watch_alarms))
        return started[-1]

    yield start
    visits.close()
    for each in started:
        each.stop()


def cell_with_six_faults(directory: Path) -> Cell:
    """A host that is away with a task on it, an instance and a job in error, a reservation without its host, a job that waits
    for a disabled instance, and a limit that is reached."""
    cell = Cell(directory, slots=2)
    late = cell.submit(name="late", hard_queues=["all.q@h2"])
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h2"])
    cell.now += 2 * DAY_S
    for name in cell.names:
        cell.report(name, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    bad = cell.submit(name="bad", hard_queues=["all.q@h1"])
    cell.cycle()
    cell.end(bad, failed=26, reason="cannot open /no/where")
    broken = cell.submit(name="broken", hard_queues=["all.q@h1"])
    cell.cycle()
    cell.end(broken, failed=8, reason="the prolog ended with 1")
    cell.add("resource_quota", "people", enabled="TRUE", limit="name each users {*} to slots=1")
    cell.submit("bob", name="far", hard_queues=["all.q@h3"])
    cell.cycle()
    answer = cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=600.0, hard_queues=["all.q@h3"])
    assert answer.status == 0, answer.answers
    cell.master.lose_host("h3")
    cell.pass_time(1.0)
    assert cell.placed(late) == []
    return cell


@pytest.mark.statement("GU-2", "GU-4", "GU-12")
def test_an_administrator_finds_and_corrects_six_faults_from_the_overview(
    visits: Visits, play: Callable[[Cell, Caller], ServedCell], tmp_path: Path
) -> None:
    played = play(cell_with_six_faults(tmp_path / "cell"), ROOT)
    page = visits.open(played.address)
    expect(page.locator(".stack .note")).to_have_count(6)
    assert serious_findings(page) == [] and overhang(page) == []
    resize(page, PHONE)
    assert overhang(page) == []
    resize(page, WIDE)
    the_host_comes_back(page, played)
    the_queue_instance_is_cleared(page)
    the_job_is_cleared(page)
    the_instance_is_enabled(page)
    played.do(Cell.cycle)
    is_gone(page, "waits longer than usual")
    the_limit_is_raised(page)
    load(page, played.address)
    expect(page.get_by_role("heading", name="Needs attention", exact=True)).to_have_count(0)


def show(page: Page, subject: str, title: str) -> None:
    """From the overview to the page of an alarm, with one click."""
    load(page, re.match(r"\w+://[^/]+", page.url)[0] + "/")  # type: ignore[index]
    page.locator(".note").filter(has_text=subject).get_by_role("link", name="Show").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(title)


def is_gone(page: Page, subject: str) -> None:
    """The overview no longer has the alarm, without a reload."""
    load(page, re.match(r"\w+://[^/]+", page.url)[0] + "/")  # type: ignore[index]
    expect(page.locator(".note").filter(has_text=subject)).to_have_count(0)


def the_host_comes_back(page: Page, played: ServedCell) -> None:
    """Its daemon is started: the reservation has its host again, too."""
    show(page, "reservation 1", "Reservation 1")
    expect(page.locator("main")).to_contain_text("h3")
    show(page, "critical: h3", "h3")
    expect(page.locator("div.states")).to_contain_text("unreachable")

    def come_back(cell: Cell) -> None:
        cell.report("h3", Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
        cell.inventory("h3")
        cell.pass_time(1.0)

    played.do(come_back)
    expect(page.locator("div.states")).not_to_contain_text("unreachable")
    is_gone(page, "critical: h3")
    is_gone(page, "reservation 1")


def the_queue_instance_is_cleared(page: Page) -> None:
    show(page, "warning: all.q@h1", "all.q@h1")
    expect(page.locator("main")).to_contain_text("prolog")
    page.get_by_role("button", name="Clear error").click()
    is_gone(page, "warning: all.q@h1")


def the_job_is_cleared(page: Page) -> None:
    show(page, "cannot open /no/where", "bad")
    page.get_by_role("button", name="Clear error").click()
    is_gone(page, "cannot open /no/where")


def the_instance_is_enabled(page: Page) -> None:
    """The page of the job says why it waits; the instance is a second click away."""
    show(page, "waits longer than usual", "late")
    expect(page.locator("main")).to_contain_text("disabled")
    page.get_by_role("link", name="all.q@h2").first.click()
    page.get_by_role("button", name="Enable").click()
    expect(page.locator("main")).to_contain_text("ready")


def the_limit_is_raised(page: Page) -> None:
    show(page, "people", "Quotas")
    page.get_by_role("link", name=re.compile("people")).first.click()
    page.get_by_label("limit", exact=True).fill("name each users {*} to slots=5")
    page.get_by_role("button", name="Save").click()
    is_gone(page, "people")


@pytest.mark.statement("GU-5", "GU-12", "SO-45")
def test_a_user_submits_reads_the_output_and_resubmits_what_failed(
    visits: Visits, play: Callable[[Cell, Caller], ServedCell], tmp_path: Path
) -> None:
    played = play(Cell(tmp_path / "cell"), ALICE)
    page = visits.open(played.address)
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_label("Script", exact=True).fill("#!/bin/sh\n#$ -t 1-3\n./simulate $SGE_TASK_ID\n")
    page.get_by_label("Name", exact=True).fill("sweep")
    page.get_by_label("Memory per core").fill("2 G")
    page.get_by_label("Time", exact=True).fill("1 h 30 m")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_role("link", name="Job 1", exact=True).click()
    expect(page.locator("main")).to_contain_text("5400 s (01:30:00)")
    played.do(Cell.cycle)
    played.link.tail = OutputTail("/home/alice/sweep.o1.1", 9, 0, "step 7/9\n")
    expect(page.locator("main")).to_contain_text("step 7/9")
    for task in (1, 2, 3):
        played.do(lambda cell, task=task: cell.end(1, task, exit_status=3 if task == 2 else 0))
    load(page, played.address)
    page.get_by_role("link", name=re.compile("1 failed")).click()
    expect(page.get_by_role("row", name=re.compile("sweep")).first).to_contain_text("exit status 3")
    load(page, f"{played.address}/jobs/1/tasks")
    expect(page.locator(".tasks a")).to_have_count(3)
    page.get_by_role("button", name="Resubmit 1 failed task").click()
    confirm(page)
    expect(page.locator("#answers")).to_contain_text("Your job-array 2.2")
    load(page, f"{played.address}/jobs?owner=alice")
    resize(page, PHONE)
    expect(page.get_by_role("row", name=re.compile("sweep"))).to_contain_text("waiting")
    assert serious_findings(page) == [] and overhang(page) == []


def month_before_last(day: int) -> float:
    """Noon (epoch s) of a day of the month before the last month."""
    first = datetime.now(UTC).replace(day=1, hour=12, minute=0, second=0, microsecond=0)
    last = (first - timedelta(days=1)).replace(day=1)
    return (last - timedelta(days=1)).replace(day=day).timestamp()


def last_month(day: int) -> float:
    """Noon (epoch s) of a day of the last month."""
    first = datetime.now(UTC).replace(day=1, hour=12, minute=0, second=0, microsecond=0)
    return (first - timedelta(days=1)).replace(day=day).timestamp()


@pytest.mark.statement("AC-1", "GU-12")
def test_a_manager_reads_the_report_of_last_month(
    visits: Visits, play: Callable[[Cell, Caller], ServedCell], tmp_path: Path
) -> None:
    """By project beside the month before, as a file, and from there to failures."""
    (tmp_path / "accounting").write_bytes(b"".join([
        accounting_line(month_before_last(1) - DAY_S, 10),
        accounting_line(month_before_last(10), 3600, project="physics"),
        accounting_line(last_month(3), 7200, waited=60, cpu=3600, project="physics"),
        accounting_line(last_month(4), 3600, waited=120, exit_status=3, job_name="broken", project="weather", owner="bob"),
    ]))
    played = play(Cell(tmp_path / "cell"), ROOT)
    page = visits.open(played.address)
    page.get_by_role("link", name="Reports", exact=True).click()
    page.get_by_role("link", name="Project", exact=True).click()
    physics = page.get_by_role("row", name=re.compile("physics"))
    expect(physics).to_contain_text("2.0")
    expect(physics).to_contain_text("+100 %")
    expect(page.get_by_role("row", name=re.compile("weather"))).to_contain_text("100 %")
    assert serious_findings(page) == [] and overhang(page) == []
    resize(page, PHONE)
    assert overhang(page) == []
    resize(page, WIDE)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).click()
    with open(download.value.path(), newline="") as file:
        found = {row["name"]: row for row in csv.DictReader(file)}
    assert (found["physics"]["slot_hours"], found["weather"]["failed"]) == ("2.0", "1")
    page.get_by_role("link", name="Failures", exact=True).last.click()
    expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()
