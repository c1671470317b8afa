"""The request `forecast`: answered by a process of its own, from a copy of the state.

Owns the process, its limit of time, and the lock by which they run in sequence. The answer itself is made by
`daemons.forecast`, an extension, which runs the scheduler's code on that copy. A change of the configuration is decided here, as
`config_change` decides it, and not recorded; the process gets its events. Called by `endpoints`. Source: adr/0310, adr/0335.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import Master
from daemons.runtime import children
from daemons.runtime.daemon import module_command
from gridengine.protocols.forecasting import ForecastQuestion
from gridengine.protocols.gdi.requests import Answer, ChangeObjects, ObjectChange
from gridengine.state.events import encode_events

Body = dict[str, Any]
Decide = Callable[[ChangeObjects], Awaitable[Decision]]
"""Decides on a change with the rights of the caller; nothing is recorded."""
_LONGEST_S = 50.0
"""Seconds after which a command would have given up."""
MOST_WAITING = 20
"""Questions that wait for the process; a further one is refused."""


class Forecasting:
    """Shared by all requests of a master."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0

    async def answer(self, master: Master, body: Body, decide: Decide) -> Answer:
        """The answer for the present state; a refusal while too many questions wait, or of the change in question."""
        if self._waiting >= MOST_WAITING:
            return Answer(1, [("error", "too many forecasts are being computed: try again in a minute")])
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                changes = [ObjectChange(**each) for each in body.pop("changes", ())]
                decision = await decide(ChangeObjects(changes)) if changes else Decision()
                if decision.answer.status:
                    return Answer(decision.answer.status, decision.answer.answers)
                # nothing may change the state between the decision and the copy
                parts, events = master.spool.parts(master.state), encode_events(decision.events)
                question = ForecastQuestion(body, parts, master.world().now, events)
                return await ask_process(str(master.spool.path), msgspec.msgpack.encode(question))
        finally:
            self._waiting -= 1


async def ask_process(spool: str, question: bytes) -> Answer:
    """The answer of a process to an encoded `ForecastQuestion`. `spool`: path of the spool, which the process reads."""
    pipe = asyncio.subprocess.PIPE
    try:
        child = await children.begin(*module_command("daemons.forecast"), spool, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        return Answer(1, [("error", f"cannot forecast: {error.strerror}")])
    try:
        async with asyncio.timeout(_LONGEST_S):
            out, err = await child.communicate(question)
    except TimeoutError:
        return Answer(1, [("error", f"the forecast did not end within {_LONGEST_S:.0f} s")])
    finally:
        await children.end(child)
    if child.returncode:
        reason = err.decode(errors="replace").strip().rpartition("\n")[2]
        text = reason if reason.startswith("denied: ") else f"cannot forecast: {reason or child.returncode}"
        return Answer(1, [("error", text)])
    return Answer(data=msgspec.json.decode(out))
