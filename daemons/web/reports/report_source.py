"""The source of reports: figures of the accounting file, read by one process at a time, and kept for some minutes.

Owns the cache, the queue and the limits. A visitor waits for seconds at most; the process goes on, and the next visit finds the
figures. Called by pages, the REST API and the monthly mail. Source: adr/0305.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from daemons.runtime import children
from daemons.runtime.cell import Cell
from daemons.runtime.daemon import module_command, module_environment
from daemons.web.metric_families import ANONYMOUS
from daemons.web.mirror import StateMirror
from gridengine.errors import RefusalError
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.usage.periods import Period
from gridengine.usage.report import as_rows
from gridengine.usage.report_form import Basis, Report, basis_of
from gridengine.usage.user_usage import UserUsage, usage_of

KEPT_S = 600.0
"""Seconds for which figures are used again."""
MOST_KEPT = 50
MOST_WAITING = 10
"""Reports that wait for the process; one more is refused."""
LONGEST_S = 900.0
"""Seconds that one process may take."""
PATIENCE_S = 5.0
"""Seconds that a page waits for its figures."""
_FAULT_KEPT_S = 10.0

Figures = dict[str, Any]
Run = Callable[[Figures], Awaitable[Figures]]
Query = Callable[[str, dict[str, Any], Caller], Awaitable[Answer]]


class ReportError(RefusalError):
    """The figures cannot be read; the text is the reason."""


class ReportSource:
    """The reports of one web server. `read`: answers a query; `run`: reads the file, as `run_reader`; `clock()`: epoch s."""

    def __init__(
        self, cell: Cell, mirror: StateMirror, read: Query, run: Run | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._cell, self._mirror, self._read_state, self._clock = cell, mirror, read, clock
        self._run = run or run_reader
        self._kept: dict[tuple[str, ...], tuple[float, asyncio.Task[Figures]]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    async def report(self, by: str, period: Period, before: Period, patience_s: float = PATIENCE_S) -> Report | None:
        """The report, None while it is being computed. Raises ReportError, NoQmasterError."""
        request = {"by": by, "periods": [period, before]}
        answer = await self._figures(("report", by, period.name), request, patience_s)
        if answer is None:
            return None
        request, figures = answer["request"], answer["figures"]
        period, before = (Period(*each) for each in request["periods"])
        table, table_before = map(as_rows, figures["tables"])
        return Report(
            by, period, before, table, table_before, figures["first"], figures["reaches_back"], figures["faults"],
            await self._basis(),
        )

    async def usage(self, user: str, patience_s: float = PATIENCE_S) -> UserUsage | None:
        """The usage of a user in the last days, None while it is being computed. Raises ReportError."""
        answer = await self._figures(("user", user), {"user": user, "now": self._clock()}, patience_s)
        return None if answer is None else usage_of(answer["figures"]["usage"])

    async def stop(self) -> None:
        """End the processes."""
        tasks = [task for _, task in self._kept.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _figures(self, key: tuple[str, ...], request: Figures, patience_s: float) -> Figures | None:
        """The request of a process and its answer, of this call or of an earlier call. Raises ReportError."""
        now = self._clock()
        self._kept = {key: kept for key, kept in self._kept.items() if now < kept[0] or not kept[1].done()}
        if key not in self._kept:
            if sum(not task.done() for _, task in self._kept.values()) > MOST_WAITING:
                raise ReportError("too many reports are being computed: try again in a minute")
            task = asyncio.get_running_loop().create_task(self._read(request))
            task.add_done_callback(lambda done: self._keep(key, done))
            self._kept[key] = (now + KEPT_S + LONGEST_S, task)
            for oldest in [known for known, (_, each) in self._kept.items() if each.done()][: len(self._kept) - MOST_KEPT]:
                del self._kept[oldest]
        _, task = self._kept[key]
        done, _ = await asyncio.wait([task], timeout=patience_s)
        return task.result() if done else None

    def _keep(self, key: tuple[str, ...], done: asyncio.Task[Figures]) -> None:
        """Keep the figures for a while, a failure for seconds."""
        failed = done.cancelled() or done.exception() is not None
        self._kept[key] = (self._clock() + (_FAULT_KEPT_S if failed else KEPT_S), done)

    async def _read(self, request: Figures) -> Figures:
        """Raises ReportError."""
        async with self._one_at_a_time:
            path = str(self._cell.common / "accounting")
            return {"request": request, "figures": await self._run(request | {"path": path})}

    async def _basis(self) -> Basis:
        status: Any = (await self._read_state("status", {"share_tree": {}}, ANONYMOUS)).data
        slots = ((name, config.slots) for name, config in self._mirror.state.configs.items())
        return basis_of(slots, status["share_tree"])


async def run_reader(request: Figures) -> Figures:
    """The answer of a process to a request. Raises ReportError."""
    pipe = asyncio.subprocess.PIPE
    command = module_command("daemons.web.reports.report_reader")
    try:
        child = await children.begin(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=module_environment())
    except OSError as error:
        raise ReportError(f"cannot read the accounting file: {error.strerror}") from None
    try:
        async with asyncio.timeout(LONGEST_S):
            out, err = await child.communicate(msgspec.json.encode(request))
    except TimeoutError:
        raise ReportError(f"the accounting file was not read within {LONGEST_S / 60:.0f} minutes") from None
    finally:
        await children.end(child)
    if child.returncode:
        reason = err.decode(errors="replace").strip().rpartition("\n")[2]
        raise ReportError(reason or f"the process that reads the accounting file ended with status {child.returncode}")
    figures: Figures = msgspec.json.decode(out)
    return figures
