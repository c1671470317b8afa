"""Stored queries: files with a name, a category, fields for the user to fill in, the SQL, and a plot.

Owns their format. The database binds values; they are never inserted into the SQL text. The cell has the directory of a site's
own queries; a site's query replaces a built-in query of the same name. Called by the server. Source: DB-15 … DB-23.
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

from gridengine.errors import UserError, plain_fault

BUILT_IN_DIRECTORY = Path(__file__).parent / "queries"
_FIELD = re.compile(r"\$([a-z_][a-z0-9_]*)")
_TYPES = {"text": "text", "number": "double precision", "integer": "integer", "time": "timestamp with time zone"}
_INTEGER_LIMIT = 2**31
_TYPES_OF_QUERY = ("simple", "advanced")
_VIEWS = ("table", "pivot", "graphic")
_PIVOT = {"rows", "columns", "values"}
_PLOTS = ("bars", "stacked", "ranking", "lines", "scatter")
#: the keys of [plot] and their types: columns of the answer, labels of the axes, divisors of values, limits
_PLOT_KEYS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("kind", "x", "series", "panels", "x_label", "y_label", "diagonal"), (str,)),
    **dict.fromkeys(("x_scale", "y_scale", "y_least", "y_most", "most"), (int, float)),
    "y": (str, list),
}


_Parsed = TypeVar("_Parsed", "Query", "Field")


class QueryError(UserError):
    """An invalid query or value; the text names it, with the reason."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a query. `type`: text, number, integer or time; `label`: for people, "" for none; `default` None: the field
    is mandatory."""

    name: str
    type: str = "text"
    label: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """`sql` names its `fields` as `$NAME`; `type`: simple or advanced, `view`: table, pivot or graphic, as ARCo calls them.

    `pivot`: the columns that become `rows`, `columns` and cells (`values`); `plot`: the client's plot of the answer.
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

    def bind(self, values: Mapping[str, str]) -> tuple[str, list[object]]:
        """The SQL with `$1`, `$2` …, and the values of these parameters. Raises QueryError."""
        unknown = sorted(values.keys() - {one.name for one in self.fields})
        if unknown:
            known = ", ".join(one.name for one in self.fields) or "none"
            raise QueryError(f'"{self.name}" has no field {unknown[0]}; its fields: {known}')
        positions = {one.name: number for number, one in enumerate(self.fields, start=1)}
        types = {one.name: _TYPES[one.type] for one in self.fields}
        sql = _FIELD.sub(lambda match: f"${positions[match[1]]}::{types[match[1]]}", self.sql)
        return sql, [_value(self.name, one, values.get(one.name, one.default)) for one in self.fields]


def _value(query: str, query_field: Field, text: str | None) -> object:
    if text is None:
        raise QueryError(f'"{query}" needs a value for {query_field.name}: say {query_field.name}=VALUE')
    try:
        return _PARSERS[query_field.type](text)
    except (ValueError, OverflowError):
        raise QueryError(f'"{query}": {query_field.name} "{text[:80]}" is no {query_field.type}') from None


def _parse_integer(text: str) -> int:
    number = int(text)
    if not -_INTEGER_LIMIT <= number < _INTEGER_LIMIT:
        raise ValueError
    return number


def _parse_text(text: str) -> str:
    if "\0" in text:  # no database stores this character
        raise ValueError
    return text


_PARSERS: dict[str, Callable[[str], object]] = {
    "text": _parse_text,
    "integer": _parse_integer,
    "number": float,
    "time": lambda text: datetime.fromisoformat(text).astimezone(),
}


def read_queries(*directories: Path) -> tuple[dict[str, Query], list[str]]:
    """The queries of directories by name, and the faults of their files. Later directories take precedence."""
    queries: dict[str, Query] = {}
    faults = []
    for directory in directories:
        for path in sorted(directory.glob("*.toml")):
            try:
                query = parse_query(path.read_text(), path)
            except (OSError, UnicodeDecodeError, QueryError) as fault:
                faults.append(plain_fault(fault))
            else:
                queries[query.name] = query
    return dict(sorted(queries.items())), faults


def parse_query(text: str, path: Path) -> Query:
    """Parse the query of a file. Raises QueryError with the file's name."""
    try:
        data = tomllib.loads(text)
        fields = data.pop("fields", [])
        if not isinstance(fields, list):
            raise ValueError("fields are tables, [[fields]]")
        query = _parse_table(Query, data | {"fields": tuple(_parse_table(Field, one, "a field") for one in fields)}, "a query")
    except ValueError as error:
        raise QueryError(f"{path}: {error}") from None
    for fault in _query_faults(query):
        raise QueryError(f"{path}: {fault}")
    return query


def _parse_table(kind: type[_Parsed], data: object, what: str) -> _Parsed:
    """The object of a TOML table. Raises ValueError."""
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


def _query_faults(query: Query) -> Iterator[str]:
    """The faults of a query. Only the first is reliable: later checks assume that earlier checks have passed."""
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
        yield from _plot_faults(query.plot)


def _plot_faults(plot: Mapping[str, Any]) -> Iterator[str]:
    if plot.get("kind", _PLOTS[0]) not in _PLOTS:
        yield f'"{plot["kind"]}" is no kind of a plot: {", ".join(_PLOTS)}'
    if not {"kind", "x", "y"} <= plot.keys():
        yield "a plot needs kind, x and y"
    for name, value in plot.items():
        if name not in _PLOT_KEYS:
            yield f"{name} is nothing that a plot has: {', '.join(_PLOT_KEYS)}"
        elif not isinstance(value, _PLOT_KEYS[name]) or (name.endswith("_scale") and value == 0):
            yield f"{name} of the plot cannot be {value!r}"
