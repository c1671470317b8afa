"""A table names the handler of each request."""

from __future__ import annotations

import asyncio
import logging

import pytest

from daemons.qmaster.decide import DECISIONS
from daemons.qmaster.queries.reading import READERS
from daemons.qmaster.serve.requests.endpoints import ENDPOINTS
from daemons.qmaster.serve.service import Service
from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.gdi.requests import REQUESTS, Answer, Caller
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks


def test_each_request_has_a_row_with_the_type_of_its_body() -> None:
    assert {name: row.body for name, row in ENDPOINTS.items()} == {**REQUESTS, **BODIES}


def test_every_decision_and_query_has_an_endpoint_with_a_handler() -> None:
    kinds = {name: row.kind for name, row in ENDPOINTS.items()}
    assert {name for name, kind in kinds.items() if kind == "decides"} == DECISIONS.keys()
    assert READERS.keys() <= {name for name, kind in kinds.items() if kind == "reads"}
    assert all(row.handler for row in ENDPOINTS.values() if row.name in {**DECISIONS, **READERS})


def test_each_row_has_one_handler() -> None:
    for row in ENDPOINTS.values():
        assert (row.answered is None) == (row.kind == "streams") == (row.streamed is not None), row.name


@pytest.fixture
def service(cell: Cell) -> Service:
    return Service(cell.master, IdleCallbacks())


BODIES_REQUIRED = {"shutdown": b'{"what": "execd", "hosts": ["all"]}'}


def ask(service: Service, name: str, user: str) -> Answer:
    caller = Caller(user, 0 if user == "root" else 1001, "users", 100, "h1")
    return asyncio.run(service.answer(name, BODIES_REQUIRED.get(name, b"{}"), caller))


@pytest.mark.parametrize("name", ["nothing", "verified_copy", "wait", ""])
def test_an_unknown_request_is_refused_by_its_name(service: Service, name: str) -> None:
    assert ask(service, name, "root").answers == [("error", f'denied: unknown request "{name}"')]


@pytest.mark.parametrize("name", [row.name for row in ENDPOINTS.values() if row.administrator])
def test_the_gate_keeps_others_from_what_administrators_do(service: Service, name: str) -> None:
    answer = ask(service, name, "alice")
    assert (answer.status, [level for level, _ in answer.answers]) == (1, ["error"])
    assert "alice" in answer.answers[0][1]


@pytest.mark.statement("GC-4")
def test_the_mistake_of_a_user_is_no_error_of_the_daemon(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    caller = Caller("alice", 1001, "users", 100, "h1")
    assert asyncio.run(service.answer("delete_jobs", b'{"targets": ["99"]}', caller)).status == 1
    reason = 'denied: job "99" does not exist'
    assert [(record.levelname, record.getMessage()) for record in caplog.records if "99" in record.getMessage()] == [
        ("INFO", f"answer to alice@h1: {reason}"),
        ("WARNING", f"the request delete_jobs of alice@h1 was refused: {reason}"),
    ]


def test_why_a_submission_was_refused_is_in_the_log_once_a_minute_for_each_user(
    service: Service, cell: Cell, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(user: str, body: bytes) -> None:
        caller = Caller(user, 1001, "users", 100, "h1")
        assert asyncio.run(service.answer("submit", body, caller)).status

    def logged() -> list[str]:
        texts = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING and "submission" in r.getMessage()]
        caplog.clear()
        return texts

    refused("alice", b"[")
    [line] = logged()
    assert line.startswith("a submission of alice@h1 was refused: ")
    refused("alice", b'{"command": "x", "project": "none"}')
    assert logged() == []
    refused("bob", b"{}")
    assert len(logged()) == 1
    cell.now += 61
    refused("alice", b"[")
    [line] = logged()
    assert line.endswith(" (and 1 times more before)")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("delete_jobs", b'{"targets": ["1"], "force": true}'),
        ("change_states", b'{"action": "disable", "what": "queue", "targets": ["all.q"]}'),
        ("alter_jobs", b'{"targets": ["1"], "changes": {"priority": 5}}'),
        ("reserve", b'{"duration": 10}'),
        ("config_delete", b'{"kind": "cluster_queue", "name": "all.q"}'),
        ("shutdown", b"{}"),
    ],
)
def test_other_refused_changes_are_in_the_log_at_the_same_pace(
    service: Service, cell: Cell, caplog: pytest.LogCaptureFixture, name: str, body: bytes
) -> None:
    caller = Caller("alice", 1001, "users", 100, "h1")
    for _ in range(3):
        assert asyncio.run(service.answer(name, body, caller)).status
    [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert line.startswith(f"the request {name} of alice@h1 was refused: ")
