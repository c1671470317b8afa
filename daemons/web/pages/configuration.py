"""All objects of the configuration in a common form: show, add, change and remove, as qconf, with a preview of the effects.

Owns the addresses and the form; the models define the attributes, the qmaster decides on changes. A change carries the version
that the form is based on, so two administrators cannot overwrite each other's work unnoticed: the later administrator sees both
versions.
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
from daemons.web.pages.attribute_fields import fields_of
from daemons.web.pages.calendars import shown_week
from daemons.web.pages.changing import Attributes, differences, try_changes, versions, why_not_configure
from daemons.web.pages.forms import Question, form_route, tasks_in
from daemons.web.pages.page import Data, NotFoundError, Page, Visit, html, page_route, render, visit_of
from gridengine.config import KINDS
from gridengine.config.configuration import GLOBAL, LOCAL
from gridengine.kinds import KIND
from gridengine.state.state import State

ROWS = 200
SINGLE, NEW = "-", "+"
"""Names in addresses: of the single object of a kind, and of a new object."""

_NOUNS = {
    "exec_host": "execution host", "admin_host": "administrative host", "submit_host": "submit host",
    "userset": "access list", "checkpoint": "checkpointing environment",
}
"""Nouns for kinds of objects whose names in the commands are abbreviated."""


def noun_of(kind: str) -> str:
    """The noun for a kind of object on pages."""
    return _NOUNS.get(kind, KIND[kind].noun)


class Subject(NamedTuple):
    """The object at an address; without a name, a new object. `stored`: its attributes, None if it does not exist."""

    kind: str
    name: str
    stored: Attributes | None

    @property
    def key(self) -> str:
        """The attribute that holds the name, "" if there is none."""
        return KIND[self.kind].key

    @property
    def is_gone(self) -> bool:
        """Whether the object was removed after the form was loaded."""
        return bool(self.name) and self.stored is None

    @property
    def inherits(self) -> bool:
        """Whether the object only has overrides of the global configuration."""
        return self.kind == "configuration" and self.name != GLOBAL

    @property
    def title(self) -> str:
        noun = noun_of(self.kind)
        return noun[:1].upper() + noun[1:] if KIND[self.kind].single else f"{noun[:1].upper()}{noun[1:]} {self.name}"


class Match(NamedTuple):
    """An object with a text in its attributes. `noun`: of its kind; `attributes`: the names of these. `address`: its page."""

    noun: str
    name: str
    address: str
    attributes: list[str]


async def kinds(visit: Visit) -> Data:
    """All kinds with the number of their objects; with `find`, the objects that contain the text."""
    state, find = visit.shared.mirror.state, visit.parameter("find")
    rows = [(kind, noun_of(kind), len(state.kind(kind)), address_of(kind, "") if KIND[kind].single else "") for kind in KINDS]
    matching = matches(state, re.compile(re.escape(find), re.IGNORECASE)) if find else []
    return {"kinds": rows, "find": find, "matches": matching[:ROWS], "total": len(matching)}


def matches(state: State, pattern: re.Pattern[str]) -> list[Match]:
    """The objects with a match of the pattern in their names, attributes or values."""
    matching = []
    for kind in KIND:
        for name, attributes in sorted(state.kind(kind).items()):
            where = [each for each, value in attributes.items() if pattern.search(value) or pattern.search(each)]
            if where or pattern.search(name):
                matching.append(Match(noun_of(kind), name, address_of(kind, name), where))
    return matching


async def objects(visit: Visit) -> Data:
    """The objects of a kind, by name."""
    kind = _kind(visit)
    state = visit.shared.mirror.state
    find = visit.parameter("find")
    names = [name for name in sorted(state.kind(kind)) if find.lower() in name.lower()]
    number = min(visit.number("page"), max(1, -(-len(names) // ROWS)))
    shown = [name for name in names if (kind, name) != ("exec_host", "template")][(number - 1) * ROWS : number * ROWS]
    why_not = why_not_configure(visit)
    rows = [(name, address_of(kind, name), _summary(kind, state.kind(kind)[name])) for name in shown]
    return {
        "kind": kind, "noun": noun_of(kind), "rows": rows, "total": len(names), "page": number, "size": ROWS,
        "find": find, "why_not": why_not, "bare": KIND[kind].bare,
        "selectable": not (why_not or KIND[kind].bare or KIND[kind].single),
    }


async def object_details(visit: Visit) -> Data:
    """The form of an object, or of a new object with the values of the object `from`."""
    subject = _subject(visit)
    values = _attributes(subject)
    if subject.stored is None:
        template = visit.shared.mirror.state.kind(subject.kind).get(visit.parameter("from"), {})
        values |= {name: value for name, value in template.items() if name in values}
        if subject.key:
            values[subject.key] = visit.parameter("name")
    data = _form(visit, subject, values, as_text=visit.parameter("text") == "1")
    return data | {"read_only": bool(data["why_not"])}


def ask_about_object(visit: Visit, fields: MultiMapping[Any]) -> Question | None:
    """Ask to confirm a removal, with the tasks that run in a queue or on a host."""
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
    """Preview, save or remove an object; answer with the form and its errors or effects, or with a link to the result."""
    visit, fields = visit_of(request), await request.post()
    # another user may have removed the object after its form was loaded: the form keeps the typed values
    subject = _subject(visit, may_be_gone="before" in fields)
    before, after = _sent(subject, fields)
    removing, checking = fields.get("do") == "remove", fields.get("do") == "check"
    trying = fields.get("do") == "try"
    preview = checking or trying or fields.get("do") == "preview"
    name = subject.name or (after.get(subject.key, "").strip() if subject.key else str(fields.get("object", "")).strip())
    as_text = fields.get("text") == "1"
    data = _form(visit, subject, after, as_text) | {"before": json.dumps(before), "object": name}
    if fault := _name_fault(visit, subject, name):
        data |= {"faults": {subject.key or "object": fault}, "answers": [("error", fault)]}
        if checking:
            return _verdict([fault], data["faults"])
        return html(render(OBJECT, visit, data, alone="HX-Request" in request.headers))
    change = {"kind": subject.kind, "name": name, "before": before, "after": None if removing else after}
    attempt = await try_changes(visit, [change], preview, on_cell=trying)
    data |= {"faults": _at_fields(subject, attempt.refusals, after), "answers": attempt.answers}
    data |= {"effects": attempt.effects, "trial": attempt.trial}
    if checking:
        return _verdict(attempt.refusals, data["faults"])
    data["differences"] = differences(before, after) if before and attempt.effects is not None else []
    if subject.is_gone:
        data |= {"gone": attempt.is_stale, "before": "null"}  # Save adds it again
    elif attempt.is_stale:
        data["versions"] = versions(before, visit.shared.mirror.state.kind(subject.kind).get(name), after)
    elif not preview and not attempt.refusals:
        data |= {"done": True, "next": f"/config/{subject.kind}" if removing else address_of(subject.kind, name)}
    return html(render(OBJECT, visit, data, alone="HX-Request" in request.headers))


def address_of(kind: str, name: str) -> str:
    """The address of the page that shows and changes an object."""
    return f"/config/{kind}/{quote(name, safe='@') if name else SINGLE}"


def _verdict(refusals: list[str], faults: dict[str, str]) -> web.Response:
    """The answer to a check while the visitor types: refusals by attribute, and those without a place."""
    return web.json_response({"faults": faults, "others": [text for text in refusals if text not in faults.values()]})


def _form(visit: Visit, subject: Subject, values: Attributes, as_text: bool = False) -> Data:
    inherited = _inherited(visit, subject)
    shown = dict.fromkeys(sorted(LOCAL), "") | dict(values) if subject.inherits else values
    return {
        "subject": subject, "before": json.dumps(subject.stored), "faults": {}, "answers": [],
        "effects": None, "trial": None, "versions": [], "gone": False, "object": "", "done": False, "next": "",
        "why_not": why_not_configure(visit), "inherited": inherited, "differences": [], "read_only": False, "as_text": as_text,
        "groups": fields_of(visit.shared.mirror.state, subject.kind, shown, inherited, as_text),
        "noun": noun_of(subject.kind), "week": shown_week(visit, subject.name) if subject.kind == "calendar" else None,
    }


def _inherited(visit: Visit, subject: Subject) -> Attributes:
    """The global values, which a host inherits without values of its own."""
    return visit.shared.mirror.state.kind("configuration").get(GLOBAL, {}) if subject.inherits else {}


def _kind(visit: Visit) -> str:
    """Raises NotFoundError."""
    if visit.parts["kind"] not in KINDS:
        raise NotFoundError(f"There is no kind of object {visit.parts['kind']}")
    return visit.parts["kind"]


def _subject(visit: Visit, may_be_gone: bool = False) -> Subject:
    """The object at an address. Raises NotFoundError for an unknown kind, and for an unknown object unless it `may_be_gone`."""
    kind, name = _kind(visit), visit.parts["name"]
    if name == NEW and not KIND[kind].single:
        return Subject(kind, "", None)
    name = "" if name == SINGLE and KIND[kind].single else name
    stored = visit.shared.mirror.state.kind(kind).get(name)
    if stored is None and (name or not KIND[kind].single) and not may_be_gone:
        raise NotFoundError(f"There is no {noun_of(kind)} {name}")
    return Subject(kind, name, stored)


def _sent(subject: Subject, fields: MultiMapping[Any]) -> tuple[Attributes | None, Attributes]:
    """The base version of a form (None for a new object), and its current values."""
    try:
        before = json.loads(str(fields.get("before", "null")))
    except ValueError:
        before = None
    after = {name: _text(fields, name, default) for name, default in _attributes(subject).items()}
    return before, {name: value for name, value in after.items() if value} if subject.inherits else after


def _attributes(subject: Subject) -> Attributes:
    """The attributes of a form in order: stored values, else defaults of a new object; "" for inherited attributes of a host."""
    if subject.inherits:
        return dict.fromkeys(sorted(LOCAL), "") | dict(subject.stored or {})
    return dict(subject.stored) if subject.stored is not None else KINDS[subject.kind].template().attributes()


def _text(fields: MultiMapping[Any], name: str, default: str) -> str:
    value = fields.get(f"attr {name}")
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else default


def _name_fault(visit: Visit, subject: Subject, name: str) -> str:
    """The error in the name of a new object, "" for none, and for existing objects."""
    if subject.name or KIND[subject.kind].single:
        return ""
    if not name:
        return "A name is required."
    return f"The {noun_of(subject.kind)} {name} already exists." if name in visit.shared.mirror.state.kind(subject.kind) else ""


def _summary(kind: str, attributes: Mapping[str, str]) -> str:
    """The first attributes after the name, for a list."""
    shown = [(name, value) for name, value in attributes.items() if name != KIND[kind].key and value.lower() != "none"]
    return ", ".join(f"{name} {value}" for name, value in shown[:4])


def _at_fields(subject: Subject, texts: list[str], values: Mapping[str, str]) -> dict[str, str]:
    """Refusals by the attribute that they name first; for a new object without a key attribute, other refusals at `object`."""
    faults: dict[str, str] = {}
    for text in texts:
        named = [(match.start(), name) for name in values if (match := re.search(rf"\b{re.escape(name)}\b", text))]
        if named:
            faults.setdefault(min(named)[1], text)
        elif not (subject.name or subject.key):
            faults.setdefault("object", text)
    return faults


def _concerns(change: MirroredChange) -> bool:
    return change.whole or bool(change.affected.kinds)


OBJECT = Page("/config/{kind}/{name}", "object.html", object_details)
PAGES = [Page("/config", "kinds.html", kinds, _concerns), Page("/config/{kind}", "objects.html", objects, _concerns)]
ROUTES = [page_route(OBJECT), form_route("/config/{kind}/{name}", change_object, ask_about_object)]
