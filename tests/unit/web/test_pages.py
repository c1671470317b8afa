"""The pages without a browser: the rows of the commands, and requests as the logged-in user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.unit.web.browsing import Visitor, begin_alarms, page, rows, text_of
from tests.unit.web.followed import ALICE, BOB, Followed

Play = Callable[[Callable[[Visitor], Awaitable[Any]]], Any]


def some_jobs(followed: Followed) -> None:
    cell = followed.cell
    cell.submit(name="sim1", tasks="1-20")
    cell.submit("bob", name="build")
    cell.submit(name="never", hard=["arch=nosuch"])
    cell.submit(name="kept", holds="u")
    cell.cycle()
    followed.take()


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("", ["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12", "1.13-20:1", "2", "3", "4"]),
        ("?state=waiting", ["1.13-20:1", "2", "3"]),
        ("?state=held", ["4"]),
        ("?state=waiting&owner=bob", ["2"]),
        ("?name=s*&state=waiting", ["1.13-20:1"]),
        ("?find=build", ["2"]),
        ("?find=3", ["3"]),
        ("?queue=all.q&state=running&sort=-id", [f"1.{task}" for task in range(1, 13)]),
        ("?queue=*@h1&state=running", 4),
        ("?state=waiting&sort=-id", ["3", "2", "1.13-20:1"]),
        ("?state=nonsense&page=99&name=kept", ["4"]),
        ("?owner=nobody", []),
    ],
)
def test_the_address_selects_the_jobs_of_the_list(followed: Followed, browse: Any, query: str, jobs: list[str] | int) -> None:
    some_jobs(followed)
    shown = [row[1] for row in rows(browse(page(f"/jobs{query}")))]
    assert (len(shown) if isinstance(jobs, int) else shown) == jobs


def test_a_long_list_comes_in_parts(followed: Followed, browse: Any) -> None:
    for _ in range(230):
        followed.cell.submit(holds="u")
    last = browse(page("/jobs?page=3"))
    assert len(rows(last)) == 30
    assert text_of(last.find(".//div[@class='pager']/span")) == "201 to 230 of 230 rows"
    assert "/jobs?page=2" in [link.get("href") for link in last.findall(".//div[@class='pager']//a")]


def test_counts_of_tabs_stay_when_a_tab_is_selected(followed: Followed, browse: Any) -> None:
    some_jobs(followed)
    for address in ("/jobs", "/jobs?state=held"):
        tabs = [text_of(tab) for tab in browse(page(address)).findall(".//nav[@class='tabs']/a")]
        assert tabs == ["Active 16", "Running 12", "Waiting 3", "Held 1", "Error 0", "Suspended 0", "Finished 0", "Failed 0"]


@pytest.mark.statement("GU-12")
@pytest.mark.parametrize(
    ("action", "expected"),
    [("hold", "hqw"), ("delete", "")],
)
def test_actions_on_jobs_are_requests_of_the_user(followed: Followed, browse: Any, action: str, expected: str) -> None:
    followed.cell.submit("bob", hard=["arch=nosuch"])

    async def press(visitor: Visitor) -> tuple[list[str], Any]:
        return await visitor.post("/jobs", action=action, target="1"), await visitor.get("/jobs")

    refused, _ = browse(press, ALICE)
    assert "alice" in refused[0]
    assert [each.id for each in followed.cell.state.jobs.values()] == [1]
    _, after = browse(press, BOB)
    assert [row[4].split()[0] for row in rows(after)] == ([expected] if expected else [])


def test_all_matching_jobs_are_selected_on_demand(followed: Followed, browse: Any) -> None:
    for number in range(150):
        followed.cell.submit(name=f"a{number % 2}", hard=["arch=nosuch"])

    async def press(visitor: Visitor) -> list[tuple[str, str]]:
        await visitor.post("/jobs", action="delete", target="1", all="1", list="/jobs?name=a1")
        return visitor.link.asked

    assert browse(press) == [("alice", "delete_jobs")]
    assert {job.name for job in followed.cell.state.jobs.values()} == {"a0"}


@pytest.mark.parametrize("fields", [{"action": "explode", "target": "1"}, {"action": "hold"}])
def test_invalid_actions_are_reported_and_send_no_request(followed: Followed, browse: Any, fields: dict[str, str]) -> None:
    async def press(visitor: Visitor) -> tuple[list[str], Any]:
        return await visitor.post("/jobs", **fields), visitor.link.asked

    (message,), asked = browse(press)
    assert asked == []
    assert message in ('there is no action "explode"', "no jobs are selected")


def test_the_page_of_a_job_starts_with_the_pending_reason(followed: Followed, browse: Any) -> None:
    some_jobs(followed)
    shown = browse(page("/jobs/3"))
    panel = text_of(shown.find(".//section"))
    assert panel.startswith("Pending reason")
    assert "-l arch=nosuch" in panel or "arch" in panel
    assert "qalter" in panel
    assert text_of(shown.find(".//h1")) == "Job 3 · never"


def test_a_running_array_shows_its_tasks_and_its_story(followed: Followed, browse: Any) -> None:
    some_jobs(followed)
    shown = browse(page("/jobs/1"))
    tasks = rows(shown, 0)
    assert len(tasks) == 12
    assert text_of(shown.find(".//p[@class='states']")) == "r running tasks 1-12:1 qw waiting tasks 13-20:1"
    assert tasks[0][:2] == ["1", "r running"]
    assert {"Submitted", "Dispatched to host"} <= {row[2] for row in rows(shown, 1)}


@pytest.mark.parametrize("number", ["99", "abc", "1e3", "99999999999"])
def test_an_unknown_job_is_not_found(browse: Any, number: str) -> None:
    async def look(visitor: Visitor) -> tuple[int, str]:
        return (text_of(await visitor.get(f"/jobs/{number}")), visitor.status)[::-1]  # type: ignore[return-value]

    status, text = browse(look)
    assert status == 404
    assert number in text


def test_jobs_that_start_later_do_not_count_as_waiting(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    cell.submit(start_after=cell.now + 5 * 86_400)
    cell.submit(hard=["arch=nosuch"])
    followed.take()
    counts = [text_of(each) for each in browse(page("/")).findall(".//div[@class='counts']/a")]
    assert counts[1:4] == ["1 waiting", "1 start later (-a)", "0 waiting over 24 h"]


def test_the_overview_counts_and_warns(followed: Followed, browse: Any) -> None:
    some_jobs(followed)
    followed.cell.master.lose_host("h3")
    followed.cell.master.flush()

    async def look(visitor: Visitor) -> Any:
        await begin_alarms(visitor)
        return await visitor.get("/")

    shown = browse(look)
    counts = [text_of(each) for each in shown.findall(".//div[@class='counts']/a")]
    assert counts == ["12 running tasks", "3 waiting", "0 waiting over 24 h", "1 held", "0 suspended", "0 in error"]
    assert "critical: h3 The host sends no reports. 4 tasks ran there." in text_of(shown.find(".//ul[@class='notes']"))
    queues, own = rows(shown, 0), rows(shown, 1)
    assert queues[0][0] == "all.q"
    assert "bob" not in text_of(shown.findall(".//section")[-1])
    assert len(own) == 10


@pytest.mark.parametrize("address", ["/", "/jobs", "/instances", "/hosts"])
def test_while_the_qmaster_is_away_pages_show_their_age(followed: Followed, browse: Any, address: str) -> None:
    followed.mirror.mark_disconnected()

    async def look(visitor: Visitor) -> tuple[int, Any]:
        visitor.link.away = True
        shown = await visitor.get(address)
        return visitor.status, shown

    status, shown = browse(look)
    assert status == 200
    assert shown.find(".//p[@id='age']").get("hidden") is None


@pytest.mark.parametrize("address", ["/", "/jobs?state=waiting", "/jobs/1", "/instances", "/hosts/h1"])
def test_an_open_page_is_sent_again_when_it_changes(followed: Followed, browse: Any, address: str) -> None:
    followed.cell.submit(hard=["arch=nosuch"])

    async def watch(visitor: Visitor) -> tuple[str, str]:
        stream = visitor.events(address)
        kind, first = await anext(stream)
        assert kind == "main"
        followed.cell.submit(name="fresh", hard=["arch=nosuch"])
        followed.cell.admin("hold_jobs", targets=["1"])
        followed.cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
        followed.take()
        kind, second = await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        return first, second

    first, second = browse(watch)
    assert first != second
    assert "<!doctype" not in first
    assert "<h1>" in first


def test_a_page_opened_behind_a_change_shows_it_without_another(
    followed: Followed, browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemons.web.live.PAUSE_S", 0.2)

    async def watch(visitor: Visitor) -> str:
        for seen in range(2):
            stream = visitor.events("/jobs")
            _, shown = await anext(stream)
            if seen and "fresh" not in shown:  # what somebody else was shown a moment ago
                async with asyncio.timeout(60):
                    _, shown = await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
            if not seen:
                followed.cell.submit(name="fresh", hard=["arch=nosuch"])
                followed.take()
        return shown

    assert "fresh" in browse(watch)


def test_a_page_opened_behind_a_change_of_saved_views_has_the_new_ones(followed: Followed, browse: Any) -> None:
    async def watch(visitor: Visitor) -> list[bool]:
        found = []
        for path in ("views", "views/delete", ""):
            stream = visitor.events("/jobs")
            _, shown = await anext(stream)
            found.append("Nightly" in shown)
            await stream.aclose()  # type: ignore[attr-defined]
            if path:
                await visitor.send(f"/preferences/{path}", {"csrf": "token", "name": "Nightly", "address": "/jobs"})
        return found

    assert browse(watch) == [False, True, False]


@pytest.mark.parametrize("address", ["", "/nothing", "//evil/jobs", "/metrics", "/static/style.css"])
def test_a_stream_of_what_is_no_page_is_refused(browse: Any, address: str) -> None:
    async def watch(visitor: Visitor) -> int:
        async with visitor.client.get("/live", params={"page": address}) as response:
            return response.status

    assert browse(watch) == (200 if address == "//evil/jobs" else 404)


def test_every_link_of_every_page_leads_somewhere(followed: Followed, browse: Any, forecasts_in_process: None) -> None:
    some_jobs(followed)
    followed.cell.master.lose_host("h3")
    followed.cell.master.flush()

    async def crawl(visitor: Visitor) -> dict[str, int]:
        found: dict[str, int] = {}
        waiting = ["/"]
        while waiting:
            address = waiting.pop()
            if address in found:
                continue
            links = (await visitor.get(address)).xpath("//a/@href | //form[not(@method)]/@action")
            found[address] = visitor.status
            # of many addresses of one page that differ in their query alone, one will do
            pages = {link.partition("?")[0]: link for link in links if link.startswith("/")}
            known = {each.partition("?")[0] for each in found}
            waiting += [link for path, link in pages.items() if path not in known]
        return found

    found = browse(crawl)
    found.pop("/me")  # the guard's
    assert {address: status for address, status in found.items() if status != 200} == {}
    assert len(found) > 10


@pytest.mark.parametrize("address", ["/config/host_group/@nosuch", "/config/nosuch/x", "/submit?from=99"])
def test_a_form_for_a_missing_object_is_not_found(browse: Any, address: str) -> None:
    async def play(visitor: Visitor) -> tuple[int, str]:
        page = await visitor.send(address, {"csrf": "token"})
        return visitor.status, text_of(page)

    status, text = browse(play)
    assert status == 404 and "There is no" in text


@pytest.mark.statement("GU-12")
def test_a_job_that_ends_while_its_page_is_made_is_over(followed: Followed, browse: Any) -> None:
    some_jobs(followed)

    async def play(visitor: Visitor) -> tuple[int, str]:
        ask = visitor.link.post

        async def after_its_end(*given: Any) -> Any:
            followed.cell.ask("delete_jobs", targets=["4"])
            return await ask(*given)

        visitor.link.post = after_its_end  # type: ignore[method-assign]
        text = text_of(await visitor.get("/jobs/4"))
        return visitor.status, text

    status, text = browse(play)
    assert status == 200 and "Finished" in text
