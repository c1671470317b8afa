"""The matrix of a cluster queue as a form: the value of an attribute for each host and host group, changed together.

Owns the rows, columns and fields of the matrix. An empty cell has the inherited value; one attribute can be set or reset for all
selected rows at once. All cells together are one change of one object, with one undo. The qmaster checks values.
Source: GU-3, GU-8; queue_conf(5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aiohttp import web
from multidict import MultiMapping

from daemons.web.pages.attribute_fields import field_of
from daemons.web.pages.changing import Attributes, differences, try_changes, versions, why_not_configure
from daemons.web.pages.forms import form_route, no_question
from daemons.web.pages.page import Data, NotFoundError, Page, Visit, html, page_route, render, rows_of_page, visit_of
from gridengine.config.attribute_help import help_of
from gridengine.errors import InvalidValueError
from gridengine.state.state import State
from gridengine.syntax.lists import split_names
from gridengine.syntax.overrides import Overrides

KIND_NAME = "cluster_queue"
ROWS, MOST_GROUPS, MOST_COLUMNS = 200, 100, 20
DEFAULT = "all"
"""The row of the default, in names of fields; no host and no group has this name."""
PLAIN = ("qname", "hostlist")
"""Attributes without overrides."""
_AT_CELL = re.compile(r"\[(\S+?)=\.\.\.\]")


class MatrixCell(NamedTuple):
    """`field`: its name; `value`: set here, "" for none; `stored`: the value before; `inherited`: the value without it; `fault`:
    the error in the value."""

    field: str
    value: str
    stored: str
    inherited: str
    fault: str


class MatrixRow(NamedTuple):
    """`identifier`: a host, a host group or `DEFAULT`; `note`: the number of hosts of a group; `cells`: by column."""

    identifier: str
    note: str
    cells: list[MatrixCell]


class Matrix(NamedTuple):
    """The values of a queue in a form. `before`: the base version of the attributes; `columns`: the shown attributes; `values`:
    by cell (attribute, identifier)."""

    before: Attributes
    columns: list[str]
    values: dict[tuple[str, str], str]

    def after(self) -> Attributes:
        """The attributes with these values. Raises InvalidValueError."""
        changed = dict(self.before)
        for attribute in self.columns:
            overrides = former = Overrides.parse(self.before[attribute])
            for (name, identifier), value in self.values.items():
                if name != attribute:
                    continue
                if "[" in value or "]" in value:
                    raise InvalidValueError(f"{attribute}: [{identifier}=...]: a value must not contain brackets")
                if identifier == DEFAULT:
                    overrides = overrides.with_value("", value or former.default)
                else:
                    overrides = overrides.with_value(identifier, value) if value else overrides.without([identifier])
            if overrides != former:
                changed[attribute] = str(overrides)
        return changed


async def edit_overrides(visit: Visit) -> Data:
    """The matrix with the stored values, with the columns `attribute` besides those that differ between hosts."""
    stored = _stored(visit)
    asked = [name for name in visit.query.getall("attribute", []) if name in stored and name not in PLAIN]
    data = _data(visit, Matrix(stored, _columns(stored, asked), {}), {})
    return data | {"read_only": bool(data["why_not"])}


async def change_overrides(request: web.Request) -> web.Response:
    """Set or reset one attribute for the selected rows, preview or save; answer with the matrix, its errors and effects."""
    visit, fields = visit_of(request), await request.post()
    stored, act = _stored(visit), fields.get("do")
    matrix = _sent(stored, fields)
    answers: list[tuple[str, str]] = []
    if act in ("set", "reset"):
        matrix, fault = _filled(matrix, fields, act)
        answers = [("error", fault)] if fault else []
    data = _data(visit, matrix, {})
    data |= {"answers": answers} if answers else await _tried(visit, matrix, stored, act)
    data |= {"selected": fields.getall("target", []), "value": fields.get("fill value", "")}
    if fields.get("fill attribute"):
        data["filled"] = fields["fill attribute"]
    return html(render(OVERRIDES, visit, data, alone="HX-Request" in request.headers))


async def _tried(visit: Visit, matrix: Matrix, stored: Attributes, act: Any) -> Data:
    """The result of a preview or of a trial, or of the change."""
    name, preview = visit.parts["name"], act != "save"
    try:
        after = matrix.after()
    except InvalidValueError as fault:
        return _data(visit, matrix, _faults([str(fault)], matrix)) | {"answers": [("error", str(fault))]}
    if after == stored and after == matrix.before:
        return {"answers": [("info", "Nothing is changed.")]}
    change = {"kind": KIND_NAME, "name": name, "before": matrix.before, "after": after}
    attempt = await try_changes(visit, [change], preview, on_cell=act == "try")
    done = not preview and not attempt.refusals
    data = _data(visit, matrix, _faults(attempt.refusals, matrix))
    changed = differences(matrix.before, after) if attempt.effects is not None else []
    data |= {"answers": attempt.answers, "effects": attempt.effects, "done": done, "differences": changed}
    data["trial"] = attempt.trial
    return data | ({"versions": versions(matrix.before, stored, after)} if attempt.is_stale else {})


def _stored(visit: Visit) -> Attributes:
    """Raises NotFoundError."""
    attributes = visit.shared.mirror.state.kind(KIND_NAME).get(visit.parts["name"])
    if attributes is None:
        raise NotFoundError(f"There is no cluster queue {visit.parts['name']}")
    return dict(attributes)


def _columns(stored: Mapping[str, str], asked: list[str]) -> list[str]:
    varied = [name for name, text in stored.items() if name not in PLAIN and "[" in text and Overrides.parse(text).tuples]
    return list(dict.fromkeys([*asked, *varied]))[:MOST_COLUMNS] or ["slots"]


def _sent(stored: Attributes, fields: MultiMapping[Any]) -> Matrix:
    """The matrix of a form. The stored attributes replace a malformed base version, which no form of this page has."""
    try:
        before = json.loads(str(fields.get("before", "null")))
    except ValueError:
        before = None
    known = isinstance(before, dict) and before.keys() == stored.keys() and all(isinstance(text, str) for text in before.values())
    base: Attributes = before if known else stored
    columns = [name for name in dict.fromkeys(map(str, fields.getall("column", []))) if name in base and name not in PLAIN]
    values: dict[tuple[str, str], str] = {}
    for field, value in fields.items():
        attribute, _, identifier = field.removeprefix("cell ").partition(" ")
        if field.startswith("cell ") and attribute in columns and identifier and isinstance(value, str):
            values[attribute, identifier] = value.strip()
    return Matrix(base, columns, values)


def _filled(matrix: Matrix, fields: MultiMapping[Any], act: str) -> tuple[Matrix, str]:
    """The matrix with one attribute set or reset in the selected rows, and the error in this request, "" for none."""
    attribute, value = str(fields.get("fill attribute", "")), str(fields.get("fill value", "")).strip()
    targets = [str(each) for each in fields.getall("target", [])]
    if attribute not in matrix.before or attribute in PLAIN:
        return matrix, "Choose an attribute."
    matrix = matrix._replace(columns=list(dict.fromkeys([*matrix.columns, attribute])))
    if not targets:
        return matrix, "Select hosts or host groups first."
    if act == "set" and not value:
        return matrix, f"{attribute}: a value is missing."
    if act == "reset" and DEFAULT in targets:
        return matrix, "The default cannot be reset: it has no other value to inherit."
    chosen = {(attribute, target): value if act == "set" else "" for target in targets}
    return matrix._replace(values=matrix.values | chosen), ""


def _data(visit: Visit, matrix: Matrix, faults: Mapping[tuple[str, str], str]) -> Data:
    state, name, find = visit.shared.mirror.state, visit.parts["name"], visit.parameter("find")
    overrides = {attribute: Overrides.parse(matrix.before[attribute]) for attribute in matrix.columns}
    hosts = sorted(state.instances[instance].host for instance in state.instances_of.get(name, ()))
    hosts = [host for host in hosts if find.lower() in host or find in state.groups.groups_of(host)]
    shown, pager = rows_of_page(visit, hosts, ROWS)
    identifiers = [DEFAULT, *_groups(state, matrix.before, overrides, shown), *shown]
    rows = [MatrixRow(each, _note(state, each), _cells(state, matrix, overrides, each, faults)) for each in identifiers]
    named = [attribute for attribute in help_of(KIND_NAME) if attribute in matrix.before and attribute not in PLAIN]
    columns = [field_of(state, KIND_NAME, attribute, each.default) for attribute, each in overrides.items()]
    return pager | {
        "name": name, "columns": columns, "rows": rows, "before": json.dumps(matrix.before), "find": find, "default": DEFAULT,
        "named": named, "selected": [], "filled": visit.parameter("attribute") or matrix.columns[0],
        "value": "", "answers": [], "effects": None, "trial": None, "differences": [], "versions": [], "done": False,
        "read_only": False, "why_not": why_not_configure(visit),
    }


def _groups(state: State, before: Mapping[str, str], overrides: Mapping[str, Overrides], hosts: Sequence[str]) -> list[str]:
    """The host groups with rows: with values of their own, in the host list of the queue, or around shown hosts."""
    set_for = {identifier for each in overrides.values() for identifier in each.tuples if identifier.startswith("@")}
    listed = {each for each in split_names(before["hostlist"]) if each.startswith("@")}
    around = {group for host in hosts for group in state.groups.groups_of(host)}
    return [*sorted(set_for | listed), *sorted(around - set_for - listed)][:MOST_GROUPS]


def _note(state: State, identifier: str) -> str:
    if not identifier.startswith("@"):
        return ""
    count = sum(identifier in groups for groups in state.groups.by_host.values())
    return f"{count} host" + ("" if count == 1 else "s")


def _cells(
    state: State, matrix: Matrix, overrides: Mapping[str, Overrides], identifier: str, faults: Mapping[tuple[str, str], str]
) -> list[MatrixCell]:
    cells = []
    for attribute, stored in overrides.items():
        if identifier == DEFAULT:
            own = inherited = stored.default
        else:
            own = stored.tuples.get(identifier, "")
            groups = frozenset() if identifier.startswith("@") else state.groups.groups_of(identifier)
            inherited = stored.without([identifier]).value_for(identifier, groups)[0]
        value = matrix.values.get((attribute, identifier), own)
        cells.append(MatrixCell(f"cell {attribute} {identifier}", value, own, inherited, faults.get((attribute, identifier), "")))
    return cells


def _faults(refusals: list[str], matrix: Matrix) -> dict[tuple[str, str], str]:
    """Refusals by cell: the named attribute, and the identifier in `[identifier=...]`, else the default."""
    found: dict[tuple[str, str], str] = {}
    for text in refusals:
        attribute = next((name for name in matrix.columns if re.search(rf"\b{re.escape(name)}\b", text)), "")
        at_cell = _AT_CELL.search(text)
        if attribute:
            found.setdefault((attribute, at_cell[1] if at_cell else DEFAULT), text)
    return found


OVERRIDES = Page("/queues/{name}/overrides", "overrides.html", edit_overrides)
ROUTES = [page_route(OVERRIDES), form_route("/queues/{name}/overrides", change_overrides, no_question)]
