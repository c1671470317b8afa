"""Stored queries: files with a name, a category, the fields that are asked for when it is run, the SQL, and how it is plotted.

Owns their form. Values are bound by the database, never pasted into the SQL. A site's own lie in its cell, one of the same name
takes the place of ours. Called by the server. Source: DB-15 … DB-23.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

OURS = Path(__file__).parent / "queries"
_FIELD = re.compile(r"\$([a-z_][a-z0-9_]*)")
_TYPES = {"text": "text", "number": "double precision", "integer": "integer", "time": "timestamp with time zone"}


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
    """`sql` names its fields as `$NAME`; `view`: table, pivot or graphic, as ARCo calls them; `plot`: as the client draws it."""

    name: str
    category: str
    description: str
    sql: str
    view: str = "table"
    fields: tuple[Field, ...] = ()
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
        if wanted.type == "integer":
            return int(text)
        if wanted.type == "number":
            return float(text)
        if wanted.type == "time":
            return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise QueryFault(f'"{query}": {wanted.name} "{text}" is no {wanted.type}') from None
    return text


def read_queries(*directories: Path) -> tuple[dict[str, Query], list[str]]:
    """The queries of directories by name, those of a later one before those of an earlier; and what is wrong with files."""
    found: dict[str, Query] = {}
    faults = []
    for directory in directories:
        for path in sorted(directory.glob("*.toml")):
            try:
                query = parse_query(path.read_text(), path)
            except (OSError, UnicodeDecodeError, QueryFault) as fault:
                faults.append(str(fault))
            else:
                found[query.name] = query
    return dict(sorted(found.items())), faults


def parse_query(text: str, path: Path) -> Query:
    """The query of a file. Raises QueryFault with the file's name."""
    try:
        data = tomllib.loads(text)
        fields = tuple(Field(**one) for one in data.pop("fields", ()))
        query = Query(**data, fields=fields)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise QueryFault(f"{path}: {error}") from None
    wrong = [one.type for one in fields if one.type not in _TYPES]
    if wrong:
        raise QueryFault(f'{path}: "{wrong[0]}" is no type of a field: {", ".join(_TYPES)}')
    missing = sorted(set(_FIELD.findall(query.sql)) - {one.name for one in fields})
    if missing:
        raise QueryFault(f"{path}: the SQL has ${missing[0]}, which is no field")
    return query
