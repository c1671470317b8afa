"""The qmaster's service: requests in, answers out, and the loops that keep the cluster moving; no Ray in it.

Owns the event loop's tasks: group commit, timers, the scheduler's driver, dispatch to hosts. The calls
to the schedd and to the execds come in as functions, so that the actor uses Ray and tests use what they like.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from daemons.qmaster.decide.jobs.submission import next_job_id
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import Master
from daemons.qmaster.permissions import is_operator, no_right
from daemons.qmaster.serve.correspondence import Correspondence
from daemons.qmaster.serve.dispatch import DeliverCall, Dispatcher
from daemons.qmaster.serve.event_clients import EventClients
from daemons.qmaster.serve.gdi_server import GdiServer, stream_line
from daemons.qmaster.serve.host_names import Settled, at_once
from daemons.qmaster.serve.job_waits import JobWaits
from daemons.qmaster.serve.jsv import ServerVerifier
from daemons.qmaster.serve.known_hosts import KeyOf
from daemons.qmaster.serve.mail_sender import MailSender
from daemons.qmaster.serve.reading_slices import parts_of, whole
from daemons.qmaster.serve.rounds import Rounds
from daemons.qmaster.serve.scheduling import CycleCall, SchedulerDriver
from daemons.qmaster.serve.sessions import Sessions
from daemons.qmaster.serve.slices import Divided, looked_up_predecessors, slices
from daemons.qmaster.serve.verified_copies import verified_copies
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.views.jobs import in_lines
from daemons.qmaster.views.reading import READERS
from daemons.runtime.cell import USUAL_LIMITS, Limits
from gridengine.delivery import Batch, Inventory, Load, decode, encode
from gridengine.errors import SyntaxFault
from gridengine.gdi.reading import decode_body
from gridengine.gdi.requests import (
    REQUESTS,
    AlterJobs,
    Answer,
    Caller,
    ExecdHello,
    KillEventClients,
    MonitorScheduling,
    OpenSession,
    RequestBody,
    ResubmitJobs,
    Shutdown,
    Submit,
    decode_request,
    malformed,
)

_log = logging.getLogger(__name__)
TICK_S = 0.25
_AFTER_A_BUG_S = 5.0


class Service:
    """A running qmaster over a master.

    `host_joined(host)` is called when an exec host's supervisor says hello; `session()` gives what it needs to join;
    `settled` calls what asks for names of hosts once they are known (`HostNames`).
    """

    def __init__(
        self,
        master: Master,
        cycle: CycleCall,
        deliver: DeliverCall,
        host_joined: Callable[[str], Awaitable[None]],
        session: Callable[[], dict[str, str]],
        shut_down: Callable[[Shutdown], Awaitable[Answer]],
        settled: Settled = at_once,
    ) -> None:
        self.master = master
        self._flush_due = False
        self._durable: list[tuple[int, asyncio.Future[None]]] = []
        self._waits = JobWaits(master, self.settled)
        self._foreigners: set[str] = set()
        self._rounds = Rounds()
        self._host_joined = host_joined
        self._session = session
        self._shut_down = shut_down
        self._settled = settled
        self._tasks: list[asyncio.Task[None]] = []
        self.driver = SchedulerDriver(master, cycle, self.flush)
        self._correspondence = Correspondence(master.incarnation)
        self.dispatcher = Dispatcher(master, deliver, self.flush, self._correspondence.inventoried)
        self.event_clients = EventClients(master)
        self._sessions = Sessions(lambda _: "")
        self._gdi: GdiServer | None = None
        self._mail: MailSender | None = None
        self._verifier = ServerVerifier(lambda: master.state.configuration())
        master.subscribers.append(self._waits.committed)

    async def start(
        self,
        socket: Path,
        host: str,
        key_of: KeyOf,
        address: str = "",
        port: int = 0,
        tls: Any = None,
        limits: Limits = USUAL_LIMITS,
    ) -> None:
        """Serve at the Unix socket and, with a TLS context, at a port of `address`. `host`, `key_of`: see `GdiServer`."""
        streams = {"wait": self._waits.stream, "events": self._events, "job_list": self._job_list}
        self._gdi = GdiServer(self.answer, streams, host, key_of, limits)
        self._sessions = Sessions(key_of)
        loop = asyncio.get_running_loop()
        self._mail = MailSender(lambda: self.master.state.configuration().mailer)
        self.master.post = self._mail.send
        self._tasks = [loop.create_task(self.driver.run()), loop.create_task(self._timers())]
        for name in self.master.state.hosts:
            self.dispatcher.wake(name)
        await self._gdi.start(socket, address, port, tls)

    async def stop(self) -> None:
        """End cleanly: nothing acknowledged is left unwritten."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.dispatcher.stop()
        if self._mail is not None:
            await self._mail.stop()
        await self._verifier.stop()
        if self._gdi is not None:
            await self._gdi.stop()
        self.flush()
        self.master.spool.snapshot(self.master.committed, self.master.state.snapshot())
        self.master.spool.close()

    # --- durability --------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write everything that was decided so far in one commit, and answer those who wait for it."""
        self._flush_due = False
        try:
            self.master.flush()
        except (SpoolError, OSError) as error:
            # what is in memory is no longer what is on disk: the only honest thing is to start again from disk
            _log.critical("%s; the qmaster ends", error)
            os._exit(1)
        ready, self._durable = self._durable, []
        for revision, future in ready:
            if future.cancelled():
                continue
            if revision <= self.master.committed:
                future.set_result(None)
            else:
                self._durable.append((revision, future))

    async def durable(self) -> None:
        """Return when all that was decided until now is on disk; many callers share one commit."""
        if not self.master.pending:
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._durable.append((self.master.state.revision, future))
        if not self._flush_due:
            self._flush_due = True
            loop.call_soon(self.flush)
        await future

    async def settled(self) -> None:
        """Return at a moment when all that was decided is on disk: what comes in while this waits is waited for, too."""
        while self.master.pending:
            await self.durable()

    # --- requests ----------------------------------------------------------------------------------------

    async def answer(self, name: str, body: bytes, caller: Caller) -> Answer:
        """Answer one request; every answer waits for what it shows to be on disk."""
        if name in REQUESTS:
            try:
                request = decode_request(name, body)
            except msgspec.DecodeError as error:
                return malformed(name, error)
            if isinstance(request, ExecdHello):
                return await self._hello(request, caller)
            if isinstance(request, Shutdown):
                return await self._shutdown(request, caller)
            if isinstance(request, MonitorScheduling):
                return self._monitor(caller)
            if isinstance(request, OpenSession):
                return self._sessions.open(self.master.state, request, caller)
            if isinstance(request, KillEventClients):
                return self.event_clients.kill(request, caller)
            if isinstance(request, Submit) and self._verifier.configured:
                verified = await self._verifier.verify(request, caller, lambda: next_job_id(self.master.state))
                if isinstance(verified, Answer):
                    return verified
                request = verified
            if isinstance(request, ResubmitJobs) and self._verifier.configured:
                answer = await verified_copies(self.master, self._verifier, self._carry_out, request, caller)
                _log_answer(answer)
                await self.durable()
                return answer
            if isinstance(request, Divided):
                return await self._in_slices(name, request, caller)
            answer = await self._carry_out(name, request, caller)
            _log_answer(answer)
            await self.durable()
            return answer
        if name == "event_clients":
            return self.event_clients.listed()
        reader = READERS.get(name)
        if reader is None:
            return Answer(1, [("error", f'denied: unknown request "{name}"')])
        try:
            wish = decode_body(name, body)
            answers: list[Answer] = []
            async for part in self._rounds.of(parts_of(self.master.state, name, wish)):
                read = partial(reader, self.master, part, caller)
                answers.append(await self._settled(read, (caller.host, caller.uid)))
            answer = whole(name, wish, answers)
        except msgspec.DecodeError as error:
            return malformed(name, error)
        except SyntaxFault as fault:
            return Answer(1, [("error", f"denied: {fault}")])
        await self.durable()
        return answer

    async def _carry_out(self, name: str, request: RequestBody, caller: Caller) -> Answer:
        """Decide on a changing request once the names of hosts in it are known, and record that."""
        try:
            looked_up = await self._looked_up(request)
        except SyntaxFault as fault:
            return Answer(1, [("error", f"denied: {fault}")])
        return (await self._decided(name, request, caller, looked_up)).answer

    async def _looked_up(self, request: RequestBody) -> dict[str, list[int]]:
        """What the names and patterns of predecessors mean, found while others are served. Raises SyntaxFault."""
        found: dict[str, list[int]] = {}
        if isinstance(request, Submit | AlterJobs):
            async for some in self._rounds.of(looked_up_predecessors(self.master.state, request)):
                found |= some
        return found

    async def _decided(
        self, name: str, request: RequestBody, caller: Caller, looked_up: Mapping[str, list[int]]
    ) -> Decision:
        decide = partial(self.master.decide, name, request, caller, looked_up)
        decision = await self._settled(decide, (caller.host, caller.uid))
        self.master.record(decision, caller)
        return decision

    async def _in_slices(self, name: str, request: Divided, caller: Caller) -> Answer:
        """Act on jobs, on many of them in slices between which others are served (SO-47)."""
        answer = Answer()
        operator = is_operator(self.master.state, caller, self.master.world().admin_user)
        try:
            looked_up = await self._looked_up(request)
            async for part in self._rounds.of(slices(self.master.state, request, caller, operator)):
                decision = await self._decided(name, part, caller, looked_up)
                _log_answer(decision.answer)
                await self.durable()
                answer.answers += decision.answer.answers
                answer.status = answer.status or decision.answer.status
                if decision.refused:
                    break
        except SyntaxFault as fault:  # a pattern: all are looked up before anything is done
            return Answer(1, [("error", f"denied: {fault}")])
        return answer

    async def _hello(self, request: ExecdHello, caller: Caller) -> Answer:
        if not (caller.daemon or caller.uid in (0, os.geteuid())):
            return Answer(1, [("error", "denied: only daemons may say hello")])
        if caller.host != request.host:
            return Answer(1, [("error", f'denied: "{caller.host}" may not say hello for host "{request.host}"')])
        if not self.master.state.has("exec_host", request.host):
            text = f'denied: host "{request.host}" is no execution host; add it with qconf -ae'
            return Answer(1, [("error", text)])
        joined = self._session()
        if request.cell_id not in ("", joined.get("cell_id", "")):
            return self._foreign(request)
        self.master.execd_started(request.host, f"{request.incarnation}/{request.pid}")
        self._sessions.heard(request.host, request.session_port)
        await self._host_joined(request.host)
        return Answer(data=joined)

    def _foreign(self, request: ExecdHello) -> Answer:
        """A host of another cell does not join: what runs there is not this cell's to end. Logged once a host."""
        text = f'denied: host "{request.host}" belongs to the cell {request.cell_id}, which this is not'
        if text not in self._foreigners:
            self._foreigners.add(text)
            _log.warning("%s", text)
        return Answer(1, [("error", text)])

    async def _shutdown(self, request: Shutdown, caller: Caller) -> Answer:
        if refusal := no_right(self.master.state, caller, self.master.world()):
            return Answer(1, [("error", refusal)])
        unknown = await self._settle_hosts(request, caller) if request.what == "execd" else []
        answer = await self._shut_down(request)
        for name in unknown:
            answer.error(f'can\'t resolve hostname "{name}"')
        return answer

    def _monitor(self, caller: Caller) -> Answer:
        if refusal := no_right(self.master.state, caller, self.master.world()):
            return Answer(1, [("error", refusal)])
        self.driver.monitor()
        return Answer(answers=[("info", f"{caller.user}@{caller.host} triggers scheduler monitoring")])

    async def _settle_hosts(self, request: Shutdown, caller: Caller) -> list[str]:
        """Give the hosts of a request their unique names, `all` being those that are up; returns what is no host."""
        state, world = self.master.state, self.master.world()
        if "all" in request.hosts:
            request.hosts = sorted(name for name, host in state.hosts.items() if host.up)
            return []
        found = await self._settled(
            lambda: {name: world.resolve_host(name) for name in request.hosts}, (caller.host, caller.uid)
        )
        request.hosts = [unique for unique in found.values() if unique]
        return [name for name, unique in found.items() if not unique]

    async def _events(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        return await self.event_clients.stream(request, body, caller, self.durable)

    async def _job_list(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """`status` in lines, so that a client can print a long list of jobs while it comes."""
        answer = await self.answer("status", body, caller)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        try:
            await response.prepare(request)
            for value in in_lines(answer):
                await stream_line(response, value)
        except ConnectionError:
            pass  # the reader has seen enough
        return response

    # --- hosts -----------------------------------------------------------------------------------------------

    async def reports(self, host: str, data: bytes) -> bytes:
        """Take a host's reports; the verdicts go back once they are on disk, and say of which revision they are."""
        batch = decode(data)
        if batch.master[0] > self.master.incarnation:
            self._outdated(host, batch.master[0])
        if not self._correspondence.takes(host, batch):
            return encode(Batch(refused=True, master=self.master.stamp, host=self._correspondence.last(host)))
        reports = batch.reports
        known = self.master.state.hosts.get(host)
        returned = known is not None and not known.up and not any(isinstance(r, Load) and r.full for r in reports)
        # an execd that tells what it has is a new one, and may have lost its configuration with its disk
        returned = returned or any(isinstance(report, Inventory) for report in reports)
        verdicts = self.master.reports(host, reports)
        await self.durable()
        if returned:
            # it was given up and its load forgotten: configuring it again makes it tell everything
            self.dispatcher.reconnected(host)
        if self._correspondence.taken(host, batch):
            self.dispatcher.wake(host)
        return encode(Batch(verdicts=verdicts, master=self.master.stamp))

    def _outdated(self, host: str, later: int) -> None:
        """A host obeys a later qmaster: either that one has taken over, or this spool is of a time before it. The process
        that is started in the place of this one comes after both.
        """
        _log.critical("host %s obeys a qmaster that was started later than this one: this one ends", host)
        self.master.spool.remember("incarnation", str(later))
        os._exit(1)

    def node_lost(self, host: str) -> None:
        """The node of a host is gone: do not wait for max_unheard."""
        known = self.master.state.hosts.get(host)
        if known is not None and known.up:
            _log.warning("host %s does not answer any more", host)
            self.master.lose_host(host)
            self.flush()

    async def _timers(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                self.master.tick()
            except Exception:  # a bug, and nothing of it was kept: the others must not wait for ever
                _log.exception("what is due could not be done, it is tried again")
                await asyncio.sleep(_AFTER_A_BUG_S)
            self.flush()
            self.master.compact()


def _log_answer(answer: Answer) -> None:
    for level, text in answer.answers:
        if level == "error":
            _log.error("%s", text)
        elif level == "warning":
            _log.warning("%s", text)
