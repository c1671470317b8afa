"""The qmaster's service: requests in, answers out, and the loops that keep the cluster moving; no Ray in it.

Owns the event loop's tasks: group commit, timers, the scheduler's driver, dispatch to hosts. The calls
to the schedd and to the execds are `ServiceCallbacks`, so that the actor uses Ray and tests use fakes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from daemons.qmaster.master import Master
from daemons.qmaster.serve.file_writer import FileWriter
from daemons.qmaster.serve.hosts.dispatch import Dispatcher
from daemons.qmaster.serve.hosts.joining import JoinRequests
from daemons.qmaster.serve.hosts.known_hosts import KeyOf
from daemons.qmaster.serve.hosts.report_sequencer import ReportSequencer
from daemons.qmaster.serve.liveness import EVENTS, MAIN, SCHEDULER, TIMER, WORKER
from daemons.qmaster.serve.replication.replicas_in_sync import Replication
from daemons.qmaster.serve.requests.endpoints import ENDPOINTS, Requests
from daemons.qmaster.serve.requests.gdi_server import GdiServer
from daemons.qmaster.serve.requests.refused_requests import note_refusal
from daemons.qmaster.serve.scheduling import SchedulerDriver
from daemons.qmaster.serve.service_callbacks import ServiceCallbacks
from daemons.qmaster.serve.spool_space import SpoolSpace
from daemons.qmaster.serve.streams.event_clients import EventClients
from daemons.qmaster.serve.streams.job_waiters import JobWaiters
from daemons.qmaster.serve.streams.mirrors import Mirrors
from daemons.qmaster.serve.streams.sessions import Sessions
from daemons.qmaster.serve.streams.stream_endpoints import LongLivedStreams
from daemons.qmaster.serve.streams.task_end_streams import TaskEndStreams
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.call_faults import NotServing
from daemons.runtime.cell import USUAL_LIMITS, Limits
from daemons.runtime.log_throttle import LogThrottle
from daemons.runtime.mail_sender import MailSender
from daemons.runtime.messages import about
from gridengine.errors import plain_fault
from gridengine.protocols.delivery import Batch, Inventory, Load, decode, encode
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.protocols.mirroring import HEARTBEAT_S, Measures

_log = logging.getLogger(__name__)
TICK_S = 0.25
_AFTER_A_BUG_S = 5.0


class Service:
    """A running qmaster over a master. `replication`: where shadow hosts must have a transaction before it is announced."""

    def __init__(self, master: Master, callbacks: ServiceCallbacks, replication: Replication | None = None) -> None:
        self.master = master
        self._callbacks = callbacks
        self._replication = replication
        if replication is not None:
            master.replicate(replication.announceable_commit)
            replication.on_progress = self._announce
        self._spool_space = SpoolSpace(master.spool)
        self._flush_due = False
        self._durable: list[tuple[int, asyncio.Future[None]]] = []
        self._measures = Measures()
        self._job_waiters = JobWaiters(master, self.persisted, self.durable)
        self._task_ends = TaskEndStreams(master, self.persisted, self.durable)
        self._mirrors = Mirrors(master, self._measures, self.durable)
        self._tasks: list[asyncio.Task[None]] = []
        self.driver = SchedulerDriver(master, callbacks.cycle, self.flush, self._measures)
        self._report_sequencer = ReportSequencer(master.incarnation)
        self.dispatcher = Dispatcher(
            master, self._deliver, self.flush, self._report_sequencer.inventoried, self.durable
        )
        self.event_clients = EventClients(master, self.durable)
        self._gdi: GdiServer | None = None
        self._mail: MailSender | None = None
        self._writer: FileWriter | None = None
        streams = LongLivedStreams(self.event_clients, self._job_waiters, self._task_ends, self._mirrors)
        self._refusals = LogThrottle(lambda: master.world().steady)
        self.requests = Requests(master, callbacks, self.durable, self.driver, streams, self._spool_space)
        self._liveness = self.requests.liveness
        self._liveness.writing = lambda: len(self._durable)
        self.driver.note_activity = partial(self._liveness.note_activity, SCHEDULER)
        master.subscribers += (self._job_waiters.committed, self._task_ends.committed)

    async def start(
        self,
        socket: Path,
        host: str,
        key_of: KeyOf,
        addresses: Sequence[str] = (),
        port: int = 0,
        tls: Any = None,
        limits: Limits = USUAL_LIMITS,
        join_requests: JoinRequests | None = None,
    ) -> None:
        """Serve at the Unix socket and, with a TLS context, at a port of `addresses`. The rest: see `GdiServer`."""
        long_lived = {row.name for row in ENDPOINTS.values() if row.is_long_lived}
        self._gdi = GdiServer(self.answer, self.requests.streams, long_lived, host, key_of, limits, self.is_leader, join_requests)
        self._liveness.port, self._liveness.connections = port, self._gdi.connections
        self.requests.sessions = Sessions(key_of)
        self._mail = MailSender(lambda: self.master.state.configuration().mailer)
        self.master.post = self._mail.send
        self._writer = FileWriter()
        self.master.write_by(self._writer.carry_out)
        self.begin()
        self.requests.forecasting.start(self.master, self.is_leader)
        await self._gdi.start(socket, addresses, port, tls)

    def begin(self) -> None:
        """Start the periodic work, on the running event loop: at once, or when the spool has space for its writes."""
        if self._spool_space.check():
            self._begin_loops()
        else:
            self._tasks = [asyncio.get_running_loop().create_task(self._begin_with_space())]

    async def _begin_with_space(self) -> None:
        await self._spool_space.wait()
        self._begin_loops()

    def _begin_loops(self) -> None:
        loop = asyncio.get_running_loop()
        work = (self.driver.run(), self._timers(), self._send_heartbeats())
        self._tasks = [loop.create_task(each) for each in work]
        if self._replication is not None:
            self._replication.start()
        for name in self.master.state.hosts:
            self.dispatcher.wake(name)

    async def stop(self) -> None:
        """End cleanly: nothing acknowledged is left unwritten."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.dispatcher.stop()
        if self._mail is not None:
            await self._mail.stop()
        await self.requests.verifier.stop()
        await self.requests.forecasting.stop()
        if self._gdi is not None:
            await self._gdi.stop()
        self.flush()
        if self._replication is not None:
            await self._replication.wait_for_shadows()
        if self._writer is not None:
            await self._writer.stop()
        self._compact(ends=True)
        if self._replication is not None:
            await self._replication.stop()
        self.master.spool.close()

    # --- durability --------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write all decisions so far in one commit, and resolve the waiters for it."""
        self._flush_due = False
        began = time.perf_counter()
        try:
            wrote = self.master.flush()
        except (SpoolError, OSError) as error:
            self._give_up(error)
        if wrote:
            self._liveness.note_activity(WORKER)
            self._measures.commit.note(time.perf_counter() - began)
        self._answer_ready()

    def _give_up(self, error: Exception) -> NoReturn:
        """Memory and disk may differ now: the only safe way is a restart from disk."""
        _log.critical("%s; the qmaster ends", plain_fault(error))
        self._callbacks.end(1)

    def _announce(self) -> None:
        """Shadow hosts have received more than before."""
        self.master.announce()
        self._answer_ready()

    def _answer_ready(self) -> None:
        """Resolve waiters whose revision is announced, that is, committed and replicated."""
        if not self._durable or not self.is_leader():
            return
        ready, self._durable = self._durable, []
        for revision, future in ready:
            if future.cancelled():
                continue
            if revision <= self.master.committed:
                future.set_result(None)
            else:
                self._durable.append((revision, future))

    def is_leader(self) -> bool:
        """Whether this host is the master now. If not, nothing is answered or sent."""
        return self._replication is None or self._replication.is_leader()

    async def _deliver(self, host: str, data: bytes) -> bytes:
        if not self.is_leader():
            raise NotServing("this host is not the master at the moment")
        return await self._callbacks.deliver(host, data)

    async def durable(self) -> None:
        """Return when all decisions until now are on disk and replicated; many callers share one commit."""
        if self.master.announced and self.is_leader():
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._durable.append((self.master.state.revision, future))
        if not self._flush_due:
            self._flush_due = True
            loop.call_soon(self.flush)
        await future

    async def persisted(self) -> None:
        """Return at a moment when all decisions are on this disk, including decisions made meanwhile."""
        while self.master.pending:
            await self.durable()

    async def answer(self, name: str, body: bytes, caller: Caller, key: str = "") -> Answer:
        """Answer one request (`endpoints`)."""
        with self._liveness.request():
            answer = await self.requests.answer(name, body, caller, key)
        note_refusal(self._refusals, name, answer, caller)
        return answer

    # --- hosts -----------------------------------------------------------------------------------------------

    async def reports(self, host: str, data: bytes) -> bytes:
        """Take a host's reports; returns the verdicts once they are on disk, with their revision."""
        if not self.is_leader():
            raise NotServing("this host is not the master at the moment")
        if self._spool_space.refusal:
            raise NotServing(self._spool_space.refusal)
        batch = decode(data)
        if batch.master[0] > self.master.incarnation:
            self._end_outdated(host, batch.master[0])
        # an execd that restarts may have lost its configuration with its disk
        is_first_of_life = self._report_sequencer.is_first_of_life(host, batch)
        if not self._report_sequencer.accept(host, batch):
            return encode(Batch(refused=True, master=self.master.stamp, host=self._report_sequencer.last_stamp(host)))
        self.requests.host_log.note_contact(host)
        reports = batch.reports
        known = self.master.state.hosts.get(host)
        returned = known is not None and not known.up and not any(isinstance(r, Load) and r.full for r in reports)
        inventory = any(isinstance(report, Inventory) for report in reports)
        if inventory:
            self.requests.releases.inventoried(host)
        verdicts = self.master.reports(host, reports)
        await self.durable()
        if inventory:
            self.dispatcher.inventoried(host)
        if returned or is_first_of_life:
            # if it was lost, its load was forgotten: a new configuration makes it report everything
            self.dispatcher.note_reconnection(host)
        if self._report_sequencer.note_durable(host, batch):
            self.dispatcher.wake(host)
        return encode(Batch(verdicts=verdicts, master=self.master.stamp))

    def _end_outdated(self, host: str, later: int) -> None:
        """A host obeys a later qmaster: either the later qmaster has taken over, or this spool is older than its spool. The
        process that replaces this process is later than both.
        """
        _log.critical("host %s obeys a qmaster that was started later than this one: this one ends", host)
        if self._replication is None:  # else this host may not replace that qmaster
            with suppress(SpoolError):  # on a full disk the next process learns it from the host
                self.master.spool.remember("incarnation", str(later))
        self._callbacks.end(1)

    def hosts_with_nodes(self) -> list[str]:
        """Return the hosts whose nodes are presumed alive: each host that is up, except a host that is requested to end its
        node."""
        releases = self.requests.releases
        return [name for name, host in self.master.state.hosts.items() if host.up and not releases.is_restarting(name)]

    def lose_nodes(self, hosts: set[str]) -> None:
        """The nodes of these hosts are dead: do not wait for max_unheard."""
        for host in self.hosts_with_nodes():
            if host in hosts:
                self.master.lose_host(host, orderly=self.requests.host_log.was_stopped(host))
                self.flush()

    def note_node_ending(self, host: str) -> None:
        """The daemon of a host is about to end: dispatch nothing more to it."""
        self.requests.note_host_ending(host)

    def _compact(self, *, ends: bool = False) -> None:
        try:
            self.master.compact(ends=ends)
        except SpoolError as error:
            _log.warning("%s; its journal is kept until there is space for a snapshot", error, extra=about("snapshot_failed"))

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            self._liveness.note_activity(EVENTS)
            if self.is_leader():
                self._mirrors.send_heartbeat()

    async def _timers(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._liveness.note_activity(MAIN)
            try:
                self.master.tick()
            except Exception:  # a bug, and none of its changes were kept: the other work must not wait forever
                _log.exception("the timers failed, they are run again")
                await asyncio.sleep(_AFTER_A_BUG_S)
            self.flush()
            self._compact()
            self._liveness.note_activity(TIMER)
            if statistics := self._liveness.statistics(self.master.state.configuration().qmaster_params.monitor_time_s):
                _log.info("%s", statistics)

