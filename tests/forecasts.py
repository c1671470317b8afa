"""Forecasts in this process: a stand-in for the program `python -m daemons.forecast`, for tests that start no programs."""

from __future__ import annotations

import asyncio
from datetime import UTC
from functools import partial
from typing import Any

import msgspec

from daemons.forecast.answers import answer
from daemons.forecast.run_times import RunTimes
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import Master
from daemons.qmaster.serve.requests import forecasting
from gridengine.errors import InvalidValueError
from gridengine.protocols.forecasting import ForecastQuestion
from gridengine.protocols.gdi.requests import Answer, Caller, ChangeObjects
from gridengine.state.events import decode_events
from gridengine.state.parts import whole_state


def ask_forecast(master: Master, body: dict[str, Any], caller: Caller) -> Answer:
    """The answer of a master to the request `forecast` of this caller; `forecasting.ask_process` is replaced before."""

    async def decide(changes: ChangeObjects) -> Decision:
        return master.decide("config_change", changes, caller)

    return asyncio.run(forecasting.Forecasting().answer(master, body, decide))


async def ask_thread(spool: str, question: bytes) -> Answer:
    """The answer to an encoded question, as of `forecasting.ask_process`; without ended tasks to learn from."""
    return await asyncio.to_thread(_answer, question)


def _answer(question: bytes) -> Answer:
    asked = msgspec.msgpack.decode(question, type=ForecastQuestion)
    try:
        data = answer(partial(whole_state, asked.parts), RunTimes([]), asked.body, asked.now, UTC, decode_events(asked.events))
    except InvalidValueError as fault:
        return Answer(1, [("error", f"denied: {fault}")])
    return Answer(data=msgspec.json.decode(msgspec.json.encode(data)))
