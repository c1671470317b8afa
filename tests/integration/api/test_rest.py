"""A program drives a cell from outside: the same `Cell`, over the REST API, with a token."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gridengine.api import AsyncCell, Cell, RequestDenied, StreamEnded, Unreachable
from tests.integration.cells import eventually


@pytest.mark.statement("DM-5")
def test_a_program_outside_does_what_one_inside_does(server: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SGE_ROOT", raising=False)
    url, token = server
    with Cell(url=url, token=token) as cell:
        job = cell.submit(script="#!/bin/sh\n#$ -t 1-2\nexit $SGE_TASK_ID\n", stdout="/dev/null", merge=True)
        assert [(end.task_id, end.exit_status) for end in cell.wait(job.id)] == [(1, 1), (2, 2)]
        held = cell.submit("/bin/true", binary=True, holds="u").id
        eventually("the mirror has it", lambda: held in [each.id for each in cell.jobs()])
        cell.delete(held)
        assert [queue["name"] for queue in cell.queues()] == ["all.q"]
        events = cell.events("JOB")
        assert next(events).action == "LIST"
        added = cell.submit("/bin/true", binary=True, holds="u").id
        assert next(event.data["job_id"] for event in events if event.action == "ADD") == added
        events.close()  # type: ignore[attr-defined]
        cell.delete(added)
        with pytest.raises(RequestDenied, match='unknown queue "nosuch.q"'):
            cell.submit("/bin/true", binary=True, queue="nosuch.q")
        with pytest.raises(StreamEnded, match="NOSUCH"):
            next(cell.events("NOSUCH"))

    async def play() -> None:
        async with AsyncCell(url=url, token=token) as cell:
            job = await cell.submit("/bin/true", binary=True, stdout="/dev/null", merge=True)
            (end,) = await cell.wait(job.id)
            assert end.ok

    asyncio.run(play())


def test_a_wrong_token_is_reported_at_once(server: tuple[str, str]) -> None:
    with Cell(url=server[0], token="wrong") as cell, pytest.raises(Unreachable, match="answered with 401: log in first"):
        cell.jobs()


@pytest.mark.parametrize(
    ("url", "token", "text"),
    [
        ("ftp://host", "t", "is not a valid address"),
        ("http://example.org:8646", "t", "a token is sent only over https"),
        ("https://example.org:8646", "", "a token is expected"),
        ("https://example.org:8646", "a\r\nX: y", "a token is expected"),
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str, token: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Cell(url=url, token=token)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Cell(url="http://127.0.0.1:9", token="t", patience=0.1) as cell, pytest.raises(Unreachable) as fault:
        cell.jobs()
    assert str(fault.value) == "unable to contact the web server at http://127.0.0.1:9: Connection refused"
