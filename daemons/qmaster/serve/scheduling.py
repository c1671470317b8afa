"""Driving the scheduler: when to request orders, and with which events.

Owns the timing: a cycle runs as soon as a relevant event occurred and no cycle is running; later events are collected for
the next cycle, which waits a little longer in a stream of jobs (`cycle_pacing`). `schedule_interval` is the longest pause
(SC-1, SC-3).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress

from daemons.qmaster.master import Master
from daemons.qmaster.serve.cycle_pacing import YOUNG_S, CyclePacing, Key
from daemons.qmaster.spooling.text_file import TextFile
from daemons.qmaster.transaction import Transaction
from daemons.runtime.call_faults import describe_call_fault
from gridengine.protocols.mirroring import Measures
from gridengine.protocols.orders import decode_orders
from gridengine.state.events import encode_events

_log = logging.getLogger(__name__)
_RETRY_S = 0.3
MAX_WARNINGS = 20
"""Log lines about one run in the messages file."""
MAX_EVENTS = 10_000
"""Transactions that are collected before the scheduler gets a snapshot instead; with more jobs than this number, one
transaction for each job."""

CycleCall = Callable[[list[bytes] | None, int, list[bytes], float, bool], Awaitable[bytes]]
"""(parts of a snapshot or None, revision before the events, encoded events, now, monitored) -> encoded Orders, b"" to
request a snapshot."""

LOAD_BYTES = 2**20
"""Size of the parts in one call: the schedd needs a second for so many jobs, and Ray keeps no more in memory."""


def snapshot_calls(parts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Group the parts of a snapshot into calls."""
    some: list[bytes] = []
    size = 0
    for part in parts:
        if some and size + len(part) > LOAD_BYTES:
            yield some
            some, size = [], 0
        some.append(part)
        size += len(part)
    if some:
        yield some


class SchedulerDriver:
    """Feeds the schedd with events and the master with its orders."""

    def __init__(self, master: Master, call: CycleCall, flush: Callable[[], object], measures: Measures) -> None:
        self._master = master
        self._call = call
        self._flush = flush
        self._measures = measures
        self.note_activity: Callable[[], None] = lambda: None
        self._woken_at = 0.0
        self._wake, self._noted = asyncio.Event(), asyncio.Event()
        self.pacing = CyclePacing()
        self._clock: Callable[[], float] = lambda: 0.0  # the loop's clock, once the loop runs
        self._events: list[bytes] = []
        self._base = master.committed
        self._snapshot_due = True
        self._monitored = False
        common = master.reporting.path.parent
        self._schedule_file, self._run_log = TextFile(common / "schedule"), TextFile(common / "schedd_runlog")
        master.subscribers.append(self._on_commit)

    def _on_commit(self, transaction: Transaction) -> None:
        if transaction.revision <= self._base:
            return  # part of the snapshot that the scheduler has
        if len(self._events) >= max(MAX_EVENTS, len(self._master.state.jobs)):
            # no cycle for a long time (schedule_interval 0): a snapshot is cheaper than all these events
            self._events.clear()
            self._snapshot_due = True
        self._events.append(encode_events(transaction.events))
        self._note_for_pacing(transaction)
        if transaction.affected.may_start_jobs:
            self.wake()

    def _note_for_pacing(self, transaction: Transaction) -> None:
        """Note for the pacing which tasks and jobs of a transaction are new; long-running tasks have many transactions."""
        keys = {*transaction.affected.tasks, *((number, 0) for number in transaction.affected.jobs)}
        here = {key for key in keys if transaction.time - self._since(key) <= YOUNG_S}
        self.pacing.note(self._clock(), here, keys - here)
        self._noted.set()

    def _since(self, key: Key) -> float:
        """Epoch seconds since when a task runs, or a job waits; 0 if it does not."""
        job = self._master.state.jobs.get(key[0])
        if job is None:
            return 0.0
        if not key[1]:
            return job.submitted if job.pending else 0.0
        task = job.tasks.get(key[1])
        return task.start_time if task is not None else 0.0

    def wake(self) -> None:
        """Request a cycle, now or after the current cycle."""
        self._woken_at = self._woken_at or time.perf_counter()
        self._wake.set()

    def monitor(self) -> None:
        """Request a run at once that logs why jobs are not started (QF-35)."""
        self._monitored = True
        self.wake()

    async def run(self) -> None:
        """Run forever, on the event loop that commits transactions."""
        self._clock = clock = asyncio.get_running_loop().time
        while True:
            interval = self._master.state.scheduler.schedule_interval_s
            if interval <= 0:
                await asyncio.sleep(1)
                continue
            await asyncio.sleep(0)  # let other tasks run even if there is always something to schedule
            try:
                # `wait_for` would lose a cancellation that arrives together with the event
                async with asyncio.timeout(min(interval, self._pause)):
                    await self._wake.wait()
            except TimeoutError:
                pass
            await self._wait_in_burst()
            self.pacing.begin(clock())
            self._wake.clear()
            self.note_activity()
            woken_at, self._woken_at = self._woken_at, 0.0
            try:
                if await self.cycle() and woken_at:
                    self._measures.dispatch.note(time.perf_counter() - woken_at)
            except Exception as error:  # noqa: BLE001 - a lost schedd is restarted by Ray; the next cycle finds it
                _log.warning("no orders from the scheduler: %s", describe_call_fault(error))
                self._snapshot_due = True
                self.wake()
                await asyncio.sleep(_RETRY_S)

    _pause = 3600.0

    async def _wait_in_burst(self) -> None:
        """Wait for as long as more events are likely: no longer when all recent tasks have ended meanwhile."""
        while pause_s := self.pacing.pause_s(self._clock()):
            self._noted.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._noted.wait()

    async def cycle(self) -> bool:
        """Run one cycle. Returns whether it started a task."""
        master = self._master
        now = master.world().now
        if self._snapshot_due:
            # the snapshot contains all applied events; only later transactions follow as events
            self._flush()
            base, events, snapshot = master.state.revision, [], master.spool.parts(master.state)
            self._events.clear()
            self._base = base
        else:
            base, events, snapshot = self._base, self._events, None
            self._events = []
            self._base = max(base, master.committed)
        data = await self._call(snapshot, base, events, now, self._monitored)
        if not data:
            self._snapshot_due = True
            self.wake()
            return False
        self._snapshot_due = False
        orders, unreadable = decode_orders(data)
        for message in unreadable[:MAX_WARNINGS]:
            _log.warning("an order of the scheduler was left out: %s", message)
        for fault in orders.faults[:MAX_WARNINGS]:
            _log.warning("job %d cannot be scheduled: %s [%s]", fault.job_id, fault.reason, fault.cause)
        self._measures.cycle.note(orders.seconds)
        self._pause = max(0.05, orders.next_time - now) if orders.next_time else 3600.0
        before = master.state.revision
        taken = master.orders(orders)
        requested = len(orders.starts) + len(orders.suspends) + len(orders.give_up)
        requested += bool(orders.priorities or orders.tickets)
        self._flush()
        if orders.profile:
            _log.warning("scheduling run: %s", orders.profile)  # requested by the configuration at any loglevel (SC-11)
        if orders.schedule:
            self._schedule_file.append(orders.schedule)
        if orders.run_log:
            self._monitored = False
            self._run_log.append(orders.run_log)
        if taken < requested and before != orders.revision:
            self.wake()
        return bool(orders.starts)
