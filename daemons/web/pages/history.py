"""The history of the configuration: all changes with their users, with each attribute before and after, and the undo of a change.

Owns the list and the page of a change. Undo reverts all objects of a change, or none. The undo carries the versions after the
change, so the qmaster refuses it after a later change of the same objects. Source: QF-36; `gridengine config history`, `undo`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.web.mirror import MirroredChange
from daemons.web.pages.changing import Attributes, differences, try_changes, versions, why_not_configure
from daemons.web.pages.configuration import address_of, noun_of
from daemons.web.pages.formats import iso_time
from daemons.web.pages.forms import Question, form_route, listed
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, html, page_route, render, visit_of
from gridengine.config import KINDS
from gridengine.protocols.gdi.requests import Answer

ROWS = 50
_FILTERS = ("kind", "name", "user")
_CSV_CHANGES = 2000
"""Maximum of changes in a file."""
_LISTED_OBJECTS, _SHOWN_OBJECTS = 8, 200
"""Objects per change in the list, and on the page of a change: the first change of a cell has several hundred."""


class Altered(NamedTuple):
    """A changed object: its attributes `before` and `after` the change, None if it did not exist."""

    kind: str
    name: str
    before: Attributes | None
    after: Attributes | None

    @property
    def title(self) -> str:
        return f'{noun_of(self.kind)} "{self.name}"' if self.name else noun_of(self.kind)

    @property
    def address(self) -> str:
        return address_of(self.kind, self.name)

    @property
    def verb(self) -> tuple[str, str]:
        """The kind of change: a tone and a text."""
        return ("ok", "added") if self.before is None else ("bad", "removed") if self.after is None else ("busy", "changed")

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        """(attribute, before, after) for each attribute that differs; all attributes of an added or removed object."""
        return differences(self.before, self.after)

    @property
    def opposite(self) -> dict[str, Any]:
        """The change that reverts this change."""
        return {"kind": self.kind, "name": self.name, "before": self.after, "after": self.before}


class PastChange(NamedTuple):
    """A transaction of the history. `objects`: that it changed. `time`: epoch s."""

    revision: int
    time: float
    user: str
    host: str
    objects: list[Altered]


async def history(visit: Visit) -> Data:
    """The changes that match the filters, the newest first; only changes before the revision `before` of the address."""
    filters = {name: text for name in _FILTERS if (text := visit.parameter(name))}
    before = visit.number("before", 0)
    answer = await visit.shared.ask("config_history", {**filters, "limit": ROWS + 1, "before": before}, visit.caller)
    changes = _changes(answer)
    nouns = sorted((noun_of(kind), kind) for kind in KINDS)
    return {
        "changes": changes[:ROWS], "older": changes[ROWS - 1].revision if len(changes) > ROWS else 0, "before": before,
        "filters": filters, "kinds": [("", "any"), *((kind, noun) for noun, kind in nouns)], "most": _LISTED_OBJECTS,
        "answers": answer.answers, "why_not": why_not_configure(visit),
    }


async def history_csv(visit: Visit) -> CsvTable:
    """The last changes that match the filters, a row for each attribute."""
    filters = {name: text for name in _FILTERS if (text := visit.parameter(name))}
    changes: list[PastChange] = []
    before = visit.number("before", 0)
    while len(changes) < _CSV_CHANGES:
        part = _changes(await visit.shared.ask("config_history", {**filters, "limit": ROWS, "before": before}, visit.caller))
        changes += part
        if len(part) < ROWS:
            break
        before = part[-1].revision
    columns = ("change", "time", "user", "host", "kind", "name", "action", "attribute", "before", "after")
    return CsvTable("history", columns, [
        (change.revision, iso_time(change.time), change.user, change.host, each.kind, each.name, each.verb[1], *difference)
        for change in changes
        for each in change.objects
        for difference in each.differences or [("", "", "")]
    ])


async def change_details(visit: Visit) -> Data:
    """A change with all its objects. Raises NotFoundError."""
    number = visit.parts["revision"]
    revision = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
    body = {"revision": revision, "limit": 1}
    changes = _changes(await visit.shared.ask("config_history", body, visit.caller)) if revision else []
    if not changes:
        raise NotFoundError(f"There is no change {number} in the history")
    empty: Data = {"answers": [], "effects": None, "versions": [], "done": False}
    return {"change": changes[0], "most": _SHOWN_OBJECTS, "why_not": why_not_configure(visit), **empty}


async def ask_about_undo(visit: Visit, fields: MultiMapping[Any]) -> Question | None:
    """Ask to confirm the undo of a change, with its objects."""
    if fields.get("do") != "undo":
        return None
    change = (await change_details(visit))["change"]
    did = listed([f"{each.title} ({each.verb[1]})" for each in change.objects])
    details = [f"{change.user}: {did}.", "All objects of this change get their former values."]
    return Question(f"Undo change {change.revision}?", "Undo", details)


async def undo(request: web.Request) -> web.Response:
    """Preview the undo of a change, or undo the change."""
    visit, fields = visit_of(request), await request.post()
    data = await change_details(visit)
    change, preview = data["change"], fields.get("do") != "undo"
    attempt = await try_changes(visit, [each.opposite for each in reversed(change.objects)], preview)
    data |= {"answers": attempt.answers, "effects": attempt.effects, "done": not preview and not attempt.refusals}
    if attempt.is_stale:
        data["versions"] = _versions(visit, change)[:_SHOWN_OBJECTS]
    return html(render(CHANGE, visit, data, alone="HX-Request" in request.headers))


def _versions(visit: Visit, change: PastChange) -> list[tuple[str, str, str, str]]:
    """(object and attribute, value after the change, current value, value before the change) for each later change."""
    state = visit.shared.mirror.state
    return [
        (f"{each.title}: {attribute}", then, now, again)
        for each in change.objects
        if (stored := state.kind(each.kind).get(each.name)) != each.after
        for attribute, then, now, again in versions(each.after, stored, each.before)
    ]


def _changes(answer: Answer) -> list[PastChange]:
    """The changes in an answer of the qmaster; empty for a refusal."""
    changes: Any = answer.data or []
    return [PastChange(**{**each, "objects": [Altered(**altered) for altered in each["objects"]]}) for each in changes]


def _concerns(change: MirroredChange) -> bool:
    return change.whole or bool(change.affected.kinds)


CHANGE = Page("/history/{revision}", "change.html", change_details)
PAGES = [Page("/history", "history.html", history, _concerns, csv=history_csv)]
ROUTES = [page_route(CHANGE), form_route("/history/{revision}", undo, ask_about_undo)]
