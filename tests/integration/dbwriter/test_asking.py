"""The socket of the writer: the permitted requests of each user, and the answers to wrong requests. DB-22, DB-23."""

from __future__ import annotations

import http.client
import json
import os
import pwd
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from daemons.dbwriter.server import listen
from gridengine.protocols.arco import ON_BEHALF
from tests import needs
from tests.integration.cells import eventually
from tests.integration.dbwriter.conftest import KINDS, new_address
from tests.integration.dbwriter.plays import Cell, Play
from tests.integration.dbwriter.reporting_lines import DAY, accounting_line, acct


@pytest.fixture
def cell(open_directory: Path, address: str) -> Iterator[Cell]:
    """A cell whose writer runs and has written ten jobs."""
    with written(open_directory, address) as cell:
        yield cell


@pytest.fixture(scope="module", params=KINDS)
def asked_cell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """One database for all tests that change nothing in it."""
    directory = tmp_path_factory.mktemp("asked")
    with written(directory, new_address(request, directory)) as cell:
        yield cell


@contextmanager
def written(directory: Path, address: str) -> Iterator[Cell]:
    cell = Cell(directory, address)
    Play(cell.common, address).append(acct(job, DAY, DAY + 60) for job in range(1, 11))
    writer = cell.writer()
    try:
        eventually("it has written", lambda: cell.socket.exists() and ask(cell, "status", {}).get("lines") == 10)
        yield cell
    finally:
        writer.terminate()
        _, errors = writer.communicate()
        assert errors == ""


def ask(cell: Cell, request: str, fields: object, text: str = "", behalf: tuple[str, ...] = ()) -> Any:
    """The answer to a request; `behalf`: for which users a header each says that it is."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(cell.socket))
        asked = http.client.HTTPConnection("localhost")
        asked.sock = connection
        asked.putrequest("POST", f"/v1/{request}")
        body = (text or json.dumps(fields)).encode()
        for name, value in (("Content-Length", str(len(body))), *((ON_BEHALF, each) for each in behalf)):
            asked.putheader(name, value)
        asked.endheaders(body)
        return json.loads(asked.getresponse().read())


def ask_as(user: str, cell: Cell, request: str, fields: object, behalf: tuple[str, ...] = ()) -> Any:
    """The same in a process of another user."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            known = pwd.getpwnam(user)
            os.setgroups([])
            os.setgid(known.pw_gid)
            os.setuid(known.pw_uid)
            os.write(write_end, json.dumps(ask(cell, request, fields, behalf=behalf)).encode())
        except Exception as error:  # the parent shows it: a child of a test runner must not go on as one
            os.write(write_end, json.dumps({"error": f"the child has failed: {error!r}"}).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end) as pipe:
        return json.loads(pipe.read())


def test_the_socket_is_not_there_before_it_listens(tmp_path: Path) -> None:
    path = tmp_path / "run" / "dbwriter.sock"
    listener = listen(path)
    assert [each.name for each in path.parent.iterdir()] == ["dbwriter.sock"]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
    again = listen(path)  # a daemon that was killed has left its own
    assert [each.name for each in path.parent.iterdir()] == ["dbwriter.sock"]
    listener.close()
    again.close()


def test_sql_is_answered_with_types(asked_cell: Cell) -> None:
    sql = "SELECT job_number, name, start_time, job_duration, cpu > 1 AS busy FROM view_accounting ORDER BY 1"
    answer = ask(asked_cell, "sql", {"sql": sql, "limit": 2})
    assert answer["columns"] == ["job_number", "name", "start_time", "job_duration", "busy"]
    assert answer["types"] == ["number", "text", "time", "interval", "flag"]
    assert [row[0] for row in answer["rows"]] == [1, 2]
    assert answer["more"] is True
    assert answer["rows"][0][3] == 60.0


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM sge_job_usage",
        "SELECT 1; DELETE FROM sge_job_usage",
        "COMMIT; DELETE FROM sge_job_usage",
        "WITH gone AS (DELETE FROM sge_job_usage RETURNING 1) SELECT * FROM gone",
        "EXPLAIN ANALYZE DELETE FROM sge_job_usage",
        "CREATE TABLE mine (a integer)",
        "ATTACH '/tmp/other.duckdb'",
        "COPY sge_job TO '/tmp/stolen'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SET enable_external_access = true",
        "",
        "SELECT nothing FROM nowhere",
    ],
)
def test_sql_that_does_more_than_read_is_refused(asked_cell: Cell, sql: str) -> None:
    answer = ask(asked_cell, "sql", {"sql": sql})
    assert "rows" not in answer
    assert answer["error"] and "\n" not in answer["error"]
    assert ask(asked_cell, "sql", {"sql": "SELECT count(*) FROM sge_job_usage"})["rows"] == [[10]]


@pytest.mark.statement("DB-23")
def test_values_of_fields_are_bound(asked_cell: Cell) -> None:
    evil = "alice'; DELETE FROM sge_job_usage; --"
    answer = ask(asked_cell, "run", {"query": "Advanced Reservation by User", "values": {"ar_owner": evil}})
    assert answer.get("rows", []) == []
    assert ask(asked_cell, "sql", {"sql": "SELECT count(*) FROM sge_job_usage"})["rows"] == [[10]]


