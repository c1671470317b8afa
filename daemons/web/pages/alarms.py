"""Alarms: the active alarms by rule, their acknowledgement, and the history. Source: adr/0280."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from multidict import MultiMapping

from daemons.qmaster.permissions import is_operator
from daemons.web.alarms.acknowledging import MAX_NOTE, acknowledge
from daemons.web.alarms.book import TONES, AlarmEntry
from daemons.web.alarms.rules import RULES
from daemons.web.mirror import MirroredChange
from daemons.web.pages.forms import action_route, no_question
from daemons.web.pages.page import Data, Page, Visit, rows_of_page
from daemons.web.pages.states import Badge
from gridengine.protocols.gdi.requests import Answer

ROWS = 100
_ENDED = "ended"


async def alarms(visit: Visit) -> Data:
    """The active or the ended alarms."""
    book = visit.shared.alarms
    active = sorted(book.active, key=lambda each: list(RULES).index(each.alarm.rule))
    history, counts = book.history, Counter(each.alarm.rule for each in active)
    has_ended = visit.parameter("state") == _ENDED
    shown, pager = rows_of_page(visit, history if has_ended else active, ROWS)
    tabs = [("Active", "/alarms", len(active)), ("History", "/alarms?state=ended", len(history))]
    return pager | {
        "groups": list(_groups(shown, counts)), "history": shown if has_ended else [], "tabs": tabs, "ended": has_ended,
        "badge_of": _severity_badge, "titles": {name: rule.title for name, rule in RULES.items()},
        "why_not": _why_not(visit), "longest": MAX_NOTE,
    }


def _groups(entries: Sequence[AlarmEntry], counts: Counter[str]) -> Iterator[tuple[str, int, list[AlarmEntry]]]:
    """Title, number of all alarms and the shown alarms of each rule."""
    for rule, of_rule in groupby(entries, key=lambda each: each.alarm.rule):
        yield RULES[rule].title, counts[rule], list(of_rule)


def _severity_badge(entry: AlarmEntry) -> Badge:
    severity = entry.alarm.severity
    return Badge("", severity, TONES[severity])


def _why_not(visit: Visit) -> str:
    """The reason why the visitor may not acknowledge alarms, "" for none."""
    if is_operator(visit.shared.mirror.state, visit.caller, visit.shared.cell.admin_user):
        return ""
    return "Only operators and managers acknowledge alarms."


async def _acknowledge(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    texts = [text for text in fields.getall("target", []) if text.isascii() and text.isdigit() and len(text) < 16]
    return [await acknowledge(visit.shared, visit.caller, [int(text) for text in texts], fields.get("word", ""))]


def _concerns(change: MirroredChange) -> bool:
    """Whether a change of the state may alter the page itself: rights of the visitor."""
    return change.whole


PAGES = [Page("/alarms", "alarms.html", alarms, _concerns, has_alarms=True)]
ROUTES = [action_route("/alarms", _acknowledge, no_question)]
