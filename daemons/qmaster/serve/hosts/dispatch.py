"""Delivery of instructions to exec hosts: one loop a host, one call at a time, always from the state.

Owns sending and retrying; `batches` composes the content. The call to a host that does not answer is repeated with a
growing pause while there are instructions for it; the state contains the delivered instructions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container

from daemons.qmaster.master import Master
from daemons.qmaster.serve.hosts.batches import Batches
from daemons.qmaster.transaction import Transaction
from daemons.runtime.backoff import Backoff
from daemons.runtime.call_faults import describe_call_fault
from daemons.runtime.log_once import LogOnce
from gridengine.protocols.delivery import decode, encode

_log = logging.getLogger(__name__)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
_FLUSH_DELAY_S = 0.02
_LONGEST_PAUSE_OF_DOWN_HOST_S = 60.0
"""The longest pause between two calls to a host that is down: thousands of hosts that are down must not cost as much as
thousands that work."""

DeliverCall = Callable[[str, bytes], Awaitable[bytes]]
"""(host, encoded Batch of instructions) -> encoded Batch of acknowledgements."""


async def _return_at_once() -> None:
    """Used by a qmaster without replication: data on its own disk is durable."""



class Dispatcher:
    """One task per exec host that ever got an instruction. `inventoried`: hosts whose inventory was taken. `durable()` returns
    when all decisions up to now are durable."""

    def __init__(
        self,
        master: Master,
        call: DeliverCall,
        flush: Callable[[], None],
        inventoried: Container[str],
        durable: Callable[[], Awaitable[None]] = _return_at_once,
    ) -> None:
        self._master = master
        self._call = call
        self._flush, self._durable = flush, durable
        self._dirty: dict[str, asyncio.Event] = {}
        self._returned: dict[str, asyncio.Event] = {}
        self._batches = Batches(master, inventoried)
        self._logged = LogOnce()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        master.subscribers.append(self._on_commit)

    def _on_commit(self, transaction: Transaction) -> None:
        affected = transaction.affected
        for job_id in affected.altered:
            self._batches.altered(job_id)
        for host in sorted({*affected.to_notify, *(self._dirty if "configuration" in affected.kinds else ())}):
            self.wake(host)

    def wake(self, host: str) -> None:
        """There may be instructions for this host."""
        if self._stopped:
            return
        if host not in self._dirty:
            self._dirty[host], self._returned[host] = asyncio.Event(), asyncio.Event()
            task = asyncio.get_running_loop().create_task(self._serve(host))
            self._tasks.add(task)
        self._dirty[host].set()

    def note_reconnection(self, host: str) -> None:
        """The host's execd is new: configure it again."""
        self._batches.note_reconnection(host)
        self.wake(host)
        self.inventoried(host)

    def inventoried(self, host: str) -> None:
        """The inventory of the host was taken: actions that failed before are retried at once."""
        if host in self._returned:
            self._returned[host].set()

    def _flush_later(self) -> None:
        """An answer that is lost in a crash is repeated by its host: it is written together with the next data, which may
        be the end of the task."""
        asyncio.get_running_loop().call_later(_FLUSH_DELAY_S, self._flush_remaining)

    def _flush_remaining(self) -> None:
        if self._master.pending:
            self._flush()

    async def stop(self) -> None:
        """End all loops; instructions that were not delivered remain pending in the state."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, host: str) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            await self._dirty[host].wait()
            self._dirty[host].clear()
            self._returned[host].clear()
            try:
                while await self.deliver(host):
                    pass
                backoff.reset()
                self._logged.clear(host)
            except Exception as error:  # noqa: BLE001 - after any failure the state still has the pending instructions
                self._warn_once(host, describe_call_fault(error))
                longest_s = LONGEST_PAUSE_S if self._is_up(host) else _LONGEST_PAUSE_OF_DOWN_HOST_S
                await self._wait_for_return(host, backoff.next_s(longest_s))
                self._dirty[host].set()

    async def _wait_for_return(self, host: str, seconds: float) -> None:
        """Wait for a while, or until the host is back."""
        try:
            async with asyncio.timeout(seconds):
                await self._returned[host].wait()
        except TimeoutError:
            pass

    def _is_up(self, host: str) -> bool:
        known = self._master.state.hosts.get(host)
        return known is not None and known.up

    def _warn_once(self, host: str, reason: str) -> None:
        """Log why a host cannot be reached, once while the reason stays the same. A host that is down is not logged."""
        if self._is_up(host) and self._logged.is_new(reason, host):
            _log.warning("cannot reach execd on host %s: %s", host, reason)

    async def deliver(self, host: str) -> bool:
        """Send the pending instructions. Returns whether there may be more. Raises LookupError: the host cannot carry any out
        now."""
        batch = self._batches.compose(host)
        if not batch.instructions:
            return False
        noted = self._batches.record_doubt(batch)
        if self._master.pending:
            self._flush()
        if noted:
            batch = self._batches.compose(host)
        await self._durable()  # no instruction is sent that a crash of this process, or of this host, could undo
        answer = decode(await self._call(host, encode(batch)))
        if answer.refused:
            if answer.master[0] > batch.master[0]:
                raise LookupError("it obeys a later qmaster")
            return True  # the host has accepted a later batch than this batch
        self._batches.apply_answer(host, batch, answer.acknowledgements)
        self._flush_later()
        if all(each.again for each in answer.acknowledgements):
            raise LookupError(answer.acknowledgements[0].reason)
        if not any(each.ok or each.needs_script for each in answer.acknowledgements):
            # no progress: the tasks are just ending, or the host cannot act; reports will follow
            await asyncio.sleep(FIRST_PAUSE_S)
        return True
