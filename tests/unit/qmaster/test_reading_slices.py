"""Queries of many jobs: the same answer as at once, in parts between which other requests are served (ADR 116)."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from daemons.qmaster.queries.reading import READERS
from daemons.qmaster.serve.requests.reading_slices import SLICE, split_reading
from gridengine.protocols.gdi.requests import Answer
from tests.harness import Cell
from tests.unit.qmaster.test_slices import ALICE, fill, serve

BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "explain_job": ("explain_job", {"jobs": ["many1*", "nobody", "9999", "many*", "3", "3"]}),
    "job_detail": ("status", {"job_detail": {"jobs": ["many1*", "nobody", "9999", "many*", "3", "3"]}}),
}


def asked(cell: Cell, name: str, body: dict[str, Any]) -> Answer:
    return asyncio.run(serve(cell).answer(name, msgspec.json.encode(body), ALICE))


@pytest.mark.parametrize("kind", BODIES)
def test_the_answer_is_that_of_reading_all_at_once(cell: Cell, kind: str) -> None:
    fill(cell)
    name, body = BODIES[kind]
    at_once = READERS[name](cell.master, body, ALICE)
    answer = asked(cell, name, body)
    assert msgspec.to_builtins(answer) == msgspec.to_builtins(at_once)
    data = answer.data if kind == name else answer.data[kind]
    assert (len(data["jobs"]), data["unknown"]) == (len(cell.state.jobs), ["nobody", "9999"])


@pytest.mark.parametrize("kind", BODIES)
def test_a_reading_of_only_an_unknown_job_is_answered(cell: Cell, kind: str) -> None:
    fill(cell)
    name, body = BODIES[kind]
    one = {"jobs": ["nobody"]}
    answer = asked(cell, name, one if kind == name else {kind: one})
    assert msgspec.json.decode(msgspec.json.encode(answer))["status"] == 0


@pytest.mark.parametrize("kind", BODIES)
def test_no_part_reads_more_jobs_than_a_slice(cell: Cell, kind: str) -> None:
    fill(cell)
    name, body = BODIES[kind]
    parts = [part if kind == name else part[kind] for part in split_reading(cell.state, name, body) if part is not None]
    assert max(len(part["jobs"]) for part in parts) == SLICE[kind]
    turns = list(split_reading(cell.state, name, body)).count(None)
    assert turns > 0  # names are looked up in slices, too


def test_a_job_that_goes_meanwhile_is_left_out(cell: Cell) -> None:
    fill(cell)
    name, body = "explain_job", {"jobs": ["many*"]}

    async def both() -> Answer:
        service = serve(cell)
        reading = asyncio.create_task(service.answer(name, msgspec.json.encode(body), ALICE))
        await asyncio.sleep(0)
        cell.ask("delete_jobs", targets=["200"])
        return await reading

    answer = asyncio.run(both())
    assert 200 not in [job["id"] for job in answer.data["jobs"]]
    assert answer.data["unknown"] == []


@pytest.mark.parametrize("request_of", [("explain_job", {"jobs": ["(("]}), ("hold_jobs", {"targets": ["x"], "users": ["(("]})])
def test_an_expression_that_is_wrong_is_refused_with_its_place(cell: Cell, request_of: tuple[str, dict[str, Any]]) -> None:
    fill(cell)
    answer = asked(cell, *request_of)
    assert (answer.status, len(answer.answers)) == (1, 1)
    assert answer.answers[0][1].startswith('denied: the expression "((" is wrong at position')
