"""Stored queries: files with a name, a category, the fields that are asked for when it is run, the SQL, and how it is plotted.

Owns their form. Values are bound by the database, never pasted into the SQL. A site's own lie in its cell, one of the same name
takes the place of ours. Called by the server. Source: DB-15 … DB-23.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field
from dataclasses import fields as dataclass_fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from gridengine.errors import plain_fault

OURS = Path(__file__).parent / "queries"
_FIELD = re.compile(r"\$([a-z_][a-z0-9_]*)")
_TYPES = {"text": "text", "number": "double precision", "integer": "integer", "time": "timestamp with time zone"}
_INTEGERS = 2**31
_TYPES_OF_QUERY = ("simple", "advanced")
_VIEWS = ("table", "pivot", "graphic")
_PIVOT = {"rows", "columns", "values"}
_PLOTS = ("bars", "stacked", "ranking", "lines", "scatter")
#: what may be in [plot], and what it is: columns of the answer, words for the axes, what values are divided by, limits
_OF_PLOT: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("kind", "x", "series", "panels", "x_label", "y_label", "diagonal"), (str,)),
    **dict.fromkeys(("x_scale", "y_scale", "y_least", "y_most", "most"), (int, float)),
    "y": (str, list),
}


_Made = TypeVar("_Made", "Query", "Field")


class QueryFault(Exception):
    """A query or a value that is not understood; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Field:
    """A value that is asked for. `type`: text, number, integer or time; `default` None: it must be given."""

    name: str
    type: str = "text"
    label: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """`sql` names its fields as `$NAME`; `type`: simple or advanced, `view`: table, pivot or graphic, as ARCo calls them.

    `pivot`: the columns whose values become `rows`, `columns` and cells (`values`); `plot`: how the client draws the answer.
    """

    name: str
    category: str
    description: str
    sql: str
    type: str = "advanced"
    view: str = "table"
    fields: tuple[Field, ...] = ()
    pivot: dict[str, Any] = field(default_factory=dict)
    plot: dict[str, Any] = field(default_factory=dict)

    def bound(self, values: Mapping[str, str]) -> tuple[str, list[object]]:
        """The SQL with `$1`, `$2` …, and what is bound to them. Raises QueryFault."""
        unknown = sorted(values.keys() - {one.name for one in self.fields})
        if unknown:
            known = ", ".join(one.name for one in self.fields) or "none"
            raise QueryFault(f'"{self.name}" has no field {unknown[0]}; its fields: {known}')
        places = {one.name: number for number, one in enumerate(self.fields, start=1)}
        types = {one.name: _TYPES[one.type] for one in self.fields}
        sql = _FIELD.sub(lambda found: f"${places[found[1]]}::{types[found[1]]}", self.sql)
        return sql, [_value(self.name, one, values.get(one.name, one.default)) for one in self.fields]


def _value(query: str, wanted: Field, text: str | None) -> object:
    if text is None:
        raise QueryFault(f'"{query}" needs a value for {wanted.name}: say {wanted.name}=VALUE')
    try:
        return _READ[wanted.type](text)
    except (ValueError, OverflowError):
        raise QueryFault(f'"{query}": {wanted.name} "{text[:80]}" is no {wanted.type}') from None


def _integer(text: str) -> int:
    number = int(text)
    if not -_INTEGERS <= number < _INTEGERS:
        raise ValueError
    return number


def _text(text: str) -> str:
    if "\0" in text:  # no database has such a one
        raise ValueError
    return text


_READ: dict[str, Callable[[str], object]] = {
    "text": _text,
    "integer": _integer,
    "number": float,
    "time": lambda text: datetime.fromisoformat(text).astimezone(),
}


def read_queries(*directories: Path) -> tuple[dict[str, Query], list[str]]:
    """The queries of directories by name, those of a later one before those of an earlier; and what is wrong with files."""
    found: dict[str, Query] = {}
    faults = []
    for directory in directories:
        for path in sorted(directory.glob("*.toml")):
            try:
                query = parse_query(path.read_text(), path)
            except (OSError, UnicodeDecodeError, QueryFault) as fault:
                faults.append(plain_fault(fault))
            else:
                found[query.name] = query
    return dict(sorted(found.items())), faults


def parse_query(text: str, path: Path) -> Query:
    """The query of a file. Raises QueryFault with the file's name."""
    try:
        data = tomllib.loads(text)
        fields = data.pop("fields", [])
        if not isinstance(fields, list):
            raise ValueError("fields are tables, [[fields]]")
        query = _made(Query, data | {"fields": tuple(_made(Field, one, "a field") for one in fields)}, "a query")
    except ValueError as error:
        raise QueryFault(f"{path}: {error}") from None
    for fault in _faults_of(query):
        raise QueryFault(f"{path}: {fault}")
    return query


def _made(kind: type[_Made], data: object, what: str) -> _Made:
    """What a table of the file says. Raises ValueError."""
    if not isinstance(data, dict):
        raise ValueError(f"{what} is a table")
    known = {one.name: one.default is MISSING and one.default_factory is MISSING for one in dataclass_fields(kind)}
    for name in data:
        if name not in known:
            raise ValueError(f"{what} has no {name}: {', '.join(known)}")
    for name, needed in known.items():
        if needed and name not in data:
            raise ValueError(f"{what} has no {name}, which must be there")
    return kind(**data)


def _faults_of(query: Query) -> Iterator[str]:
    """What is wrong with a query; what comes later may be asked only of one without what comes earlier."""
    for name in ("name", "category", "description", "sql", "view"):
        if not isinstance(getattr(query, name), str):
            yield f"{name} is no text"
    for name in ("pivot", "plot"):
        if not isinstance(getattr(query, name), dict):
            yield f"{name} is no table"
    if query.type not in _TYPES_OF_QUERY:
        yield f'"{query.type}" is no type of a query: {", ".join(_TYPES_OF_QUERY)}'
    if query.view not in _VIEWS:
        yield f'"{query.view}" is no view: {", ".join(_VIEWS)}'
    if query.view == "pivot" and query.pivot.keys() != _PIVOT:
        yield "a pivot view needs rows, columns and values in [pivot]"
    for one in query.fields:
        if one.type not in _TYPES:
            yield f'"{one.type}" is no type of a field: {", ".join(_TYPES)}'
        if not (isinstance(one.name, str) and isinstance(one.default, str | None)):
            yield f"name and default of the field {one.name} must be texts"
    for name in sorted(set(_FIELD.findall(query.sql)) - {one.name for one in query.fields}):
        yield f"the SQL has ${name}, which is no field"
    if query.plot:
        yield from _faults_of_plot(query.plot)


def _faults_of_plot(plot: Mapping[str, Any]) -> Iterator[str]:
    if plot.get("kind", _PLOTS[0]) not in _PLOTS:
        yield f'"{plot["kind"]}" is no kind of a plot: {", ".join(_PLOTS)}'
    if not {"kind", "x", "y"} <= plot.keys():
        yield "a plot needs kind, x and y"
    for name, value in plot.items():
        if name not in _OF_PLOT:
            yield f"{name} is nothing that a plot has: {', '.join(_OF_PLOT)}"
        elif not isinstance(value, _OF_PLOT[name]) or (name.endswith("_scale") and value == 0):
            yield f"{name} of the plot cannot be {value!r}"
