"""Every page in a browser, over a cell in this process with something in each state: each is accessible, and none is too wide."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from aiohttp import web
from playwright.sync_api import expect

from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.rules import Alarm
from daemons.web.alarms.view import Thresholds
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.app import PAGES, build_app
from daemons.web.pages.page import find_page
from tests.accounting_lines import accounting_line
from tests.harness import Cell
from tests.integration.web.browser import PHONE, WIDE, Visits, overhang, resize, serious_findings, wire_bytes
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, web_of

#: addresses of pages whose path has parts, and of other sides of pages
EXAMPLES = [
    "/jobs/1", "/jobs/2", "/jobs/9999", "/jobs?state=held&sort=-name", "/instances/all.q@h1", "/hosts/h1", "/submit",
    "/config/cluster_queue", "/config/cluster_queue/all.q", "/config/complex", "/reservations/1", "/reservations/new",
    "/queues/all.q/overrides", "/bulk/cluster_queue?target=all.q",
    "/queues/all.q", "/hostgroups?group=@allhosts", "/hostgroups?group=@racks&near=yes", "/complexes/edit",
    "/jobs/2/alter", "/submit?from=1", "/reservations?view=time", "/reservations/1/alter", "/config/calendar/nights",
    "/accounting/sql", "/jobs/1/output", "/jobs/153", "/search?find=h1",
    "/alarms?state=ended", "/jobs?state=failed", "/failures?span=7d&owner=alice", "/jobs/1/tasks", "/jobs/1/forecast",
    "/hosts?view=map&colour=state&group=y", "/trends?host=h1&span=7d", "/reports?by=host&period=30d", "/reports?period=soon",
    "/history/1", "/history?kind=cluster_queue", "/messages?of=h1", "/quotas?user=alice",
]
ADDRESSES = [*(page.path for page in PAGES if "{" not in page.path), *EXAMPLES]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    """A cell with long names, hosts and instances in many states, and jobs that run, wait, are held and are in error."""
    hosts = ["h1", "h2", "h3", *(f"node{number:03d}.rack7.cluster.example.org" for number in range(60))]
    cell = Cell(tmp_path_factory.mktemp("cell"), hosts)
    cell.submit(name="simulate_the_weather_of_next_week_in_a_very_long_name", tasks="1-20")
    cell.submit("bob", name="never", hard=["arch=nosuch"])
    for number in range(150):
        cell.submit(name=f"held{number}", holds="u")
    cell.cycle()
    cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=600.0)
    cell.add("project", "climate")
    cell.add("calendar", "nights", year="NONE", week="mon-fri=6-20=off")
    cell.admin("change_share_tree", verb="add", nodes=["/climate=25"])
    cell.add("resource_quota", "people", enabled="TRUE", limit="name each users {*} to slots=500\nusers bob to arch=lx-amd64")
    cell.configure("cluster_queue", "all.q", seq_no="7")
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    cell.admin("change_states", action="suspend", what="queue", targets=["all.q@h2"])
    for name, members in (("@rack7", "node001.rack7.cluster.example.org h1"), ("@racks", "@rack7 @allhosts")):
        cell.add("host_group", name, hostlist=members)
    done = cell.submit(name="done")
    cell.cycle()
    cell.end(done, exit_status=3)
    cell.master.lose_host("h3")
    cell.master.flush()
    return Followed(cell)


@pytest.fixture(scope="module")
def address(followed: Followed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a web server that treats every visitor as root."""

    async def make() -> web.Application:
        common = tmp_path_factory.mktemp("common")
        days = [time.time() - day * 86_400 for day in range(1, 90)]
        owners = ("alice", "bob", "someone_with_a_very_long_name_for_a_user")
        lines = [accounting_line(day, 9_000, 70, owner=owners[int(day) % 3], exit_status=int(day) % 2) for day in days]
        (common / "accounting").write_bytes(b"no record\n" + b"".join(reversed(lines)))
        shared, _ = web_of(followed, common)
        shared.alarms = AlarmBook(hold_s=0.0)
        shared.alarms.update([Alarm("shadow_behind", "warning", "m2", "It is away.", "Start it.")], 1.0)
        watch = AlarmWatch(shared, AlarmSettings(Thresholds(host_away_s=0.0, job_pending_s=0.0)))
        await watch.evaluate(2.0)  # the host h3 is away, a job waits, and one alarm has ended
        return build_app(shared, [guard(ROOT)])

    serving = Serving(make)
    yield serving.start()
    serving.stop()


def test_every_page_is_looked_at() -> None:
    selected = [find_page(PAGES, path.partition("?")[0]) for path in ADDRESSES]
    assert [page.path for page in PAGES if page not in [found[0] for found in selected if found]] == []


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_page_is_accessible_and_fits_its_window(visits: Visits, address: str, path: str) -> None:
    page = visits.open(address + path, WIDE)
    assert overhang(page) == []
    assert serious_findings(page) == []  # in the dark, and on a phone: test_design.py, for what all pages are made of
    resize(page, PHONE)
    assert overhang(page) == []
    visits.close()
    visits.forgive("status of 404")


@pytest.mark.parametrize("path", ["/jobs", "/instances", "/jobs/1"])
def test_a_page_with_everything_is_light(visits: Visits, address: str, path: str) -> None:
    page = visits.open("about:blank")
    assert wire_bytes(page, address + path) < 100_000
    visits.close()


def test_the_number_of_a_job_leads_to_the_job(visits: Visits, address: str) -> None:
    page = visits.open(address + "/hosts")
    page.get_by_role("searchbox", name="Find jobs").fill("153")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Job 153 · done")).to_be_visible()


def test_the_verdict_of_a_check_is_in_view_and_no_good_news(visits: Visits, address: str) -> None:
    page = visits.open(address + "/submit")
    page.get_by_label("Command and arguments").fill("/bin/true")
    page.get_by_text("All options", exact=True).click()
    page.locator("[name='-l']").fill("arch=nosuch")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#outcome .note.bad", has_text="Cannot run")).to_be_in_viewport()
    expect(page.locator("#outcome .note.ok")).to_have_count(0)


def test_an_alarm_is_acknowledged_and_the_badge_counts_down(visits: Visits, address: str) -> None:
    page = visits.open(address + "/alarms")
    badge = page.locator("nav.side li [data-alarms]")
    before = int(badge.locator("b").inner_text())
    row = page.get_by_role("row", name="h3")
    row.get_by_role("checkbox").check()
    page.get_by_label("Word").fill("disk ordered")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("root has acknowledged 1 alarm")).to_be_visible()
    page.get_by_role("heading", name="Alarms", exact=True).click()  # the page is not updated while a field has the focus
    expect(row).to_contain_text("disk ordered")
    expect(badge.locator("b")).to_have_text(str(before - 1))
