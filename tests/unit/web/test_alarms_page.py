"""The page of alarms, its badge, the REST API and the metric, with rights of users and operators."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.rules import Alarm
from daemons.web.shared import WEB
from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import ALICE, BOB, ROOT, Followed

NOW = 1_800_000_000.0
AWAY = Alarm("host_away", "critical", "h2", "The host sends no reports.", "Start it.", "gridengine start", "/hosts/h2", NOW - 60)
LONELY = Alarm("host_away", "warning", "h<3>", "The host sends no reports.", "Start it.")
FULL = Alarm("quota_full", "info", "people/1 slots", "4 of 4 are in use.", "Wait.", "qconf -mrqs people", "/quotas")


def book_of(visitor: Visitor) -> AlarmBook:
    app: Any = visitor.client.app
    return app[WEB].alarms  # type: ignore[no-any-return]


def begin(visitor: Visitor, *alarms: Alarm) -> None:
    """Make these the active alarms."""
    book = book_of(visitor)
    for second in (-90, -60, 0):
        book.update(alarms, NOW + second)


def test_alarms_are_grouped_by_rule_with_cause_and_next_step(browse: Any) -> None:
    async def look(visitor: Visitor) -> Any:
        begin(visitor, FULL, AWAY, LONELY)
        return await visitor.get("/alarms")

    page = browse(look, ROOT)
    shown = rows(page)
    assert [row[1] for row in shown] == ["Hosts away 2", "h2", "h<3>", "Quotas at their limit 1", "people/1 slots"]
    assert shown[1][2] == "critical" and shown[1][4:6] == ["The host sends no reports.", "Start it. gridengine start"]
    assert page.find(".//th[@data-label='Subject']/a").get("href") == "/hosts/h2"
    assert [text_of(tab) for tab in page.findall(".//nav[@class='tabs']/a")] == ["Active 3", "History 0"]


def test_the_badge_is_on_every_page_and_counts_what_is_not_acknowledged(browse: Any) -> None:
    async def look(visitor: Visitor) -> list[Any]:
        pages = [await visitor.get("/jobs")]
        begin(visitor, AWAY, FULL)
        pages.append(await visitor.get("/jobs"))
        await visitor.post("/alarms", target=["1", "2"], word="known")
        return [*pages, await visitor.get("/jobs")]

    before, with_alarms, after = browse(look, ROOT)
    badges = [page.find(".//nav[@class='side']//a[@href='/alarms']/span") for page in (before, with_alarms, after)]
    assert [badge.get("hidden") is not None for badge in badges] == [True, False, True]
    assert (badges[1].get("class"), badges[1].get("data-alarms")) == ("badge bad", "2 bad")


def test_an_operator_acknowledges_with_a_remark_that_all_see(browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        begin(visitor, AWAY, LONELY)
        answers = await visitor.post("/alarms", target="1", word=" disk ordered ")
        return answers, rows(await visitor.get("/alarms"))

    answers, shown = browse(play, ROOT)
    assert answers == ["root has acknowledged 1 alarm"]
    assert shown[1][6].startswith("disk ordered root, ") and shown[2][6] == ""


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"target": "1", "word": "  "}, "needs a word"),
        ({"target": "1", "word": "x" * 201}, "at most 200"),
        ({"target": "1", "word": "a\x1bb"}, "printable"),
        ({"target": "7", "word": "known"}, "alarm 7 does not exist"),
        ({"word": "known"}, "no alarm is selected"),
    ],
)
def test_an_acknowledgement_that_cannot_be_is_refused(browse: Any, fields: dict[str, str], reason: str) -> None:
    async def play(visitor: Visitor) -> Any:
        begin(visitor, AWAY)
        return await visitor.post("/alarms", **fields), book_of(visitor).active[0].acknowledged

    answers, acknowledged = browse(play, ROOT)
    assert reason in answers[0] and acknowledged is None


def test_a_user_sees_alarms_but_does_not_acknowledge_them(browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        begin(visitor, AWAY)
        return await visitor.get("/alarms"), await visitor.post("/alarms", target="1", word="known")

    page, answers = browse(play, ALICE)
    assert answers == ['denied: "alice" must be operator for this operation']
    assert "Only operators" in text_of(page.find(".//form[@action='/alarms']"))


def test_ended_alarms_are_in_the_history(browse: Any) -> None:
    async def look(visitor: Visitor) -> Any:
        begin(visitor, AWAY)
        await visitor.post("/alarms", target="1", word="known")
        begin(visitor)
        return await visitor.get("/alarms"), await visitor.get("/alarms?state=ended")

    active, ended = browse(look, ROOT)
    assert "No alarms" in text_of(active)
    (row,) = rows(ended)
    assert row[:3] == ["h2", "Hosts away", "critical"] and row[6].startswith("known root, ")


def test_an_open_page_shows_a_new_alarm_and_badge(browse: Any) -> None:
    async def watch(visitor: Visitor) -> list[tuple[str, str]]:
        stream = visitor.events("/alarms")
        events = [await anext(stream)]
        begin(visitor, AWAY)
        events += [await anext(stream), await anext(stream)]
        await stream.aclose()  # type: ignore[attr-defined]
        return events

    first, badge, main = browse(watch)
    assert first[0] == "main" and "No alarms" in first[1]
    assert badge == ("alarms", "1 bad")
    assert main[0] == "main" and "The host sends no reports." in main[1]


def test_a_page_with_an_old_badge_gets_the_present_one(browse: Any) -> None:
    async def watch(visitor: Visitor) -> tuple[str, str]:
        async with visitor.client.get("/live", params={"page": "/jobs", "alarms": "3 bad"}) as response:
            lines = [await response.content.readline() for _ in range(4)]
        return lines[2].decode(), lines[3].decode()

    assert browse(watch) == ("event: alarms\n", "data: 0 off\n")


@pytest.mark.statement("DM-5")
def test_programs_list_and_acknowledge_alarms(browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        begin(visitor, AWAY, FULL)
        listed = await visitor.json("/api/v1/alarms?limit=1")
        path = "/api/v1/alarms/1/acknowledge"
        async with visitor.client.post(path, json={"word": "disk ordered"}) as response:
            answer = response.status, await response.json()
        return listed, answer, await visitor.json("/api/v1/alarms"), await visitor.json("/api/v1/alarms?state=ended")

    listed, answer, after, ended = browse(play, ROOT)
    assert listed[0] == 200 and listed[1]["total"] == 2
    assert listed[1]["items"] == [
        {
            "id": 1, "rule": "host_away", "severity": "critical", "subject": "h2", "cause": "The host sends no reports.",
            "step": "Start it.", "command": "gridengine start", "since": NOW - 60, "begin": NOW - 60, "end": None,
            "acknowledged": None,
        }
    ]
    assert answer == (200, {"answers": [["info", "root has acknowledged 1 alarm"]], "data": None})
    known = after[1]["items"][0]["acknowledged"]
    assert (known["user"], known["word"]) == ("root", "disk ordered")
    assert ended == (200, {"items": [], "total": 0})


@pytest.mark.parametrize(
    ("caller", "number", "body", "status"),
    [
        (BOB, "1", {"word": "x"}, 403),
        (ROOT, "9", {"word": "x"}, 404),
        (ROOT, "x", {"word": "x"}, 404),
        (ROOT, "1", {}, 422),
        (ROOT, "1", {"word": 5}, 422),
        (ROOT, "1", [], 400),
    ],
)
def test_a_program_gets_the_reason_of_a_refusal(browse: Any, caller: Any, number: str, body: Any, status: int) -> None:
    async def play(visitor: Visitor) -> tuple[int, Any]:
        begin(visitor, AWAY)
        async with visitor.client.post(f"/api/v1/alarms/{number}/acknowledge", json=body) as response:
            return response.status, (await response.json(content_type=None))["detail"]

    answered, detail = browse(play, caller)
    assert answered == status and detail


def test_an_unknown_state_of_alarms_is_refused(browse: Any) -> None:
    status, answer = browse(lambda visitor: visitor.json("/api/v1/alarms?state=old"))
    assert status == 400 and "active or ended" in answer["detail"]


def test_alarms_are_counted_for_monitors(followed: Followed, browse: Any) -> None:
    async def look(visitor: Visitor) -> str:
        begin(visitor, AWAY, LONELY)
        async with visitor.client.get("/metrics") as response:
            return await response.text()

    families = {family.name: family for family in text_string_to_metric_families(browse(look))}
    counts = {tuple(sample.labels.values()): sample.value for sample in families["gridengine_alarms"].samples}
    assert (counts["host_away", "critical"], counts["host_away", "warning"], counts["quota_full", "info"]) == (1, 1, 0)
