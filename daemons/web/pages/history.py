"""The past of the configuration: who changed what, with each attribute before and after, and the undo of a change.

Owns the list and the page of one change. Undo makes the opposite change of all its objects, or of none; it bears what the change
left behind, so it is refused once somebody else has changed one of them. Source: QF-36; `gridengine config history`, `undo`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.web.mirror import MirroredChange
from daemons.web.pages.changing import Attributes, try_changes, versions, why_not_configure
from daemons.web.pages.configuration import address_of, noun_of
from daemons.web.pages.forms import Question, form_route, listed
from daemons.web.pages.page import Data, Missing, Page, Visit, html, page_route, render, visit_of
from gridengine.config import KINDS
from gridengine.gdi.requests import Answer

ROWS = 50
_MOST_OBJECTS, _MOST_SHOWN = 8, 200
"""Of one change in the list, and on its own page: a cell is made by a change of some hundred."""


class Altered(NamedTuple):
    """What a change did to an object: its attributes before and after, None where there was no object."""

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
        """What became of it: a tone and a word."""
        return ("ok", "added") if self.before is None else ("bad", "removed") if self.after is None else ("busy", "changed")

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        """Attribute, before, after: where these differ; of an object that came or went, all."""
        before, after = self.before or {}, self.after or {}
        rows = [(name, before.get(name, ""), after.get(name, "")) for name in {**before, **after}]
        return [row for row in rows if row[1] != row[2]]

    @property
    def opposite(self) -> dict[str, Any]:
        """The change that takes this one back."""
        return {"kind": self.kind, "name": self.name, "before": self.after, "after": self.before}


class PastChange(NamedTuple):
    """A transaction of the history. `time`: epoch s."""

    revision: int
    time: float
    user: str
    host: str
    objects: list[Altered]


async def history(visit: Visit) -> Data:
    """The changes that the filters mean, the newest first; those before the revision `before` of the address."""
    wanted = {name: text for name in ("kind", "name", "user") if (text := visit.said(name))}
    before = visit.number("before", 0)
    answer = await visit.shared.ask("config_history", {**wanted, "limit": ROWS + 1, "before": before}, visit.caller)
    found = _changes(answer)
    nouns = sorted((noun_of(kind), kind) for kind in KINDS)
    return {
        **{"changes": found[:ROWS], "older": found[ROWS - 1].revision if len(found) > ROWS else 0, "before": before},
        **{"wanted": wanted, "kinds": [("", "any"), *((kind, noun) for noun, kind in nouns)], "most": _MOST_OBJECTS},
        **{"answers": answer.answers, "why_not": why_not_configure(visit)},
    }


async def one_change(visit: Visit) -> Data:
    """A change with all that it did. Raises Missing."""
    number = visit.parts["revision"]
    revision = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
    body = {"revision": revision, "limit": 1}
    found = _changes(await visit.shared.ask("config_history", body, visit.caller)) if revision else []
    if not found:
        raise Missing(f"There is no change {number} in the history")
    empty: Data = {"answers": [], "effects": None, "versions": [], "done": False}
    return {"change": found[0], "most": _MOST_SHOWN, "why_not": why_not_configure(visit), **empty}


async def ask_about_undo(visit: Visit, fields: MultiMapping[Any]) -> Question | None:
    """What to confirm: the undo of a change, with its objects."""
    if fields.get("do") != "undo":
        return None
    change = (await one_change(visit))["change"]
    did = listed([f"{each.title} ({each.verb[1]})" for each in change.objects])
    details = [f"{change.user}: {did}.", "All objects of this change get their former values."]
    return Question(f"Undo change {change.revision}?", "Undo", details)


async def undo(request: web.Request) -> web.Response:
    """What the buttons of a change do: show what its undo would do, or undo it."""
    visit, fields = visit_of(request), await request.post()
    data = await one_change(visit)
    change, preview = data["change"], fields.get("do") != "undo"
    attempt = await try_changes(visit, [each.opposite for each in reversed(change.objects)], preview)
    data |= {"answers": attempt.answers, "effects": attempt.effects, "done": not preview and not attempt.refusals}
    if attempt.is_stale:
        data["versions"] = _versions(visit, change)[:_MOST_SHOWN]
    return html(render(CHANGE, visit, data, alone="HX-Request" in request.headers))


def _versions(visit: Visit, change: PastChange) -> list[tuple[str, str, str, str]]:
    """Object and attribute, as the change left it, as it is now, as it was before the change: of what was changed since."""
    state = visit.shared.mirror.state
    return [
        (f"{each.title}: {attribute}", then, now, again)
        for each in change.objects
        if (stored := state.kind(each.kind).get(each.name)) != each.after
        for attribute, then, now, again in versions(each.after, stored, each.before)
    ]


def _changes(answer: Answer) -> list[PastChange]:
    """The answer of the qmaster; none where it refuses."""
    found: Any = answer.data or []
    return [PastChange(**{**each, "objects": [Altered(**one) for one in each["objects"]]}) for each in found]


def _concerns(change: MirroredChange) -> bool:
    return change.whole or bool(change.affected.kinds)


CHANGE = Page("/history/{revision}", "change.html", one_change)
PAGES = [Page("/history", "history.html", history, _concerns)]
ROUTES = [page_route(CHANGE), form_route("/history/{revision}", undo, ask_about_undo)]
