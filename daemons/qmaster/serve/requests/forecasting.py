"""The request `forecast`: answered by a process of its own, from a copy of the state.

Owns the process, its limit of time, and the lock by which they run in sequence. The answer itself is made by
`daemons.forecast`, an extension, which runs the scheduler's code on that copy. A submission or a change of the configuration is
decided by the qmaster and not recorded; the process gets its events. Called by `endpoints`. Source: adr/0310, adr/0330, adr/0335.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import Master
from daemons.runtime import children
from daemons.runtime.daemon import module_command
from gridengine.protocols.forecasting import ForecastQuestion
from gridengine.protocols.gdi.requests import Answer
from gridengine.state.events import encode_events
from gridengine.state.machines.job import JobSubmitted

Body = dict[str, Any]
Decide = Callable[[], Awaitable[Decision]]
_log = logging.getLogger(__name__)
_LONGEST_S = 50.0
"""Seconds after which a command would have given up."""
SAMPLE_EVERY_S = 1800.0
"""Seconds between two samples of forecasts, which are compared with the starts that follow (adr/0330)."""
MOST_WAITING = 20
"""Questions that wait for the process; a further question is refused."""


async def nothing() -> Decision:
    """The decision where nothing is in question."""
    return Decision()


class Forecasting:
    """Shared by all requests of a master."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0
        self._sampling: asyncio.Task[None] | None = None

    def start(self, master: Master, is_leader: Callable[[], bool]) -> None:
        """Have samples taken from time to time, on the running event loop."""
        self._sampling = asyncio.get_running_loop().create_task(self._sample(master, is_leader))

    async def stop(self) -> None:
        """End the samples."""
        if self._sampling is not None:
            self._sampling.cancel()
            await asyncio.gather(self._sampling, return_exceptions=True)

    async def _sample(self, master: Master, is_leader: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(SAMPLE_EVERY_S)
            if is_leader() and any(job.pending for job in master.state.jobs.values()):
                answer = await self.answer(master, {"about": "sample", "jobs": []}, nothing)
                if answer.status:
                    _log.warning("no forecasts are compared with starts: %s", answer.answers[0][1])

    async def answer(self, master: Master, body: Body, decide: Decide) -> Answer:
        """The answer for the present state; a refusal while too many questions wait.

        `decide()`: on the submission or the change in question; a refusal is the answer.
        """
        if self._waiting >= MOST_WAITING:
            return Answer(1, [("error", "too many forecasts are being computed: try again in a minute")])
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                decision = await decide()
                if decision.refused or decision.answer.status:
                    return decision.answer
                # nothing may change the state between the decision and the copy
                submitted = [str(event.job.id) for event in decision.events if isinstance(event, JobSubmitted)]
                asked = {"about": body["about"], "jobs": submitted or body["jobs"], "starts": body.get("starts", False)}
                parts, events = master.spool.parts(master.state), encode_events(decision.events)
                question = ForecastQuestion(asked, parts, master.world().now, events)
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
