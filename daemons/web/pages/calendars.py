"""The week on the page of a calendar, with links to the weeks before and after. Source: GU-6; calendar_conf(5)."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from daemons.web.drawing.calendar_week import monday_of, week_of
from daemons.web.pages.formats import link
from daemons.web.pages.page import Data, Visit


def shown_week(visit: Visit, name: str) -> Data | None:
    """The week of the day `week` in the address, by default the current week; None if there is no such calendar."""
    state, zone = visit.shared.mirror.state, visit.shared.zone
    calendar = state.calendars.get(name)
    if calendar is None:
        return None
    now = datetime.fromtimestamp(visit.shared.mirror.now, zone)
    monday = monday_of(_day(visit.parameter("week")) or now.date())
    week = timedelta(days=7)
    return {
        "days": week_of(calendar, monday, zone), "today": now.date(), "second": now.hour * 3600 + now.minute * 60,
        "before": link(visit.here, week=monday - week), "after": link(visit.here, week=monday + week),
        "this": link(visit.here, week=None), "zone": now.tzname() or "",
    }


def _day(text: str) -> date | None:
    """A day as `2026-11-23`; None for other texts, and for the first and last year, which lack adjacent weeks."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1 < day.year < 9999 else None
