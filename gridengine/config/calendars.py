"""Calendars.

Owns their attributes. Called through `gridengine.config.KINDS`; the fields' grammar and meaning is `syntax.calendar`'s.
Source: sge_calendar_conf(5), CA-1.
"""

from typing import Annotated, ClassVar

from gridengine.config.attribute_types import AttributeType, ObjectName, given
from gridengine.config.objects import ConfigObject
from gridengine.syntax.calendar import Calendar, parse_calendar, parse_week, parse_year


def _year(text: str) -> str:
    return " ".join(given(text).split()) if parse_year(given(text)) else "NONE"


def _week(text: str) -> str:
    return " ".join(given(text).split()) if parse_week(given(text)) else "NONE"


class CalendarObject(ConfigObject):
    """A calendar as it is configured."""

    kind: ClassVar[str] = "calendar"
    key: ClassVar[str] = "calendar_name"

    calendar_name: ObjectName
    year: Annotated[str, AttributeType(_year)] = "NONE"
    week: Annotated[str, AttributeType(_week)] = "NONE"

    @property
    def calendar(self) -> Calendar:
        """The parsed fields."""
        return parse_calendar(self.year, self.week)
