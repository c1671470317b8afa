"""Questions to DuckDB: each in a process of its own, which takes no more than it may. adr/0177."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daemons.dbwriter import confinement, query_process
from daemons.dbwriter.answer_text import AnswerLimits
from daemons.dbwriter.database import Database, DatabaseError, transaction
from daemons.dbwriter.opening import open_database
from gridengine.protocols import arco

MIB = 2**20


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"duckdb:{tmp_path}/arco.duckdb")
    yield opened
    opened.close()


def ask(database: Database, statement: str, most: int = arco.ROWS, patience_s: float = arco.PATIENCE_S) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(query_process.ask(database, statement, (), AnswerLimits(most), patience_s))
    return found


def refusal(database: Database, statement: str, patience_s: float = arco.PATIENCE_S) -> str:
    with pytest.raises(DatabaseError) as fault:
        ask(database, statement, patience_s=patience_s)
    assert fault.value.invalid_query
    return str(fault.value)


@pytest.mark.parametrize("patience_s", [0.0, 0.1])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT sum(a.range ^ b.range) FROM range(1000000) a, range(1000000) b",
        "SELECT levenshtein(repeat('ab', 300000), repeat('ba', 300000))",  # no interrupt ends this one
        "WITH RECURSIVE endless AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM endless) SELECT max(a) FROM endless",
    ],
)
def test_a_question_ends_when_its_time_is_over_also_before_it_has_begun(
    database: Database, statement: str, patience_s: float
) -> None:
    assert "no answer within 0 s: ask for less" in refusal(database, statement, patience_s)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT repeat('x', 1000000) FROM range(100000)",
        "SELECT damerau_levenshtein(repeat('ab', 50000), repeat('ba', 50000))",  # 80 GB, which no limit of DuckDB counts
        "SELECT string_agg(repeat('x', 1000), '') FROM range(10000000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT * FROM (SELECT repeat('y', 1000) || a.range AS k FROM range(3000) a, range(1000) b) ORDER BY k",
    ],
)
def test_a_question_takes_no_more_memory_or_disk_than_it_may(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statement: str
) -> None:
    monkeypatch.setattr(query_process, "max_query_memory", lambda: 256 * MIB)
    monkeypatch.setattr(query_process, "max_query_disk", lambda directory: 64 * MIB)
    assert refusal(database, statement) == "the query takes more than 256 MB of memory, or 64 MB of disk: ask for less"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1024 * 1024  # KB
    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == []
    assert ask(database, "SELECT 1")["rows"] == [[1]]


def test_an_answer_has_as_many_rows_as_fit(database: Database) -> None:
    answer = ask(database, "SELECT repeat('x', 1000000) FROM range(100)")
    assert (len(answer["rows"]), answer["more"], answer["too_large"]) == (arco.ANSWER_BYTES // 1_000_005, True, True)
    short = AnswerLimits(text_length=10)
    answer = json.loads(query_process.ask(database, "SELECT repeat('x', 1000), 'short', 7, NULL", (), short))
    assert answer["rows"] == [["xxxxxxxxx…", "short", 7, None]]
    answer = json.loads(query_process.ask(database, "SELECT repeat('x', 1000) FROM range(100)", (), AnswerLimits(bytes=10_000)))
    assert (len(answer["rows"]), answer["more"], answer["too_large"]) == (9, True, True)
    answer = ask(database, "SELECT range FROM range(100)", most=10)
    assert (len(answer["rows"]), answer["more"], answer["too_large"]) == (10, True, False)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("SELECT * FROM checkpoint()", "checkpoint"),
        ("SELECT * FROM force_checkpoint('arco')", "force_checkpoint"),
        ("SELECT write_log('mine')", "write_log"),
        ("SELECT current_setting('temp_directory')", "current_setting"),
        ('SELECT * FROM "duckdb_settings"()', "duckdb_settings"),
        ("EXPLAIN ANALYZE SELECT * FROM duckdb_databases", "duckdb_databases"),
        ("SELECT (SELECT path FROM pragma_database_list LIMIT 1)", "pragma_database_list"),
        ("SELECT * FROM query('SELECT * FROM duckdb_settings()')", "query"),
        ("WITH a AS (SELECT * FROM pg_settings) SELECT * FROM a", "pg_settings"),
    ],
)
def test_functions_about_the_program_are_refused(database: Database, statement: str, name: str) -> None:
    assert refusal(database, statement) == f"{name} is not allowed in queries: they read the tables and views"


@pytest.mark.parametrize("statement", ["CREATE TEMP TABLE mine (a integer)", "SHOW ALL TABLES; SELECT 1", "SET threads = 2"])
def test_only_one_question_is_asked(database: Database, statement: str) -> None:
    assert refusal(database, statement) == "one SELECT or EXPLAIN can be asked here, and nothing else"


def test_tables_may_be_listed(database: Database) -> None:
    database.run("CREATE TABLE mine (a integer)")
    assert ask(database, "SELECT table_name FROM duckdb_tables()")["rows"] == [["mine"]]
    assert ask(database, "DESCRIBE mine")["rows"][0][:2] == ["a", "INTEGER"]


def test_the_process_of_a_question_can_write_neither_the_database_nor_read_another_file(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database.run("CREATE TABLE mine AS SELECT range FROM range(10)")
    other = tmp_path / "other"
    other.write_text("of everybody")

    def attempts(statement: str, parameters: object, limits: object) -> Any:
        raise DatabaseError(json.dumps([_attempted(_write_all), _attempted(lambda: os.open(other, os.O_RDONLY)), os.geteuid()]))

    monkeypatch.setattr(database, "ask", attempts)
    with pytest.raises(DatabaseError) as fault:
        ask(database, "")
    written, read, user = json.loads(str(fault.value))
    assert written == "done"  # as nothing that it has can be written
    assert read in ("FileNotFoundError", "PermissionError")
    assert user != 0
    monkeypatch.undo()
    assert ask(database, "SELECT count(*) FROM mine")["rows"] == [[10]]


def _write_all() -> None:
    for number in range(64):
        try:
            file = os.fstat(number)
        except OSError:
            continue
        if stat.S_ISREG(file.st_mode):
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.pwrite(number, b"x" * 100, 0)


def _attempted(action: Callable[[], object]) -> str:
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"


def test_the_database_is_written_while_questions_read_it(database: Database, tmp_path: Path) -> None:
    """A query finds the records that were committed before it, though a write to the file is due by then."""
    database.run("CREATE TABLE numbers AS SELECT range AS n, repeat('x', 50) || range AS text FROM range(200000)")
    database.load_columns()
    log = tmp_path / "arco.duckdb.wal"
    answers: list[Any] = []
    question = "SELECT count(*), sum(a.n % 7) FROM numbers a, (SELECT * FROM numbers LIMIT 1000) b"
    asking = threading.Thread(target=lambda: answers.append(ask(database, question, patience_s=600)["rows"][0][0]))
    asking.start()
    for _ in range(12):
        with transaction(database):
            database.run("DELETE FROM numbers WHERE n % 3 = 0")
            database.run("INSERT INTO numbers SELECT range, repeat('y', 50) || range FROM range(60000)")
    asking.join()
    assert answers[0] % 1000 == 0
    with transaction(database):
        database.run("INSERT INTO numbers VALUES (1, 'z')")
    assert not log.exists() or log.stat().st_size < 16 * MIB


def test_questions_see_what_was_committed_last(database: Database) -> None:
    database.run("CREATE TABLE numbers (n integer)")
    for number in range(3):
        with transaction(database):
            database.run("INSERT INTO numbers VALUES (1)")
        assert ask(database, "SELECT count(*) FROM numbers")["rows"] == [[number + 1]]
        with transaction(database):
            database.run("INSERT INTO numbers VALUES (1)")
            assert ask(database, "SELECT count(*) FROM numbers")["rows"] == [[number + 1]]
            database.run("DELETE FROM numbers WHERE rowid = (SELECT max(rowid) FROM numbers)")


def test_a_question_is_answered_where_a_plain_user_runs_the_writer(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the host are there for it, as it has no root directory of its own, but cannot be read (landlock)."""
    user = os.geteuid() or 65534
    monkeypatch.setattr(confinement.os, "geteuid", lambda: user)
    assert ask(database, "SELECT 1")["rows"] == [[1]]
    assert ask(database, "EXPLAIN SELECT count(*) FROM range(10)")["rows"] != []


def test_a_question_that_the_host_has_no_memory_for_may_be_asked_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "ask", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(DatabaseError, match="the host is short of memory: ask again in a moment") as fault:
        ask(database, "SELECT 1")
    assert fault.value.transient and not fault.value.invalid_query


def test_a_question_has_between_256_mb_and_1_gb() -> None:
    assert 256 * MIB <= confinement.max_query_memory() <= 1024 * MIB
