"""Reports of the host to the qmaster: gathered, sent in one call at a time, kept until they are acknowledged.

Owns order, batching and repetition of reports. Pure but for waiting; sending comes in as a function, so it knows
neither Ray nor the qmaster. Called by `tasks` and the actor. Source: docs/architecture.md section 5.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from daemons.execd.attempt_log import AttemptLog
from daemons.execd.report_delay import ReportDelay
from daemons.runtime.backoff import Backoff
from daemons.runtime.call_faults import describe_call_fault
from gridengine.errors import RefusalError
from gridengine.protocols.delivery import Ended, Load, Report, UsageReport, Verdict, decode, encode
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.values.task_key import TaskKey
from gridengine.values.units import INFINITY

_log = logging.getLogger(__name__)

#: seconds between repetitions: from the first to the last
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 3.0
#: reports in one call
_BATCH = 5000


class _ReportsRefusedError(RefusalError):
    """The reports were refused, or the answer is not of the qmaster that this host obeys."""


class Reporter:
    """Reports that are being sent. `send(data)` returns the verdicts' bytes or raises; `full()` makes the first reports after a
    (re)start of either side: the inventory and all load values. `attempt_log` orders reports and checks the answers.
    `on_acknowledged(keys)`: the qmaster has the ends of these tasks; `on_forget(keys)`: tasks that are to be removed;
    `on_orphans(keys)`: tasks that the qmaster does not know; `on_unknown(hosts)`: load was reported of hosts that do not exist.
    """

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[bytes]],
        attempt_log: AttemptLog,
        full: Callable[[], list[Report]],
        on_acknowledged: Callable[[list[TaskKey]], None],
        on_forget: Callable[[list[TaskKey]], None],
        on_orphans: Callable[[list[TaskKey]], None],
        on_unknown: Callable[[list[str]], None],
    ) -> None:
        self._send, self._attempt_log, self._full = send, attempt_log, full
        self._on_acknowledged, self._on_forget = on_acknowledged, on_forget
        self._on_orphans, self._on_unknown = on_orphans, on_unknown
        self._pending: list[Report] = []
        self._full_requested = True  # this side has just started
        self._news = asyncio.Event()
        self._news.set()
        self._delay = ReportDelay()
        self._inventoried = asyncio.Event()
        self._answered_at = -INFINITY  # when the last reports that were answered had been sent
        self._in_touch_s = INFINITY

    def configure(self, configuration: HostConfiguration) -> None:
        """Tasks of a host that is silent for reschedule_unknown may be placed elsewhere."""
        self._in_touch_s = configuration.reschedule_unknown_s or INFINITY

    def add(self, *reports: Report) -> None:
        """Send these reports soon: at once, or with other reports that are likely to come (`ReportDelay`)."""
        self._pending += reports
        loop = asyncio.get_running_loop()
        delay_s = min((self._delay.delay_s(report, loop.time()) for report in reports), default=0.0)
        if delay_s:
            loop.call_later(delay_s, self._news.set)
        else:
            self._news.set()

    def send_everything(self) -> None:
        """Send the inventory and a full load report again: the qmaster has (re)started, or may have taken the host for lost."""
        self._full_requested = True
        self._inventoried.clear()
        self._news.set()

    async def wait_until_inventoried(self) -> None:
        """Return at a moment when the qmaster has answered the inventory. A task that started while an inventory is being sent
        would not be in it, and the qmaster would take it for lost.

        If no report was answered for so long that a task may be placed elsewhere, the inventory is sent first: instructions
        from before its answer are no longer obeyed, including instructions that are still being delivered.
        """
        if self._inventoried.is_set() and asyncio.get_running_loop().time() - self._answered_at > self._in_touch_s:
            self.send_everything()
        while not self._inventoried.is_set():
            await self._inventoried.wait()

    async def run(self) -> None:
        """Send forever; reports that could not be delivered are repeated, with pauses that grow to 3 s."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            await self._news.wait()
            self._news.clear()
            if not self._pending and not self._full_requested:
                continue  # sent together with others
            if await self._deliver():
                backoff.reset()
            else:
                await asyncio.sleep(backoff.next_s())
                self._news.set()

    async def _deliver(self) -> bool:
        first = self._full() if self._full_requested else []
        self._full_requested = False
        batch, self._pending = self._pending[:_BATCH], self._pending[_BATCH:]
        if self._pending:
            self._news.set()
        if first:
            batch = [report for report in batch if not isinstance(report, Load)]  # `first` has all values
        sent_at = asyncio.get_running_loop().time()
        try:
            answer = decode(await self._send(encode(self._attempt_log.make_batch([*first, *batch]))))
            if not self._attempt_log.accept_answer(answer, with_inventory=bool(first)):
                raise _ReportsRefusedError("another qmaster is there, or these reports came late")
        except Exception as error:  # any exception of Ray: qmaster, its node or the network is down
            _log.info("qmaster cannot be reached, %d reports wait: %s", len(batch), describe_call_fault(error))
            # reports that came meanwhile are newer; usage and load will be measured again
            self._pending = [report for report in batch if not isinstance(report, Load | UsageReport)] + self._pending
            self._full_requested = True
            return False
        self._answered_at = sent_at
        verdicts = answer.verdicts
        if first and not self._full_requested:
            self._inventoried.set()
        return self._take(batch, verdicts[len(first) :], verdicts[: len(first)])

    def _take(self, batch: list[Report], verdicts: list[Verdict], on_first: list[Verdict]) -> bool:
        refused: list[Report] = []
        acknowledged: list[TaskKey] = []
        for report, verdict in zip(batch, verdicts, strict=False):
            if not isinstance(report, Ended):
                continue
            if report.key in verdict.orphans:
                continue
            if verdict.ok:
                acknowledged.append(report.key)
            else:
                refused.append(report)
        self._on_acknowledged(acknowledged)
        if orphans := [key for verdict in (*on_first, *verdicts) for key in verdict.orphans]:
            self._on_orphans(orphans)
        forget = [key for verdict in (*on_first, *verdicts) for key in verdict.forget]
        if forget:
            self._on_forget(forget)
        unknown = [host for verdict in (*on_first, *verdicts) for host in verdict.unknown_hosts]
        if unknown:
            self._on_unknown(unknown)
        self._pending = refused + self._pending
        return not refused
