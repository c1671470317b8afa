"""Stored queries: parsing of files, faults in files, and binding of values. DB-22, DB-23."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from daemons.dbwriter.queries import BUILT_IN_DIRECTORY, QueryError, parse_query, read_queries
from tests.tidy.sources import ROOT, table_of

WHOLE = """
name = "Jobs of a User"
category = "Job"
description = "What a user ran."
view = "pivot"
sql = "SELECT 1 WHERE 'a' = $owner AND 1 < $most AND $owner <> ''"

[[fields]]
name = "owner"

[[fields]]
name = "most"
type = "integer"
default = "5"

[pivot]
rows = "a"
columns = "b"
values = ["c"]
"""
HEAD = 'name = "x"\ncategory = "x"\ndescription = "x"\n'
HERE = Path("x.toml")


@pytest.mark.statement("DB-22")
def test_a_query_has_name_category_fields_and_view() -> None:
    query = parse_query(WHOLE, HERE)
    assert (query.name, query.category, query.view) == ("Jobs of a User", "Job", "pivot")
    assert [(one.name, one.type, one.default) for one in query.fields] == [("owner", "text", None), ("most", "integer", "5")]
    assert query.pivot == {"rows": "a", "columns": "b", "values": ["c"]}
    assert parse_query(f'{HEAD}sql = "SELECT 1"', HERE).view == "table"


@pytest.mark.statement("DB-23")
def test_values_are_bound_and_never_in_the_sql() -> None:
    query = parse_query(WHOLE, HERE)
    evil = "'; DROP TABLE sge_job; -- $most"
    sql, values = query.bind({"owner": evil})
    assert sql == "SELECT 1 WHERE 'a' = $1::text AND 1 < $2::integer AND $1::text <> ''"
    assert values == [evil, 5]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("text", "a b", "a b"),
        ("integer", "-7", -7),
        ("number", "1.5", 1.5),
        ("time", "2026-03-01T12:00:00+00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
    ],
)
def test_values_have_the_type_of_their_field(kind: str, text: str, value: object) -> None:
    query = parse_query(f'{HEAD}sql = "SELECT $a"\nfields = [{{name = "a", type = "{kind}"}}]', HERE)
    assert query.bind({"a": text})[1] == [value]


def test_a_time_without_a_zone_is_local() -> None:
    query = parse_query(f'{HEAD}sql = "SELECT $a"\nfields = [{{name = "a", type = "time"}}]', HERE)
    assert query.bind({"a": "2026-03-01"})[1] == [datetime(2026, 3, 1).astimezone()]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, '"Jobs of a User" needs a value for owner: say owner=VALUE'),
        ({"owner": "a", "host": "h"}, '"Jobs of a User" has no field host; its fields: owner, most'),
        ({"owner": "a", "most": "many"}, '"Jobs of a User": most "many" is no integer'),
        ({"owner": "a", "most": "9" * 5000}, '"Jobs of a User": most "99999'),
        ({"owner": "a", "most": "3000000000"}, '"Jobs of a User": most "3000000000" is no integer'),
        ({"owner": "a\0b"}, '"Jobs of a User": owner "a\0b" is no text'),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, str], reason: str) -> None:
    with pytest.raises(QueryError) as fault:
        parse_query(WHOLE, HERE).bind(values)
    assert str(fault.value).startswith(reason) and len(str(fault.value)) < 300


@pytest.mark.statement("DB-16", "DB-17", "DB-19", "DB-22")
def test_simple_queries_are_those_of_the_document_and_the_job_log() -> None:
    queries, faults = read_queries(BUILT_IN_DIRECTORY)
    assert faults == []
    simple = {"Advanced Reservation Attributes", "Advanced Reservation Log", "Advanced Reservation by User", "Job Log"}
    assert {name for name, query in queries.items() if query.type == "simple"} == simple


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "Invalid value"),
        ('name = "x"', "a query has no category, which must be there"),
        (f'{HEAD}sql = "SELECT 1"\nsqll = ""', "a query has no sqll: name, category"),
        (f'{HEAD}sql = "SELECT $a"', "the SQL has $a, which is no field"),
        (f'{HEAD}sql = "SELECT 1"\nfields = [{{name = "a", type = "float"}}]', '"float" is no type of a field: text, number'),
        (f'{HEAD}sql = "SELECT 1"\nfields = [{{label = "a"}}]', "a field has no name, which must be there"),
        (f'{HEAD}sql = "SELECT 1"\nfields = 5', "fields"),
        (f'{HEAD}sql = "SELECT 1"\nfields = ["a"]', "a field is a table"),
        (f"{HEAD}sql = 5", "sql is no text"),
        (f'{HEAD}sql = "SELECT 1"\ntype = "hard"', '"hard" is no type of a query: simple, advanced'),
        (f'{HEAD}sql = "SELECT 1"\nview = "cube"', '"cube" is no view: table, pivot, graphic'),
        (f'{HEAD}sql = "SELECT 1"\nplot = "bars"', "plot is no table"),
        (f'{HEAD}sql = "SELECT 1"\nview = "pivot"', "a pivot view needs rows, columns and values in [pivot]"),
        (f'{HEAD}sql = "SELECT 1"\n[plot]\nkind = "pie"', '"pie" is no kind of a plot: bars, stacked, ranking, lines, scatter'),
        (f'{HEAD}sql = "SELECT 1"\n[plot]\nkind = "bars"\nx = "a"', "a plot needs kind, x and y"),
        (f'{HEAD}sql = "SELECT 1"\n[plot]\nkind = "bars"\nx = "a"\ny = "b"\ncolour = "red"', "colour is nothing that a plot has"),
        (f'{HEAD}sql = "SELECT 1"\n[plot]\nkind = "bars"\nx = "a"\ny = "b"\ny_scale = 0', "y_scale"),
    ],
)
def test_files_that_are_wrong_are_named_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryError) as fault:
        parse_query(text, HERE)
    assert str(fault.value).startswith("x.toml: ") and reason in str(fault.value)


def test_a_wrong_file_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("name = ")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    (tmp_path / "c.toml").write_text(WHOLE)
    (tmp_path / "d.toml").mkdir()
    queries, faults = read_queries(tmp_path)
    assert list(queries) == ["Jobs of a User"]
    assert [name in fault for name, fault in zip("abd", faults, strict=True)] == [True] * 3


@pytest.mark.statement("DB-22")
def test_a_site_has_queries_of_its_own_and_in_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(WHOLE)
    (tmp_path / "b.toml").write_text(WHOLE.replace("Jobs of a User", "Job Log"))
    queries, faults = read_queries(BUILT_IN_DIRECTORY, tmp_path, tmp_path / "nowhere")
    assert faults == []
    assert queries["Jobs of a User"].category == "Job"
    assert [one.name for one in queries["Job Log"].fields] == ["owner", "most"]


def test_our_own_files_are_right() -> None:
    queries, faults = read_queries(BUILT_IN_DIRECTORY)
    assert faults == []
    assert len(queries) == len(list(BUILT_IN_DIRECTORY.glob("*.toml")))


def test_the_page_lists_all_of_them_with_their_fields() -> None:
    rows = table_of("docs/accounting.md", "name", "category", "fields", "plot", "what it shows")
    listed = {cells[0]: cells[2] for cells in rows}
    queries, _ = read_queries(BUILT_IN_DIRECTORY)
    fields = {
        query.name: ", ".join(f"`{one.name}`" if one.default is None else f"`{one.name}={one.default}`" for one in query.fields)
        for query in queries.values()
    }
    assert listed == fields


def test_the_query_of_the_page_is_one() -> None:
    page = (ROOT / "docs" / "accounting.md").read_text()
    begin = page.index('    name = "Jobs of a User"')
    text = page[begin : page.index("\n| key |", begin)]
    assert parse_query(text.replace("\n    ", "\n").strip(), HERE).plot["kind"] == "stacked"
