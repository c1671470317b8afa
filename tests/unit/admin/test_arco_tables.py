"""Answers of `gridengine arco` as tables, CSV and JSON: local times, durations, pivots, texts without control sequences."""

from __future__ import annotations

import csv
import io
import json
import time

import pytest
from rich.console import Console

from clients.admin.arco.dbwriter_client import Answer
from clients.admin.arco.tables import as_json, pivot_rows, print_table
from clients.admin.errors import AdminError
from gridengine.protocols.arco_rows import csv_text, format_value

PIVOT = {"rows": "project", "columns": "time", "values": ["cpu", "mem"]}
MONTHS = Answer(
    ["time", "project", "cpu", "mem"],
    ["date", "text", "number", "number"],
    [["2026-01-01", "p2", 5.0, 0.5], ["2026-01-01", "p1", 7.0, 0.25], ["2026-02-01", "p1", 9.0, None]],
    False,
    {},
    PIVOT,
)


def printed(answer: Answer, terminal: bool = False, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    print_table(console, answer)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.statement("DB-15", "DB-22")
def test_a_pivot_has_a_row_for_each_value_and_figure_and_a_column_for_each_month() -> None:
    assert printed(pivot_rows(MONTHS)) == [
        "project       2026-01  2026-02",
        "-------  ---  -------  -------",
        "p1       cpu        7        9",
        "p1       mem     0.25",
        "p2       cpu        5",
        "p2       mem      0.5",
    ]


def test_days_that_are_no_months_keep_their_days() -> None:
    rows = [["2026-01-01", "p1", 1, 1], ["2026-01-02", "p1", 1, 1]]
    assert pivot_rows(Answer(MONTHS.columns, MONTHS.types, rows, False, {}, PIVOT)).columns[2:] == ["2026-01-01", "2026-01-02"]


def test_rows_of_a_value_that_is_missing_come_last_and_an_empty_answer_is_none() -> None:
    rows = [["2026-01-01", None, 1, 2], ["2026-01-01", "p1", 3, 4]]
    turned = pivot_rows(Answer(MONTHS.columns, MONTHS.types, rows, False, {}, PIVOT))
    assert [row[0] for row in turned.rows] == ["p1", "p1", None, None]
    assert printed(pivot_rows(Answer(MONTHS.columns, MONTHS.types, [], False, {}, PIVOT)))[-1] == "no rows"


def test_rows_without_a_pivot_stay_and_a_missing_column_is_reported() -> None:
    flat = Answer(MONTHS.columns, MONTHS.types, MONTHS.rows, False)
    assert pivot_rows(flat) is flat
    with pytest.raises(AdminError, match="the pivot needs a column user; the query has time, project"):
        pivot_rows(Answer(MONTHS.columns, MONTHS.types, MONTHS.rows, False, {}, PIVOT | {"rows": "user"}))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "number", ""),
        (5, "number", "5"),
        (0.125, "number", "0.125"),
        (90_061, "interval", "25:01:01"),
        (-61.4, "interval", "-0:01:01"),
        (0, "interval", "0:00:00"),
        ("2026-01-31", "date", "2026-01-31"),
        ("two\nlines", "text", "two lines"),
        ("\x1b[31mred\x07", "text", "\\x1b[31mred\\x07"),
        (True, "flag", "True"),
        ("nan", "number", "nan"),
    ],
)
def test_values_as_people_read_them(value: object, kind: str, text: str) -> None:
    assert format_value(value, kind) == text


def test_times_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert format_value("2026-07-01T10:00:00+00:00", "time") == "2026-07-01 12:00:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("terminal", [False, True])
def test_brackets_are_text_and_no_markup(terminal: bool) -> None:
    found = "\n".join(printed(Answer(["name"], ["text"], [["[bold]a[/bold] [x"]], False), terminal))
    assert "[bold]a[/bold] [x" in found


def test_the_number_of_hidden_rows_is_reported() -> None:
    many = Answer(["n"], ["number"], [[number] for number in range(1200)], True)
    assert printed(many)[-1] == "the first 1000 of more than 1200 rows are shown: ask for less, or export them"
    cut = Answer(["n"], ["number"], [[number] for number in range(167)], True)
    assert printed(cut)[-1] == "the first 167 rows are shown: ask for less, or export them"


@pytest.mark.statement("DB-22")
def test_files_have_every_value_as_it_is() -> None:
    rows = [["a,b\"c", 1.5, None], ["line\nbreak", 2, 3600.0]]
    answer = Answer(["name", "cpu", "took"], ["text", "number", "interval"], rows, False)
    written = list(csv.reader(io.StringIO(csv_text(answer.columns, answer.rows))))
    assert written == [answer.columns, ['a,b"c', "1.5", ""], ["line\nbreak", "2", "3600.0"]]
    assert json.loads(as_json(answer)) == [dict(zip(answer.columns, row, strict=True)) for row in rows]


def test_no_text_of_a_csv_file_is_a_formula_and_numbers_stay_numbers() -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "a=b", ""]
    written = list(csv.reader(io.StringIO(csv_text(["=name"], [[value] for value in (*texts, -1, -2.5, None)]), newline="")))
    expected = ["'=name", "'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "a=b", "", "-1", "-2.5", ""]
    assert [row[0] if row else "" for row in written] == expected
