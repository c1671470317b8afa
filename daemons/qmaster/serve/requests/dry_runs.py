"""Dry runs: the decisions that requests would get now, of which nothing is recorded.

Owns the way of a request to its decision without a record. Called by `endpoints`, for the request `dry_run` and for forecasts of
jobs that are not submitted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec

from daemons.qmaster.decide import DECISIONS
from daemons.qmaster.decision import Decision
from gridengine.protocols.gdi.requests import REQUESTS, Answer, Caller, RequestBody, Submit, malformed

LookedUp = Mapping[str, list[int]]
Verify = Callable[[Submit, Caller], Awaitable[Submit | Answer]]
"""The submission as a server verifier leaves it, or its refusal."""


class DryRuns:
    """`look_up`: resolves predecessors. `parts`: the slices of a request, in turn with other requests. `decide`: no record."""

    def __init__(
        self,
        verify: Verify,
        look_up: Callable[[RequestBody], Awaitable[LookedUp]],
        parts: Callable[[RequestBody, Caller], AsyncIterator[RequestBody]],
        decide: Callable[[str, RequestBody, Caller, LookedUp], Awaitable[Decision]],
    ) -> None:
        self._verify, self._look_up, self._parts, self._decide = verify, look_up, parts, decide

    async def of(self, name: str, fields: dict[str, Any], caller: Caller) -> Decision:
        """The decision on a request of these fields. Raises InvalidValueError."""
        if name not in DECISIONS:
            return Decision(Answer(1, [("error", f"denied: there is no dry run of {name}")]))
        try:
            request = msgspec.convert(fields, REQUESTS[name])
        except msgspec.ValidationError as error:
            return Decision(malformed(name, error))
        if isinstance(request, Submit):
            verified = await self._verify(request, caller)
            if isinstance(verified, Answer):
                return Decision(verified)
            request = verified
        looked_up, found = await self._look_up(request), Decision()
        async for part in self._parts(request, caller):
            decision = await self._decide(name, part, caller, looked_up)
            found.answer.answers += decision.answer.answers
            found.answer.status = found.answer.status or decision.answer.status
            found.answer.data = decision.answer.data
            found.events += decision.events
            if decision.refused:
                break
        return found
