"""Accounting: the stored queries of the database, their fields as a form, and the rows as a table, a plot and CSV.

Owns the presentation of answers. sge_dbwriter runs the queries on behalf of the visitor, and decides on their rights.
Source: DB-22, DB-23; `gridengine arco`; gridengine/protocols/arco.py.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from aiohttp import web

from daemons.web.dbwriter_client import DatabaseUnavailableError, QueryDeniedError, send_dbwriter_request
from daemons.web.pages.formats import link
from daemons.web.pages.page import (
    CsvTable,
    Data,
    NotFoundError,
    Page,
    Visit,
    csv_response,
    html,
    problem,
    render,
    rows_of_page,
    visit_of,
)
from daemons.web.pages.query_plots import plots_of
from gridengine.protocols import arco
from gridengine.protocols.arco_rows import format_value, truncate

ROWS = 100
_SHOWN_LIMITS: Data = {"limit": 10_000, "bytes": 2**22, "cell": 500}
"""Limits of rows for a page: rows, bytes of all rows, and characters of a text. A file has all rows."""
_COLUMNS, _CHARACTERS, _HEADING = 100, 2**20, 100
"""Columns of a page, characters of all its cells, and of the name of a column."""
_NO_ROWS: Data = {"columns": [], "rows": [], "total": 0, "more": False, "hidden": 0, "plots": [], "has_run": False}


async def query_list(visit: Visit) -> Data:
    """All stored queries, by category."""
    try:
        listed = await _ask(visit, arco.QUERIES)
    except (DatabaseUnavailableError, QueryDeniedError) as fault:
        return {"categories": {}, "faults": [], "fault": str(fault)}
    categories: dict[str, list[Any]] = {}
    for query in sorted(listed["queries"], key=lambda query: (query["category"], query["name"])):
        categories.setdefault(query["category"], []).append(query)
    return {"categories": categories, "faults": listed["faults"], "fault": ""}


async def query_details(visit: Visit) -> Data:
    """A query with its form, and its rows once all fields have values."""
    query = await _query(visit)
    fields = [field | {"value": visit.parameter(field["name"]) or field["default"] or ""} for field in query["fields"]]
    data = {"query": query, "fields": fields, "fault": ""} | _NO_ROWS
    if any(not field["value"] for field in fields):
        return data
    return data | await _rows(visit, arco.RUN, {"query": query["name"], "values": _values(visit, query)})


async def sql_details(visit: Visit) -> Data:
    """The page for the visitor's own SQL, which is read-only."""
    text = visit.parameter("sql")
    data: Data = {"sql": text, "fault": ""} | _NO_ROWS
    return data | await _rows(visit, arco.SQL, {"sql": text}) if text else data


async def read_query(request: web.Request) -> web.Response:
    """The page of a query, or its rows as CSV."""
    visit = visit_of(request)
    try:
        if visit.parameter("format") == "csv":
            query = await _query(visit)
            return await _csv_response(visit, arco.RUN, {"query": query["name"], "values": _values(visit, query)}, query["name"])
        return html(render(QUERY, visit, await query_details(visit)))
    except NotFoundError as missing:
        return problem(visit, 404, str(missing), "The list of all queries is at /accounting.")
    except (DatabaseUnavailableError, QueryDeniedError) as fault:
        return problem(visit, 503, "The database cannot be queried.", str(fault))


async def read_sql(request: web.Request) -> web.Response:
    """The page for SQL, or the rows as CSV."""
    visit = visit_of(request)
    if visit.parameter("format") == "csv":
        return await _csv_response(visit, arco.SQL, {"sql": visit.parameter("sql")}, "rows")
    return html(render(SQL, visit, await sql_details(visit)))


async def _rows(visit: Visit, request: str, fields: dict[str, object]) -> Data:
    """The template's data on the rows, in the requested order; for a fault its text."""
    try:
        answer = await _ask(visit, request, fields | _SHOWN_LIMITS)
    except (DatabaseUnavailableError, QueryDeniedError) as fault:
        return {"fault": str(fault)}
    return await asyncio.to_thread(_shown_rows, visit, answer)  # the event loop serves other requests meanwhile


def _shown_rows(visit: Visit, answer: dict[str, Any]) -> Data:
    columns, types, rows = answer["columns"], answer["types"], answer["rows"]
    plots = plots_of(columns, types, rows, answer.get("plot"))
    sort = visit.parameter("sort")
    if (column := sort.lstrip("-")) in columns:
        index = columns.index(column)
        rows = sorted(rows, key=lambda row: _sort_key(row[index]), reverse=sort.startswith("-"))
    rows, pager = rows_of_page(visit, rows, ROWS)
    names, hidden = [truncate(name, _HEADING) for name in columns[:_COLUMNS]], len(columns[_COLUMNS:])
    kinds = ["number" if kind in ("number", "interval") else "" for kind in types[:_COLUMNS]]
    sorts = [name if len(name) <= _HEADING else "" for name in columns[:_COLUMNS]]  # a heading is a link with the name
    longest = _CHARACTERS // max(1, len(names) * len(rows))
    return pager | {
        "columns": list(zip(names, sorts, kinds, strict=True)), "more": answer["more"], "has_run": True,
        "rows": [[truncate(format_value(*each), longest) for each in zip(row[:_COLUMNS], types, strict=False)] for row in rows],
        "hidden": hidden, "sort": sort, "plots": plots, "csv": link(visit.here, format="csv", sort=None),
    }


def _sort_key(value: Any) -> tuple[bool, bool, Any]:
    """The sort key of a value in a column of numbers and texts; nulls come first."""
    return value is not None, isinstance(value, str), value


async def _csv_response(visit: Visit, request: str, fields: dict[str, object], name: str) -> web.Response:
    """All rows as CSV, or a problem page: an incomplete file is never sent."""
    try:
        answer = await _ask(visit, request, fields)
    except (DatabaseUnavailableError, QueryDeniedError) as fault:
        return problem(visit, 400, "The rows are not available.", str(fault))
    if answer["too_large"]:
        return problem(visit, 400, f"The rows have more than {arco.ANSWER_BYTES >> 20} MB.", "Ask for less.")
    if answer["more"]:
        return problem(visit, 400, f"There are more than {len(answer['rows']):,} rows.", "Ask for less.")
    file = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "rows"
    return await csv_response(CsvTable(file, answer["columns"], answer["rows"]))


async def _query(visit: Visit) -> Any:
    """The query at this address. Raises NotFoundError, DatabaseUnavailableError, QueryDeniedError."""
    name = visit.parts["name"]
    queries = (await _ask(visit, arco.QUERIES))["queries"]
    matching = [query for query in queries if query["name"] == name]
    if not matching:
        raise NotFoundError(f'There is no query "{name}"')
    return matching[0]


def _values(visit: Visit, query: Any) -> dict[str, str]:
    """The field values from the address; sge_dbwriter fills in the defaults."""
    return {field["name"]: text for field in query["fields"] if (text := visit.parameter(field["name"]))}


async def _ask(visit: Visit, request: str, fields: dict[str, object] | None = None) -> dict[str, Any]:
    return await send_dbwriter_request(visit.shared.cell, visit.caller, request, fields or {})


QUERY = Page("/accounting/{name}", "query.html", query_details)
SQL = Page("/accounting/sql", "sql.html", sql_details)
PAGES = [Page("/accounting", "accounting.html", query_list)]
ROUTES = [web.get(SQL.path, read_sql), web.get(QUERY.path, read_query)]
