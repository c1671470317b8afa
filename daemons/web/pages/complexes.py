"""The table of complex attributes: a single form for all rows, saved together, which offers only valid combinations.

Owns the form and its choices; the model defines the valid combinations. A change carries the version that the form is based on,
as all changes of the configuration. Source: GU-7; complex(5), CX-5 to CX-13.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

import msgspec
from aiohttp import web
from multidict import MultiMapping

from daemons.web.mirror import MirroredChange
from daemons.web.pages.changing import try_changes, why_not_configure
from daemons.web.pages.forms import Question, form_route, listed
from daemons.web.pages.page import CsvTable, Data, Page, Visit, html, page_route, problem, render, visit_of
from gridengine.config.complexes import BUILT_IN, Complex
from gridengine.errors import ConfigError
from gridengine.values.units import counted

KIND_NAME = "complex"
COLUMNS = ("name", "shortcut", "type", "relop", "requestable", "consumable", "default", "urgency")
CHOICES = {
    "type": ("INT", "DOUBLE", "TIME", "MEMORY", "BOOL", "STRING", "CSTRING", "RESTRING", "HOST", "RSMAP"),
    "relop": ("==", "!=", "<", "<=", ">", ">=", "EXCL"),
    "requestable": ("YES", "NO", "FORCED"),
    "consumable": ("NO", "YES", "JOB", "HOST"),
}
_DEFAULTS = ("0", "NONE", "1")
"""Examples of the kinds of defaults: nothing, no value, an amount."""
_NEW_ROWS = 3


@cache
def combinations() -> dict[str, list[str]]:
    """Valid combinations: `type relop consumable requestable` -> the valid examples of defaults."""
    defaults_of: dict[str, list[str]] = {}
    for kind, relop, consumable, requestable, default in product(
        CHOICES["type"], CHOICES["relop"], CHOICES["consumable"], CHOICES["requestable"], _DEFAULTS
    ):
        chosen = {"type": kind, "relop": relop, "consumable": consumable, "requestable": requestable, "default": default}
        try:
            Complex.template("x").model_copy(update=chosen).check()
        except ConfigError:
            continue
        defaults_of.setdefault(f"{kind} {relop} {consumable} {requestable}", []).append(default)
    return defaults_of


async def table(visit: Visit) -> Data:
    """All complexes, or the complexes with `find` in their names or shortcuts."""
    return _data(visit, _matching(visit)) | {"find": visit.parameter("find")}


async def complexes_csv(visit: Visit) -> CsvTable:
    """All complexes that match the filter."""
    return CsvTable("complexes", COLUMNS, [[row.get(column, "") for column in COLUMNS] for row in _matching(visit).values()])


def _matching(visit: Visit) -> dict[str, dict[str, str]]:
    stored, find = visit.shared.mirror.state.kind(KIND_NAME), visit.parameter("find").lower()
    names = [name for name in sorted(stored) if find in name.lower() or find in stored[name]["shortcut"].lower()]
    return {name: dict(stored[name]) for name in names}


async def form(visit: Visit) -> Data:
    """The whole table as a form, with the base version; without fields for a visitor without the right to change."""
    data = _data(visit, dict(sorted(visit.shared.mirror.state.kind(KIND_NAME).items())))
    return data | {"edit": not data["why_not"]}


def _data(visit: Visit, rows: Mapping[str, Mapping[str, str]]) -> Data:
    return {
        "columns": COLUMNS, "choices": CHOICES, "rows": rows, "new": [dict.fromkeys(COLUMNS, "")] * _NEW_ROWS, "find": "",
        "combinations": combinations(), "built_in": BUILT_IN, "before": json.dumps(rows), "edit": False,
        "why_not": why_not_configure(visit), "faults": {}, "answers": [], "gone": [], "plan": None, "done": False,
    }


def ask_about_complexes(visit: Visit, fields: MultiMapping[Any]) -> Question | None:
    """Ask to confirm the removal of complexes."""
    gone = [name.removeprefix("gone ") for name in fields if name.startswith("gone ")] if fields.get("do") == "commit" else []
    if not gone:
        return None
    return Question(f"Remove {counted(len(gone), 'resource attribute')}: {listed(gone)}?", "Commit", ["History can undo it."])


async def change(request: web.Request) -> web.Response:
    """Preview or commit all changes in the table as a single change."""
    visit, fields = visit_of(request), await request.post()
    sent = {name: value for name, value in fields.items() if isinstance(value, str)}
    try:
        before = msgspec.json.decode(sent.get("before", ""), type=dict[str, dict[str, str]])
    except (msgspec.DecodeError, RecursionError):
        return problem(visit, 400, "The form does not come from these pages.")
    rows = {name: {**dict.fromkeys(COLUMNS, ""), **row, **_row(sent, f"old {name}")} for name, row in before.items()}
    new = [row for number in range(_NEW_ROWS) if (row := _row(sent, f"new {number}")).get("name")]
    gone = [name for name in before if sent.get(f"gone {name}")]
    changes = _changes(before, rows, gone, new)
    data = _data(visit, rows) | {"before": json.dumps(before), "edit": True, "gone": gone}
    data["new"] = [*({**dict.fromkeys(COLUMNS, ""), **row} for row in new), *data["new"]][:_NEW_ROWS]
    if not changes:
        return _shown(visit, data | {"answers": [("warning", "no field has changed")]}, request)
    preview = sent.get("do") != "commit"
    tried = await try_changes(visit, changes, preview)
    named = [*rows, *(row["name"] for row in new)]
    data["faults"] = {name: text for text in reversed(tried.refusals) for name in named if f'"{name}"' in text}
    data["answers"] = tried.answers
    if tried.is_stale:
        data["answers"].append(("info", "Reload the page to start from the stored values. Your values are still here."))
    elif not tried.refusals:
        data |= {"plan": [(each["name"], _change_text(each)) for each in changes]} if preview else {"done": True}
    return _shown(visit, data, request)


def _shown(visit: Visit, data: Data, request: web.Request) -> web.Response:
    return html(render(EDIT, visit, data, alone="HX-Request" in request.headers))


def _row(sent: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The filled columns of a row in a form."""
    given = {column: sent.get(f"{prefix} {column}", "").strip() for column in COLUMNS}
    return {column: value for column, value in given.items() if value}


def _changes(
    before: Mapping[str, dict[str, str]], rows: Mapping[str, dict[str, str]], gone: list[str], new: list[dict[str, str]]
) -> list[dict[str, Any]]:
    changed = [
        {"kind": KIND_NAME, "name": name, "before": row, "after": None if name in gone else rows[name]}
        for name, row in before.items()
        if name in gone or rows[name] != row
    ]
    plain = Complex.template().attributes()
    made = [{**plain, "shortcut": row["name"], **row} for row in new]
    return [*changed, *({"kind": KIND_NAME, "name": row["name"], "before": None, "after": row} for row in made)]


def _change_text(change: Mapping[str, Any]) -> str:
    """The text that describes a change."""
    before, after = change["before"], change["after"]
    if after is None:
        return "is removed"
    if before is None:
        return "is added"
    other = [column for column in COLUMNS if before.get(column) != after[column]]
    return ", ".join(f"{column} {before.get(column)} → {after[column]}" for column in other)


def _concerns(change: MirroredChange) -> bool:
    return change.whole or KIND_NAME in change.affected.kinds


EDIT = Page("/complexes/edit", "complexes.html", form)
PAGES = [Page("/complexes", "complexes.html", table, _concerns, csv=complexes_csv)]
ROUTES = [page_route(EDIT), form_route(EDIT.path, change, ask_about_complexes)]