@pytest.mark.parametrize(
    ("request_", "fields", "reason"),
    [
        ("nothing", {}, "there is no request nothing"),
        ("run", {"query": "No such"}, 'there is no query "No such"'),
        ("run", {"query": 5}, "a query is run by its name"),
        ("run", {"query": "Accounting per Project", "values": {"x": "1"}}, "has no field x"),
        ("sql", {}, "there is no SQL in the request"),
        ("sql", {"sql": "SELECT 1", "limit": 0}, "a limit is from 1 to"),
        ("sql", {"sql": "SELECT 1", "limit": True}, "a limit is from 1 to"),
        ("sql", {"sql": "SELECT 1", "patience": 1e9}, "patience is up to 60 seconds"),
        ("import", {"path": "relative"}, "must be absolute"),
        ("import", {"path": "/nothing/there"}, "cannot read /nothing/there: No such file or directory"),
        ("import", {"path": "/nul\0l"}, "cannot read"),
        ("status", [], "a request is a JSON object"),
    ],
)
def test_wrong_requests_are_answered_with_their_reason(asked_cell: Cell, request_: str, fields: object, reason: str) -> None:
    assert reason in ask(asked_cell, request_, fields)["error"]


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\0", '{"sql": "\\ud800"}'])
def test_a_body_that_is_not_json_gets_an_error_and_the_next_request_is_answered(asked_cell: Cell, text: str) -> None:
    assert "error" in ask(asked_cell, "sql", None, text)
    assert ask(asked_cell, "status", {})["fault"] == ""


@needs.root
def test_another_user_may_ask_and_may_not_import(cell: Cell, tmp_path: Path) -> None:
    file = tmp_path / "accounting"
    file.write_text(accounting_line(99, DAY, DAY + 5) + "\n")
    assert "only root and the user of sge_dbwriter" in ask_as("nobody", cell, "import", {"path": str(file)})["error"]
    assert ask_as("nobody", cell, "run", {"query": "Accounting per Project"})["columns"][0] == "time"
    own = ask_as("nobody", cell, "sql", {"sql": "SELECT count(*) FROM sge_job_usage"})
    settings = (cell.common / "arco").read_text()
    if "postgresql" in settings:
        assert "SQL of one's own needs a reader" in own["error"]
    else:
        assert own["rows"] == [[10]]
    assert ask(cell, "import", {"path": str(file)}) == {}
    eventually("it is imported", lambda: ask(cell, "status", {})["imports"][0]["state"] == "done")
    assert ask(cell, "sql", {"sql": "SELECT count(*) FROM sge_job_usage"})["rows"] == [[11]]


@needs.root
def test_a_trusted_user_asks_for_another_user_with_only_the_rights_of_that_user(cell: Cell, tmp_path: Path) -> None:
    nobody = str(pwd.getpwnam("nobody").pw_uid)
    file = {"path": str(tmp_path / "none")}
    assert "cannot read" in ask(cell, "import", file)["error"]
    assert "only root and the user of sge_dbwriter" in ask(cell, "import", file, behalf=(nobody,))["error"]
    assert ask(cell, "run", {"query": "Accounting per Project"}, behalf=(nobody,))["columns"][0] == "time"
    assert "on behalf of others" in ask_as("nobody", cell, "import", file, ("0",))["error"]
    assert "on behalf of others" in ask_as("nobody", cell, "run", {"query": "Accounting per Project"}, (nobody,))["error"]
    for wrong in (("",), ("-1",), ("root",), (nobody, "0"), ("9" * 40,)):
        assert "is the number of one user" in ask(cell, "import", file, behalf=wrong)["error"]


def append_ten_more(cell: Cell, before: int) -> None:
    """Return when a question finds jobs that have just ended; `before`: jobs that were there."""
    Play(cell.common, "").append(acct(job, DAY, DAY + 60) for job in range(before + 1, before + 11))
    short = {"sql": "SELECT count(*) FROM sge_job_usage"}
    eventually("what is new is there", lambda: ask(cell, "sql", short)["rows"] == [[before + 10]])


def test_questions_do_not_hold_the_writer(cell: Cell) -> None:
    """While a long query runs, new records are written, and other queries find them."""
    tables = ", ".join(f"sge_job {name}" for name in "abcdefghijkl")
    with ThreadPoolExecutor(2) as pool:
        question = f"SELECT count(*) FROM {tables} WHERE a.j_id * b.j_id <> c.j_id + l.j_id"
        for before, patience in ((10, 5), (20, 20), (30, 60)):  # one is long enough, also on a machine that is slow
            asked = pool.submit(ask, cell, "sql", {"sql": question, "patience": patience})
            append_ten_more(cell, before)
            if not asked.done():
                break
        assert not asked.done()
        assert asked.result()["error"] == f"no answer within {patience} s: ask for less"


def test_idle_connections_of_a_user_are_limited_and_lock_no_client_out(asked_cell: Cell) -> None:
    """Without a limit they took the descriptors with which the writer opens its files."""
    idle = []
    for _ in range(20):
        one = socket.socket(socket.AF_UNIX)
        one.connect(str(asked_cell.socket))
        idle.append(one)
    idle[0].settimeout(60)
    assert idle[0].recv(1) == b""
    assert ask(asked_cell, "sql", {"sql": "SELECT 1"})["rows"] == [[1]]
    for one in idle:
        one.close()


def test_texts_are_cut_to_the_lengths_that_a_request_names(asked_cell: Cell) -> None:
    answer = ask(asked_cell, "sql", {"sql": "SELECT repeat('x', 1000) AS long FROM sge_job_usage", "cell": 10, "bytes": 50})
    assert answer["rows"][0] == ["xxxxxxxxx…"]
    assert answer["too_large"] and len(answer["rows"]) < 10
