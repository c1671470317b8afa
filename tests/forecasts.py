"""Forecasts in this process: a stand-in for the program `python -m daemons.forecast`, for tests that start no programs."""

from __future__ import annotations

import asyncio
from datetime import UTC
from functools import partial

import msgspec

from daemons.forecast.answers import answer
from daemons.forecast.run_times import RunTimes
from gridengine.errors import InvalidValueError
from gridengine.protocols.forecasting import ForecastQuestion
from gridengine.protocols.gdi.requests import Answer
from gridengine.state.parts import whole_state


async def ask_thread(spool: str, question: bytes) -> Answer:
    """The answer to an encoded question, as of `forecasting.ask_process`; without ended tasks to learn from."""
    return await asyncio.to_thread(_answer, question)


def _answer(question: bytes) -> Answer:
    asked = msgspec.msgpack.decode(question, type=ForecastQuestion)
    try:
        data = answer(partial(whole_state, asked.parts), RunTimes([]), asked.body, asked.now, UTC)
    except InvalidValueError as fault:
        return Answer(1, [("error", f"denied: {fault}")])
    return Answer(data=msgspec.json.decode(msgspec.json.encode(data)))
