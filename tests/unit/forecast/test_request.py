"""The request `forecast` in the qmaster: one process at a time, and a bound of questions that wait."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemons.qmaster.serve.requests import forecasting
from daemons.qmaster.serve.requests.forecasting import MOST_WAITING, Forecasting, nothing
from gridengine.protocols.gdi.requests import Answer
from tests.harness import Cell


@pytest.mark.statement("GD-10")
def test_questions_are_answered_in_turn_and_too_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell, running = Cell(tmp_path), []

    async def play() -> list[Answer]:
        go_on, requests = asyncio.Event(), Forecasting()

        async def ask(spool: str, question: bytes) -> Answer:
            running.append(question)
            assert len(running) == 1
            await go_on.wait()
            running.clear()
            return Answer()

        monkeypatch.setattr(forecasting, "ask_process", ask)
        body = {"about": "order", "jobs": []}
        asked = [asyncio.create_task(requests.answer(cell.master, body, nothing)) for _ in range(MOST_WAITING)]
        while not running:
            await asyncio.sleep(0)
        refused = await requests.answer(cell.master, body, nothing)
        go_on.set()
        return [refused, *await asyncio.gather(*asked), await requests.answer(cell.master, body, nothing)]

    refused, *answered = asyncio.run(play())
    assert (refused.status, refused.answers[0][1]) == (1, "too many forecasts are being computed: try again in a minute")
    assert [each.status for each in answered] == [0] * (MOST_WAITING + 1)
