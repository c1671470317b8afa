"""The overview: alarms by urgency, slots in use, and the events of the next 24 hours."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from daemons.web.alarms.rules import Alarm
from daemons.web.pages.coming_day import coming_events
from daemons.web.pages.overview import MAX_ALARMS
from daemons.web.shared import WEB
from tests.unit.web.browsing import Visitor, page, rows, text_of
from tests.unit.web.followed import ROOT, Followed

DAY_S = 86_400
HOUR_S = 3600


def notes(shown: Any) -> list[str]:
    return [text_of(note) for note in shown.findall(".//ul[@class='notes']/li")]


def begin(visitor: Visitor, *alarms: Alarm) -> Any:
    """Make these the active alarms; returns their book."""
    app: Any = visitor.client.app
    shared = app[WEB]
    for later in (0, 60):
        shared.alarms.update(alarms, shared.mirror.now + later)
    return shared.alarms


@pytest.mark.statement("GU-4")
def test_the_most_urgent_alarms_come_first_with_cause_and_next_step(browse: Any) -> None:
    full = Alarm("quota_full", "info", "people/1 slots", "4 of 4 are in use.", "Wait.", "qconf -mrqs people", "/quotas", 1.0)
    mail = Alarm("mail", "warning", "mailer", "No mail is sent.", "Install a mailer.")
    away = Alarm("host_away", "critical", "h<2>", "The host sends no reports.", "Start it.", "gridengine start", "/hosts/h2")

    async def look(visitor: Visitor) -> Any:
        book = begin(visitor, full, mail, away)
        before = await visitor.get("/")
        await book.acknowledge([each for each in book.active if each.alarm == away], "root", "disk ordered", 1.0)
        return before, await visitor.get("/")

    before, after = browse(look, ROOT)
    assert notes(before)[0].startswith("critical: h<2> The host sends no reports. Start it. gridengine start since ")
    assert [note.partition(":")[0] for note in notes(before)] == ["critical", "warning", "info"]
    links = [each.get("href") for each in before.findall(".//ul[@class='notes']/li/a")]
    assert links == ["/hosts/h2", "/alarms", "/quotas"]
    assert notes(after)[2].startswith("critical") and notes(after)[2].endswith("root: disk ordered Show")


def test_many_alarms_are_counted(browse: Any) -> None:
    async def look(visitor: Visitor) -> Any:
        begin(visitor, *(Alarm("mail", "info", f"m{number}", "It fails.", "Wait.") for number in range(9)))
        return await visitor.get("/")

    shown = browse(look)
    assert len(notes(shown)) == MAX_ALARMS and "All 9 alarms" in text_of(shown)


def test_a_cell_without_alarms_has_no_panel_of_alarms(browse: Any) -> None:
    assert "Needs attention" not in [text_of(each) for each in browse(page("/")).findall(".//h2")]


def test_a_new_alarm_appears_on_an_open_overview(browse: Any) -> None:
    async def watch(visitor: Visitor) -> list[str]:
        stream = visitor.events("/")
        events = [(await anext(stream))[1]]
        begin(visitor, Alarm("mail", "warning", "mailer", "No mail is sent.", "Install a mailer."))
        while "No mail is sent." not in events[-1]:
            events.append((await anext(stream))[1])
        await stream.aclose()  # type: ignore[attr-defined]
        return events

    assert "No mail" not in browse(watch)[0]


@pytest.mark.statement("GU-4")
def test_the_slots_of_the_cell_add_up(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    cell.submit(tasks="1-3")
    cell.cycle()
    cell.admin("reserve", name="weather", duration=3600.0)
    cell.pass_time(1)
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h3"])
    used_there = cell.state.slots_used("all.q@h3")
    shown = browse(page("/")).find(".//div[@class='filled']").get("aria-label")
    free = 12 - 3 - 1 - (4 - used_there)
    assert shown == f"3 used, 1 reserved, {free} free, {4 - used_there} down, of 12 slots"


def test_the_next_day_has_reservations_calendars_and_drained_hosts(followed: Followed, browse: Any) -> None:
    cell = followed.cell  # it is 8:00 of a Friday, UTC
    cell.add("calendar", "nights", year="NONE", week="mon-sun=9-20=off")
    cell.configure("cluster_queue", "all.q", calendar="NONE,[h2=nights],[h3=nights]")
    cell.admin("reserve", name="weather", start_time=cell.now + HOUR_S * 2, duration=DAY_S)
    cell.admin("reserve", name="later", start_time=cell.now + DAY_S * 2, duration=600.0)
    cell.admin("drain_hosts", hosts=["h1"], reason="new disk")
    shown = browse(page("/"))
    coming = next(each for each in shown.findall(".//section") if text_of(each).startswith("Next 24 hours"))
    assert [row[1:] for row in rows(coming)] == [
        ["queues of calendar nights disabled", "2 instances of all.q"],
        ["reservation 1 begins", "1 slot of root: weather; reserved queue all.q@h1 is disabled"],
        ["queues of calendar nights enabled", "2 instances of all.q"],
    ]
    assert text_of(coming.find(".//dl")).startswith("h1 new disk root@")


def test_a_quiet_day_is_named_as_such(browse: Any) -> None:
    assert "No reservation begins or ends" in text_of(browse(page("/")))


def test_events_are_in_the_order_of_their_times(followed: Followed) -> None:
    cell = followed.cell
    for hours in (5, 1, 3):
        cell.admin("reserve", name=f"in{hours}", start_time=cell.now + hours * HOUR_S, duration=600.0)
    events = coming_events(cell.state, cell.now, UTC)
    assert [each.time for each in events] == sorted(each.time for each in events) and len(events) == 6
