"""One attribute of many objects: set the value, add or remove elements, as qconf -mattr, -aattr, -dattr, in one change.

Owns the form; `change_attribute` has the arithmetic of qconf, and the qmaster decides. A preview comes first: a change of the
objects after the preview needs a new preview. All objects are changed, or none; History undoes the change as one.
Source: GU-2; qconf(1); QF-1 … QF-8.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.web.pages.attribute_fields import AttributeField, field_of
from daemons.web.pages.changing import Attributes, try_changes, why_not_configure
from daemons.web.pages.configuration import address_of, noun_of
from daemons.web.pages.forms import form_route, no_question
from daemons.web.pages.page import Data, NotFoundError, Page, Visit, html, render, visit_of
from gridengine.config import KINDS
from gridengine.config.attribute_changes import NAMED, PAIRED, change_attribute
from gridengine.config.attribute_help import help_of
from gridengine.config.configuration import GLOBAL, LOCAL
from gridengine.errors import ConfigError
from gridengine.kinds import KIND
from gridengine.values.units import counted

VERBS = {"modify": "Set to the value", "add": "Add to the list", "delete": "Remove from the list"}
"""The verbs of qconf, and their labels."""
_MOST_SHOWN = 200
_STALE = "The objects or your input have changed since the preview. This is the new one."


class BulkChange(NamedTuple):
    """A change of one `attribute` of the objects `targets`; `verb`: of `VERBS`; `value`: the text of the visitor."""

    kind: str
    targets: list[str]
    attribute: str
    verb: str
    value: str

    @property
    def is_list(self) -> bool:
        """Whether the attribute has elements to add and remove."""
        return self.attribute in NAMED | PAIRED

    def changed(self, name: str, stored: Attributes) -> Attributes:
        """The attributes of an object after the change. Raises ConfigError."""
        inherits = self.kind == "configuration" and name != GLOBAL
        base = dict.fromkeys(sorted(LOCAL), "") | stored if inherits else stored
        after = change_attribute(self.kind, base, self.verb, self.attribute, self.value)
        return {each: text for each, text in after.items() if text or not inherits}


class BulkRow(NamedTuple):
    """An object `name` and the `address` of its page: the value `before` and `after` the change, or a `fault`, the refusal."""

    name: str
    address: str
    before: str
    after: str
    fault: str


async def change_together(request: web.Request) -> web.Response:
    """Show the form for the selected objects, a preview, or the result of the change."""
    visit, fields = visit_of(request), await request.post()
    change = _sent(visit, fields)
    act = str(fields.get("do", ""))
    data = _data(visit, change)
    if act in ("preview", "save"):
        data |= await _tried(visit, change, str(fields.get("seen", "")), act == "save")
    return html(render(BULK, visit, data, alone="HX-Request" in request.headers))


async def bulk_form(visit: Visit) -> Data:
    """The form for the objects `target` of the address."""
    targets = [name for name in dict.fromkeys(visit.query.getall("target", [])) if name in _objects(visit)]
    return _data(visit, BulkChange(visit.parts["kind"], targets, "", "modify", ""))


async def _tried(visit: Visit, change: BulkChange, seen: str, saving: bool) -> Data:
    """A preview; the change itself if `saving`, unless the objects differ from the preview (`seen`)."""
    if not change.targets:
        return {"answers": [("error", "Select objects first.")]}
    if change.attribute not in KINDS[change.kind].model_fields:
        return {"answers": [("error", "Choose an attribute.")]}
    if change.verb != "modify" and not change.is_list:
        return {"answers": [("error", f"{change.attribute} is no list: its value can only be set.")]}
    stored = {name: dict(_objects(visit)[name]) for name in change.targets}
    rows, changes = _rows(change, stored)
    version = _version(change, stored)
    data: Data = {"rows": rows[:_MOST_SHOWN], "more": len(rows) - _MOST_SHOWN, "count": len(changes), "seen": ""}
    if faults := [row for row in rows if row.fault]:
        return data | {"answers": [("error", row.fault) for row in faults[:_MOST_SHOWN]]}
    if not changes:
        return data | {"answers": [("info", f"Nothing is changed: {change.attribute} has this value already.")]}
    stale = saving and seen != version
    attempt = await try_changes(visit, changes, preview=not saving or stale)
    data |= {"answers": attempt.answers, "effects": attempt.effects, "done": saving and not stale and not attempt.refusals}
    if stale:
        data["answers"] = [("warning", _STALE), *attempt.answers]
    return data | {"seen": version if attempt.effects is not None else ""}


def _rows(change: BulkChange, stored: dict[str, Attributes]) -> tuple[list[BulkRow], list[dict[str, Any]]]:
    """A row for each object, and the changes of those that differ, for the qmaster."""
    rows, changes = [], []
    for name, before in stored.items():
        address = address_of(change.kind, name)
        former = before.get(change.attribute, "")
        try:
            after = change.changed(name, before)
        except ConfigError as fault:
            rows.append(BulkRow(name, address, former, "", str(fault)))
            continue
        rows.append(BulkRow(name, address, former, after.get(change.attribute, ""), ""))
        if after != before:
            changes.append({"kind": change.kind, "name": name, "before": before, "after": after})
    return rows, changes


def _version(change: BulkChange, stored: dict[str, Attributes]) -> str:
    """A digest of the change and of the present objects."""
    return hashlib.sha256(json.dumps([change, stored]).encode()).hexdigest()


def _objects(visit: Visit) -> Any:
    """The objects of the kind of the address, by name. Raises NotFoundError."""
    kind = visit.parts["kind"]
    if kind not in KINDS or KIND[kind].single or KIND[kind].bare:
        raise NotFoundError(f"There are no objects of a kind {kind} to change together")
    return visit.shared.mirror.state.kind(kind)


def _sent(visit: Visit, fields: MultiMapping[Any]) -> BulkChange:
    objects, kind = _objects(visit), visit.parts["kind"]
    targets = [str(each) for each in fields.getall("target", [])]
    if fields.get("all") == "1":
        find = str(fields.get("find", "")).lower()
        targets = [name for name in sorted(objects) if find in name.lower()]
    targets = [name for name in dict.fromkeys(targets) if name in objects and (kind, name) != ("exec_host", "template")]
    attribute, verb = str(fields.get("attribute", "")), str(fields.get("verb", "modify"))
    value = str(fields.get("value", "")).replace("\r\n", "\n").strip()
    if fields.get("do") == "choose":
        value = ""
    return BulkChange(kind, targets, attribute, verb if verb in VERBS else "modify", value)


def _data(visit: Visit, change: BulkChange) -> Data:
    kind, model = change.kind, KINDS[change.kind]
    groups: dict[str, list[str]] = {}
    for name, described in help_of(kind).items():
        if name != KIND[kind].key:
            groups.setdefault(described.group, []).append(name)
    return {
        "kind": kind, "noun": noun_of(kind), "change": change, "groups": groups, "verbs": VERBS, "rows": [], "more": 0,
        "field": _field(visit, change) if change.attribute in model.model_fields else None, "count": 0, "seen": "",
        "title": counted(len(change.targets), noun_of(kind)), "answers": [], "effects": None, "done": False,
        "why_not": why_not_configure(visit),
    }


def _field(visit: Visit, change: BulkChange) -> AttributeField:
    """The control of the value; booleans and choices begin with the value of the first object."""
    state = visit.shared.mirror.state
    field = field_of(state, change.kind, change.attribute, change.value)
    if not change.value and field.form in ("boolean", "choice") and change.targets:
        first = state.kind(change.kind)[change.targets[0]].get(change.attribute, "")
        return field_of(state, change.kind, change.attribute, first)
    return field


BULK = Page("/bulk/{kind}", "bulk.html", bulk_form)
PAGES = [BULK]
ROUTES = [form_route("/bulk/{kind}", change_together, no_question)]
