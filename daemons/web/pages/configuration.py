"""Every object of the configuration in one form: what qconf shows, adds, changes and removes, and what would follow of a change.

Owns the addresses and the form; which attributes there are say the models, what a change is worth the qmaster. A change bears
what the form was made of, so two administrators cannot overwrite each other's work in silence: the later one is shown both.
Source: GU-1, GU-2, GU-6, GU-7, GU-8; qconf(1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from aiohttp import web
from multidict import MultiMapping

from daemons.web.mirror import MirroredChange
from daemons.web.pages.calendars import shown_week
from daemons.web.pages.changing import Attributes, try_changes, versions, why_not_configure
from daemons.web.pages.forms import Question, form_route, tasks_in
from daemons.web.pages.page import Data, Missing, Page, Visit, html, page_route, render, visit_of
from gridengine.config import KINDS
from gridengine.config.configuration import GLOBAL, LOCAL
from gridengine.kinds import KIND
from gridengine.state.state import State

ROWS = 200
SINGLE, NEW = "-", "+"
"""In addresses: the one object of a kind that has only one, and an object that is to be made."""
_LONG = 60


_NOUNS = {
    **{"exec_host": "execution host", "admin_host": "administrative host", "submit_host": "submit host"},
    **{"userset": "access list", "checkpoint": "checkpointing environment"},
}
"""Words for kinds of objects where the commands use short ones."""


def noun_of(kind: str) -> str:
    """What pages call a kind of object."""
    return _NOUNS.get(kind, KIND[kind].noun)


class Subject(NamedTuple):
    """The object that an address means; without a name, a new one. `stored`: its attributes, None while there is none."""

    kind: str
    name: str
    stored: Attributes | None

    @property
    def key(self) -> str:
        """The attribute that holds its name, "" if none does."""
        return KIND[self.kind].key

    @property
    def is_gone(self) -> bool:
        """Whether there was such an object when the form was made."""
        return bool(self.name) and self.stored is None

    @property
    def inherits(self) -> bool:
        """Whether it has only what differs from the global configuration."""
        return self.kind == "configuration" and self.name != GLOBAL

    @property
    def title(self) -> str:
        noun = noun_of(self.kind)
        return noun[:1].upper() + noun[1:] if KIND[self.kind].single else f"{noun[:1].upper()}{noun[1:]} {self.name}"


class Match(NamedTuple):
    """An object with a text in some of its attributes. `address`: its page."""

    noun: str
    name: str
    address: str
    attributes: list[str]


async def kinds(visit: Visit) -> Data:
    """All kinds, with how many objects there are; with `find`, the objects that have that text somewhere."""
    state, find = visit.shared.mirror.state, visit.said("find")
    rows = [(kind, noun_of(kind), len(state.kind(kind)), address_of(kind, "") if KIND[kind].single else "") for kind in KINDS]
    found = matches(state, re.compile(re.escape(find), re.IGNORECASE)) if find else []
    return {"kinds": rows, "find": find, "matches": found[:ROWS], "total": len(found)}


def matches(state: State, wanted: re.Pattern[str]) -> list[Match]:
    """The objects in whose name, attributes or values the pattern is found."""
    found = []
    for kind in KIND:
        for name, attributes in sorted(state.kind(kind).items()):
            where = [each for each, value in attributes.items() if wanted.search(value) or wanted.search(each)]
            if where or wanted.search(name):
                found.append(Match(noun_of(kind), name, address_of(kind, name), where))
    return found


async def objects(visit: Visit) -> Data:
    """The objects of a kind, by name."""
    kind = _kind(visit)
    state = visit.shared.mirror.state
    find = visit.said("find")
    names = [name for name in sorted(state.kind(kind)) if find.lower() in name.lower()]
    number = min(visit.number("page"), max(1, -(-len(names) // ROWS)))
    shown = [name for name in names if (kind, name) != ("exec_host", "template")][(number - 1) * ROWS : number * ROWS]
    rows = [(name, address_of(kind, name), _summary(kind, state.kind(kind)[name])) for name in shown]
    return {
        **{"kind": kind, "noun": noun_of(kind), "rows": rows, "total": len(names), "page": number, "size": ROWS},
        **{"find": find, "why_not": why_not_configure(visit), "bare": KIND[kind].bare},
    }


async def one_object(visit: Visit) -> Data:
    """The form of an object, or of a new one, that of `from` for a beginning."""
    subject = _subject(visit)
    values = _attributes(subject)
    if subject.stored is None:
        beginning = visit.shared.mirror.state.kind(subject.kind).get(visit.said("from"), {})
        values |= {name: value for name, value in beginning.items() if name in values}
        if subject.key:
            values[subject.key] = visit.said("name")
    return _form(visit, subject, values)


def ask_about_object(visit: Visit, fields: MultiMapping[Any]) -> Question | None:
    """What to confirm: a removal, with what runs in a queue or on a host."""
    if fields.get("do") != "remove":
        return None
    kind, name = _subject(visit)[:2]
    details = []
    if kind in ("cluster_queue", "exec_host"):
        side = 0 if kind == "cluster_queue" else 2
        running = tasks_in(visit, lambda instance: instance.partition("@")[side] == name)
        details.append(f"{running} there." if running else "No tasks run there.")
    return Question(f"Remove the {noun_of(kind)} {name}?", "Remove", [*details, "History can undo it."])


async def change_object(request: web.Request) -> web.Response:
    """Preview, save or remove: the form again with what is wrong or would follow, or the way to what has become of it."""
    visit, fields = visit_of(request), await request.post()
    # somebody else may have removed it since its form was made: what was typed stays there
    subject = _subject(visit, may_be_gone="before" in fields)
    before, after = _sent(subject, fields)
    removing, preview = fields.get("do") == "remove", fields.get("do") == "preview"
    name = subject.name or (after.get(subject.key, "").strip() if subject.key else str(fields.get("object", "")).strip())
    data = _form(visit, subject, after) | {"before": json.dumps(before), "object": name}
    if fault := _name_fault(visit, subject, name):
        data |= {"faults": {subject.key or "object": fault}, "answers": [("error", fault)]}
        return html(render(OBJECT, visit, data, alone="HX-Request" in request.headers))
    change = {"kind": subject.kind, "name": name, "before": before, "after": None if removing else after}
    attempt = await try_changes(visit, [change], preview)
    data |= {"faults": _at_fields(subject, attempt.refusals, after), "answers": attempt.answers, "effects": attempt.effects}
    if subject.is_gone:
        data |= {"gone": attempt.is_stale, "before": "null"}  # Save adds it again
    elif attempt.is_stale:
        data["versions"] = versions(before, visit.shared.mirror.state.kind(subject.kind).get(name), after)
    elif not preview and not attempt.refusals:
        data |= {"done": True, "place": f"/config/{subject.kind}" if removing else address_of(subject.kind, name)}
    return html(render(OBJECT, visit, data, alone="HX-Request" in request.headers))


def address_of(kind: str, name: str) -> str:
    """Where an object is shown and changed."""
    return f"/config/{kind}/{quote(name, safe='@') if name else SINGLE}"


def _form(visit: Visit, subject: Subject, values: Attributes) -> Data:
    shown = dict.fromkeys(sorted(LOCAL), "") | dict(values) if subject.inherits else values
    return {
        **{"subject": subject, "values": shown, "before": json.dumps(subject.stored), "faults": {}, "answers": []},
        **{"effects": None, "versions": [], "gone": False, "object": "", "done": False, "place": "", "long": _LONG},
        **{"why_not": why_not_configure(visit), "inherited": _inherited(visit, subject)},
        **{"noun": noun_of(subject.kind), "week": shown_week(visit, subject.name) if subject.kind == "calendar" else None},
    }


def _inherited(visit: Visit, subject: Subject) -> Attributes:
    """What a host gets where its configuration sets nothing."""
    return visit.shared.mirror.state.kind("configuration").get(GLOBAL, {}) if subject.inherits else {}


def _kind(visit: Visit) -> str:
    """Raises Missing."""
    if visit.parts["kind"] not in KINDS:
        raise Missing(f"There is no kind of object {visit.parts['kind']}")
    return visit.parts["kind"]


def _subject(visit: Visit, may_be_gone: bool = False) -> Subject:
    """Raises Missing for a kind that is not there, and for an object that is not there unless it `may_be_gone`."""
    kind, name = _kind(visit), visit.parts["name"]
    if name == NEW and not KIND[kind].single:
        return Subject(kind, "", None)
    name = "" if name == SINGLE and KIND[kind].single else name
    stored = visit.shared.mirror.state.kind(kind).get(name)
    if stored is None and (name or not KIND[kind].single) and not may_be_gone:
        raise Missing(f"There is no {noun_of(kind)} {name}")
    return Subject(kind, name, stored)


def _sent(subject: Subject, fields: MultiMapping[Any]) -> tuple[Attributes | None, Attributes]:
    """What a form was made of, and what it says now."""
    try:
        before = json.loads(str(fields.get("before", "null")))
    except ValueError:
        before = None
    after = {name: _text(fields, name, default) for name, default in _attributes(subject).items()}
    return before, {name: value for name, value in after.items() if value} if subject.inherits else after


def _attributes(subject: Subject) -> Attributes:
    """The attributes of a form: as stored, in their order, else as in a new object; "" for those that a host inherits."""
    if subject.inherits:
        return dict.fromkeys(sorted(LOCAL), "") | dict(subject.stored or {})
    return dict(subject.stored) if subject.stored is not None else KINDS[subject.kind].template().attributes()


def _text(fields: MultiMapping[Any], name: str, default: str) -> str:
    value = fields.get(f"attr {name}")
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else default


def _name_fault(visit: Visit, subject: Subject, name: str) -> str:
    """What is wrong with the name of a new object, "" if nothing is or it is none."""
    if subject.name or KIND[subject.kind].single:
        return ""
    if not name:
        return "A name is missing."
    return f"There is a {noun_of(subject.kind)} {name} already." if name in visit.shared.mirror.state.kind(subject.kind) else ""


def _summary(kind: str, attributes: Mapping[str, str]) -> str:
    """The first attributes beside the name, for a list."""
    shown = [(name, value) for name, value in attributes.items() if name != KIND[kind].key and value.lower() != "none"]
    return ", ".join(f"{name} {value}" for name, value in shown[:4])


def _at_fields(subject: Subject, texts: list[str], values: Mapping[str, str]) -> dict[str, str]:
    """Refusals by the attribute that they name first; of a new object whose name is no attribute, the others by `object`."""
    found: dict[str, str] = {}
    for text in texts:
        named = [(match.start(), name) for name in values if (match := re.search(rf"\b{re.escape(name)}\b", text))]
        if named:
            found.setdefault(min(named)[1], text)
        elif not (subject.name or subject.key):
            found.setdefault("object", text)
    return found


def _concerns(change: MirroredChange) -> bool:
    return change.whole or bool(change.affected.kinds)


OBJECT = Page("/config/{kind}/{name}", "object.html", one_object)
PAGES = [Page("/config", "kinds.html", kinds, _concerns), Page("/config/{kind}", "objects.html", objects, _concerns)]
ROUTES = [page_route(OBJECT), form_route("/config/{kind}/{name}", change_object, ask_about_object)]
