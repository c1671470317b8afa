"""The request `dry_run`: the answer to a change, while nothing is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve.service import Service
from gridengine.protocols.gdi.requests import Answer, Caller, Submit
from tests.harness import MASTER, Cell
from tests.service_callbacks import IdleCallbacks

ALICE = Caller("alice", 1001, "users", 100, MASTER)
BOB = Caller("bob", 1002, "users", 100, MASTER)
JOB = {"binary": True, "script_file": "/bin/true"}


@pytest.fixture
def service(cell: Cell) -> Service:
    return Service(cell.master, IdleCallbacks())


def ask(service: Service, name: str, caller: Caller = ALICE, /, **fields: Any) -> Answer:
    return asyncio.run(service.answer(name, msgspec.json.encode(fields), caller))


def dry(service: Service, caller: Caller = ALICE, /, **requests: Any) -> dict[str, Answer]:
    answer = ask(service, "dry_run", caller, **requests)
    assert answer.status == 0, answer
    return msgspec.convert(msgspec.to_builtins(answer.data), dict[str, Answer])


@pytest.mark.statement("DM-5")
def test_a_dry_run_has_the_answer_of_the_request(service: Service, cell: Cell) -> None:
    for name, fields in (
        ("submit", JOB), ("hold_jobs", {"targets": ["1"], "holds": "u"}), ("delete_jobs", {"targets": ["1"]}),
        ("delete_jobs", {"targets": ["1"]}), ("submit", {**JOB, "pe": "nosuch", "pe_range": "2"}),
    ):
        before = cell.state.revision
        outcome = dry(service, **{name: fields})[name]
        assert cell.state.revision == before
        assert outcome == msgspec.convert(msgspec.to_builtins(ask(service, name, **fields)), Answer)


def test_a_long_request_is_tried_to_its_end_and_touches_nothing(service: Service, cell: Cell) -> None:
    for _ in range(130):
        cell.submit(holds="u")
    outcome = dry(service, delete_jobs={"users": ["alice"]})["delete_jobs"]
    assert (outcome.status, len(outcome.answers), len(cell.state.jobs)) == (0, 130, 130)


def test_each_request_is_tried_by_itself_with_the_rights_of_its_user(service: Service, cell: Cell) -> None:
    cell.submit(holds="u")
    outcome = dry(service, BOB, delete_jobs={"targets": ["1"]}, submit=JOB)
    assert (outcome["delete_jobs"].status, outcome["submit"].status) == (1, 0)


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ({"delete_jobs": {"nonsense": 1}}, "nonsense"),
        ({"delete_jobs": 1}, "delete_jobs"),
        ({"alter_jobs": {}}, "targets"),
        ({"nonsense": {}}, "nonsense"),
        ({"submit": {**JOB, "name": "x" * 5000}}, "name"),
    ],
)
def test_a_malformed_dry_run_is_refused_like_the_request(service: Service, requests: Any, text: str) -> None:
    answer = ask(service, "dry_run", ALICE, **requests)
    texts = [answer, *(answer.data.values() if isinstance(answer.data, dict) else ())]
    assert any(each.status and text in each.answers[0][1] for each in texts), texts


def test_requests_without_a_decision_have_no_dry_run(service: Service) -> None:
    assert "no dry run of session" in dry(service, session={"job_id": 1})["session"].answers[0][1]


def test_a_server_verifier_sees_a_submission(service: Service, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def verify(request: Submit, caller: Caller, number: Callable[[], int]) -> Answer:
        return Answer(1, [("error", f"not {request.script_file}")])

    cell.configure("configuration", "global", jsv_url="script:/opt/jsv")
    monkeypatch.setattr(service.requests.verifier, "verify", verify)
    assert dry(service, submit=JOB)["submit"].answers == [("error", "not /bin/true")]
