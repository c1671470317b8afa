"""Forecasts in this process: a stand-in for the program `python -m daemons.forecast`, for tests that start no programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import partial
from typing import Any

import msgspec

from daemons.forecast.answers import answer
from daemons.forecast.calibration import Calibration
from daemons.forecast.change import ChangeEffects
from daemons.forecast.copies import OnCopy, Reached, Work
from daemons.forecast.run_times import RunTimes
from daemons.forecast.start import ForecastBasis
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import Master
from daemons.qmaster.serve.requests import forecasting
from gridengine.errors import InvalidValueError
from gridengine.protocols.forecasting import ForecastQuestion
from gridengine.protocols.gdi.requests import Answer, Caller, ChangeObjects
from gridengine.state.apply import apply
from gridengine.state.events import decode_events
from gridengine.state.parts import pack_jobs, pack_state, whole_state
from gridengine.state.state import State


def copies(make_state: Callable[[], State]) -> OnCopy:
    """Forward runs at once and in this process, each on a state of its own."""

    def begin(work: Work) -> Callable[[], Reached]:
        outcome = work(make_state())
        return lambda: outcome

    return begin


def copies_of(state: State) -> OnCopy:
    """Forward runs on copies of a state."""
    parts = [pack_state(state), pack_jobs(list(state.jobs.values()))]
    return copies(partial(whole_state, parts))


def basis(run_times: RunTimes, now: float, zone: tzinfo = UTC, calibration: Calibration | None = None) -> ForecastBasis:
    """What forecasts are made from; without a calibration if none is given."""
    return ForecastBasis(run_times, calibration or Calibration([]), now, zone)


def ask_forecast(master: Master, body: dict[str, Any], caller: Caller) -> Answer:
    """The answer of a master to the request `forecast` of this caller; `forecasting.ask_process` is replaced before."""

    async def decide() -> Decision:
        changes = body.get("changes", [])
        return master.decide("config_change", ChangeObjects(changes), caller) if changes else Decision()

    return asyncio.run(forecasting.Forecasting().answer(master, body, decide))


async def ask_thread(spool: str, question: bytes) -> Answer:
    """The answer to an encoded question, as of `forecasting.ask_process`; without ended tasks to learn from."""
    return await asyncio.to_thread(_answer, question)


def _answer(question: bytes) -> Answer:
    asked = msgspec.msgpack.decode(question, type=ForecastQuestion)
    try:
        data: dict[str, Any] = _data(asked)
    except InvalidValueError as fault:
        return Answer(1, [("error", f"denied: {fault}")])
    return Answer(data=msgspec.json.decode(msgspec.json.encode(data)))


def _data(asked: ForecastQuestion) -> dict[str, Any]:
    make_state, events, base = partial(whole_state, asked.parts), decode_events(asked.events), basis(RunTimes([]), asked.now)
    if asked.body["about"] == "change":
        return ChangeEffects(make_state, events, base).all(copies_of if asked.body["starts"] else None)

    def state() -> State:
        """The state with the job that is not submitted."""
        made = make_state()
        for event in events:
            apply(made, event)
        return made

    return answer(state(), copies(state), base, asked.body)
