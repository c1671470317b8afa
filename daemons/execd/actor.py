"""The Ray actor of an exec host with a node of its own.

Owns the calls through Ray alone. A plain class with async methods; the qmaster makes it an actor (`ray.remote(ExecdActor)`),
named `execd-HOST`, pinned to the host's node. Source: docs/architecture.md section 5.
"""

from __future__ import annotations

import asyncio
from typing import Any

import ray

from daemons.execd.exec_host import ExecHost
from daemons.runtime.daemon import die_with_parent
from daemons.runtime.ray_session import NAMESPACE

CALL_S = 30.0
"""Longest time that a call to the qmaster may take, seconds."""


class QmasterCalls:
    """Calls to the actor `qmaster`; its handle is kept while the calls succeed."""

    def __init__(self) -> None:
        self._qmaster: Any = None

    async def report(self, host: str, data: bytes) -> bytes:
        """Pass an encoded Batch of reports of a host on; returns the verdicts. Raises TimeoutError and the exceptions of Ray."""
        answer: bytes = await self._call("report", host, data)
        return answer

    async def state(self, data: bytes) -> bool:
        """Pass a `Statement` of a rack's node on; returns whether it is taken. Raises as `report`."""
        return bool(await self._call("state_rack", data))

    async def _call(self, method: str, *arguments: Any) -> Any:
        try:
            if self._qmaster is None:
                # blocks for a moment, which is why the handle is kept
                self._qmaster = ray.get_actor("qmaster", namespace=NAMESPACE)
            async with asyncio.timeout(CALL_S):
                return await getattr(self._qmaster, method).remote(*arguments)
        except Exception:
            self._qmaster = None
            raise


class ExecdActor(ExecHost):
    """One exec host. `host`: its unique name in the cell."""

    def __init__(self, host: str, sge_root: str, sge_cell: str) -> None:
        die_with_parent()  # a raylet that was killed must not leave a second actor behind
        calls = QmasterCalls()
        super().__init__(host, sge_root, sge_cell, lambda data: calls.report(host, data))
