"""Endpoints: every request that the GDI answers, in one table, with its handler.

Owns the steps of an answer: decode the body into a typed request within its bounds, check the rights that the gate knows, call
the handler of its row; answers wait until their facts are on disk. Decisions and queries are other modules'
(`decide`, `queries`). Called by `service`, which `gdi_server` calls. Source: docs/gdi.md, adr/0123.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec
from aiohttp import web

from daemons.qmaster.decide import DECISIONS
from daemons.qmaster.decide.jobs.submission import next_job_id
from daemons.qmaster.decision import Decision, Receipt
from daemons.qmaster.master import Master
from daemons.qmaster.permissions import is_operator, no_right
from daemons.qmaster.queries.jobs import split_into_lines
from daemons.qmaster.queries.reading import READERS
from daemons.qmaster.serve.hosts.hellos import hello_refusal, is_goodbye, process_of
from daemons.qmaster.serve.hosts.host_log import HostLog
from daemons.qmaster.serve.hosts.host_releases import HostReleases
from daemons.qmaster.serve.liveness import Liveness, ping_answer
from daemons.qmaster.serve.requests.accounting_reading import AccountingReading
from daemons.qmaster.serve.requests.dry_runs import DryRuns, LookedUp
from daemons.qmaster.serve.requests.forecasting import Forecasting, nothing
from daemons.qmaster.serve.requests.gdi_server import send_lines
from daemons.qmaster.serve.requests.idempotent_requests import IdempotentRequest
from daemons.qmaster.serve.requests.jsv import ServerVerifier
from daemons.qmaster.serve.requests.output_reading import OutputReading
from daemons.qmaster.serve.requests.port_probes import try_ports
from daemons.qmaster.serve.requests.reading_slices import join_answers, split_reading
from daemons.qmaster.serve.requests.refused_requests import log_answer
from daemons.qmaster.serve.requests.round_robin import RoundRobin
from daemons.qmaster.serve.requests.shutting_down import shut_down
from daemons.qmaster.serve.requests.slices import Divided, look_up_predecessors, slices
from daemons.qmaster.serve.requests.verified_copies import verified_copies
from daemons.qmaster.serve.scheduling import SchedulerDriver
from daemons.qmaster.serve.service_callbacks import ServiceCallbacks
from daemons.qmaster.serve.spool_space import SpoolSpace
from daemons.qmaster.serve.streams.sessions import Sessions
from daemons.qmaster.serve.streams.stream_endpoints import LongLivedStreams
from daemons.runtime.per_user_limit import PerUserLimit
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.reading import BODIES, decode_body
from gridengine.protocols.gdi.requests import (
    REQUESTS,
    AlterJobs,
    Answer,
    Caller,
    ChangeObjects,
    ExecdHello,
    KillEventClients,
    MonitorScheduling,
    OpenSession,
    RequestBody,
    RestartHosts,
    ResubmitJobs,
    Shutdown,
    Submit,
    decode_request,
    malformed,
)

_Idempotent = IdempotentRequest | None


class Requests:
    """Answers the requests of a running qmaster by their rows. `durable()` returns when all decisions are on disk and replicated;
    `sessions`: replaced when the keys of hosts are known."""

    def __init__(
        self,
        master: Master,
        callbacks: ServiceCallbacks,
        durable: Callable[[], Awaitable[None]],
        driver: SchedulerDriver,
        streams: LongLivedStreams,
        spool_space: SpoolSpace,
    ) -> None:
        self.master = master
        self.sessions = Sessions(lambda _: "")
        self.liveness = Liveness()
        self.verifier = ServerVerifier(lambda: master.state.configuration())
        self._callbacks, self._durable, self._driver, self._spool_space = callbacks, durable, driver, spool_space
        self.long_lived = streams
        self._round_robin, self._accounting, self.forecasting = RoundRobin(), AccountingReading(), Forecasting()
        self._outputs = OutputReading(callbacks.read_output, records=master.spool.accounted.of_task)
        self.releases, self.host_log = HostReleases(master), HostLog(master)
        self._one_of_key = PerUserLimit(1)
        parts = lambda request, caller: self._round_robin.of(self._parts(request, caller))  # noqa: E731
        self._dry_runs = DryRuns(self._verified, self._look_up, parts, self._decide_unrecorded)

    async def answer(self, name: str, body: bytes, caller: Caller, key: str = "") -> Answer:
        """Answer one request; the answer waits until its facts are on disk. Under a `key` the request is carried out once."""
        endpoint = ENDPOINTS.get(name)
        if endpoint is None or endpoint.answered is None:
            return Answer(1, [("error", f'denied: unknown request "{name}"')])
        try:
            request = decode_request(name, body) if name in REQUESTS else decode_body(name, body)
        except msgspec.DecodeError as error:
            return malformed(name, error)
        if endpoint.administrator and (refusal := no_right(self.master.state, caller, self.master.world())):
            return Answer(1, [("error", refusal)])
        try:
            if key and endpoint.kind == "decides":
                return await self._answer_once(endpoint.answered, name, request, caller, key)
            return await endpoint.answered(self, name, request, caller)
        except InvalidValueError as fault:  # of a pattern or a range: all are resolved before anything is changed
            return Answer(1, [("error", f"denied: {fault}")])

    @property
    def streams(self) -> Mapping[str, Callable[[web.BaseRequest, bytes, Caller], Awaitable[web.StreamResponse]]]:
        """The handlers that write their own answers, by the names of requests."""
        return {row.name: partial(row.streamed, self) for row in ENDPOINTS.values() if row.streamed is not None}

    # --- requests that change something ---------------------------------------------------------------------------

    async def _answer_once(self, answered: RequestHandler, name: str, request: Any, caller: Caller, key: str) -> Answer:
        """Answer a request under its key: as before, if it was carried out."""
        async with self._one_of_key.of((caller.user, key)):
            before = self.master.spool.answered.of(caller.user, key, self.master.world().now)
            idempotent = IdempotentRequest(name, request, caller, key, before)
            if idempotent.is_for_other_request:
                return Answer(1, [("error", "denied: this idempotency key was used for another request")])
            if idempotent.answer:
                await self._durable()
                return idempotent.answer
            return await answered(self, name, request, caller, idempotent)

    async def decide(self, name: str, request: RequestBody, caller: Caller, idempotent: _Idempotent = None) -> Answer:
        """Carry out any changing request."""
        answer = await self._carry_out(name, request, caller, idempotent.receipt if idempotent else None)
        log_answer(answer, caller)
        await self._durable()
        return answer

    async def submit(self, name: str, request: Submit, caller: Caller, idempotent: _Idempotent = None) -> Answer:
        """A submission, which a server verifier sees first."""
        verified = await self._verified(request, caller)
        return verified if isinstance(verified, Answer) else await self.decide(name, verified, caller, idempotent)

    async def _verified(self, request: Submit, caller: Caller) -> Submit | Answer:
        if not self.verifier.configured:
            return request
        return await self.verifier.verify(request, caller, lambda: next_job_id(self.master.state))

    async def resubmit(self, name: str, request: ResubmitJobs, caller: Caller, idempotent: _Idempotent = None) -> Answer:
        """Copies, each of which a server verifier sees first."""
        if not self.verifier.configured:
            return await self.act_in_slices(name, request, caller, idempotent)
        answer = await verified_copies(self.master, self.verifier, self._carry_out, request, caller, idempotent)
        log_answer(answer, caller)
        await self._durable()
        return answer

    async def act_in_slices(self, name: str, request: Divided, caller: Caller, idempotent: _Idempotent = None) -> Answer:
        """Act on jobs, on many jobs in slices between which other requests are served (SO-47)."""
        answer, number = Answer(), -1
        looked_up = await self._look_up(request)
        async for part in self._round_robin.of(self._parts(request, caller)):
            number += 1
            if idempotent and (known := idempotent.answer_of(part, number)):
                decision = Decision(known)
            else:
                receipt = idempotent.receipt_of(part, number) if idempotent else None
                decision = await self._decide(name, part, caller, looked_up, receipt)
            log_answer(decision.answer, caller)
            await self._durable()
            answer.answers += decision.answer.answers
            answer.status = answer.status or decision.answer.status
            if decision.refused:
                break
        return answer

    async def _carry_out(self, name: str, request: RequestBody, caller: Caller, receipt: Receipt | None) -> Answer:
        """Decide on a changing request once the names of hosts in it are resolved, and record the decision."""
        return (await self._decide(name, request, caller, await self._look_up(request), receipt)).answer

    async def _look_up(self, request: RequestBody) -> dict[str, list[int]]:
        """Resolve the names and patterns of predecessors while other requests are served. Raises InvalidValueError."""
        numbers: dict[str, list[int]] = {}
        if isinstance(request, Submit | AlterJobs):
            async for some in self._round_robin.of(look_up_predecessors(self.master.state, request)):
                numbers |= some
        return numbers

    async def _decide(
        self, name: str, request: RequestBody, caller: Caller, looked_up: LookedUp, receipt: Receipt | None
    ) -> Decision:
        if self._spool_space.refusal:
            return Decision().refuse(self._spool_space.refusal)
        decision = await self._decide_unrecorded(name, request, caller, looked_up)
        decision.receipt = receipt
        self.master.record(decision, caller)
        return decision

    async def _decide_unrecorded(self, name: str, request: RequestBody, caller: Caller, looked_up: LookedUp) -> Decision:
        """A decision that is not recorded."""
        decide = partial(self.master.decide, name, request, caller, looked_up)
        return await self._callbacks.call_resolved(decide, (caller.host, caller.uid))

    def _parts(self, request: RequestBody, caller: Caller) -> Iterator[RequestBody | None]:
        """The slices of a request that may affect many jobs; any other unchanged."""
        if not isinstance(request, Divided):
            return iter((request,))
        return slices(self.master.state, request, caller, is_operator(self.master.state, caller, self.master.world().admin_user))

    # --- requests that change nothing -----------------------------------------------------------------------------

    async def read(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """Read; long lists of targets in parts between which other requests are served."""
        reader = READERS[name]
        answers: list[Answer] = []
        async for part in self._round_robin.of(split_reading(self.master.state, name, body)):
            read = partial(reader, self.master, part, caller)
            answers.append(await self._callbacks.call_resolved(read, (caller.host, caller.uid)))
        answer = join_answers(name, body, answers)
        await self._durable()
        return answer

    async def search(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """Read accounting records; many are read by a process."""
        await self._durable()
        return await self._accounting.answer(self.master, body, caller)

    async def forecast(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """Have a process forecast starts, order and run times of jobs, or the effects of a change."""
        if body["about"] == "sample" and (refusal := no_right(self.master.state, caller, self.master.world())):
            return Answer(1, [("error", refusal)])
        await self._durable()
        return await self.forecasting.answer(self.master, body, self._in_question(body, caller))

    def _in_question(self, body: dict[str, Any], caller: Caller) -> Callable[[], Awaitable[Decision]]:
        """How to decide on the submission or the changes in question, which are not recorded."""
        submission, changes = body.get("submission"), body.get("changes")
        if submission is not None and body["about"] != "change":
            fields = msgspec.to_builtins(msgspec.structs.replace(submission, verify="n"))
            return partial(self._dry_runs.of, "submit", fields, caller)
        if changes and body["about"] == "change":
            return partial(self._decide_unrecorded, "config_change", ChangeObjects(changes), caller, {})
        return nothing

    async def output(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """Have a host read the end of a task's output."""
        await self._durable()
        return await self._outputs.answer(self.master.state, body, caller)

    async def dry_run(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """The answers that changing requests would get now, each by itself; nothing is recorded."""
        return Answer(data={each: (await self._dry_runs.of(each, fields, caller)).answer for each, fields in body.items()})

    async def stream_jobs(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """`status` in lines, so that a client can print a long list of jobs while it arrives."""
        answer = await self.answer("status", body, caller)

        async def lines() -> AsyncGenerator[object, None]:
            for value in split_into_lines(answer):
                yield value

        return await send_lines(request, lines())

    # --- requests about the daemons ------------------------------------------------------------------------

    async def hello(self, name: str, request: ExecdHello, caller: Caller) -> Answer:
        """The supervisor of an exec host requests to join."""
        if refusal := hello_refusal(self.master.state, request, caller):
            return Answer(1, [("error", refusal)])
        if request.ending:
            if is_goodbye(self.master.state, request):
                self.note_host_ending(request.host)
            return Answer()
        cell_id = self._callbacks.session().get("cell_id", "")
        if refusal := self._spool_space.refusal or self.releases.heard(request, cell_id):
            return Answer(1, [("error", f"denied: {refusal}")], self.releases.release_report(request.host))
        self.master.execd_started(request.host, process_of(request))
        self.sessions.heard(request.host, request.session_port)
        self.host_log.note_contact(request.host)
        joined = await self._callbacks.host_joined(request)
        files = await self._callbacks.select_files(request.files, request.files_mark)
        return Answer(data={**joined, **self.releases.release_report(request.host), **({"files": files} if files else {})})

    def note_host_ending(self, host: str) -> None:
        """The daemon of a host ends in order."""
        self.host_log.note_shutdown(host)
        self.master.lose_host(host, orderly=True)

    async def shut_down(self, name: str, request: Shutdown, caller: Caller) -> Answer:
        """End the qmaster, the scheduler or exec hosts."""
        return await shut_down(self.master, self._callbacks, request, caller)

    async def restart_hosts(self, name: str, request: RestartHosts, caller: Caller) -> Answer:
        """Have exec hosts restart as another release."""
        return self.releases.restart(request)

    async def list_releases(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """List the release that each daemon runs."""
        return self.releases.listed()

    async def monitor(self, name: str, request: MonitorScheduling, caller: Caller) -> Answer:
        """Have the next scheduling run report why jobs wait (QF-35)."""
        self._driver.monitor()
        return Answer(answers=[("info", f"{caller.user}@{caller.host} triggers scheduler monitoring")])

    async def ping(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """The status of a daemon (QP-1)."""
        world, client = self.master.world(), (caller.host, caller.uid)
        host = await self._callbacks.call_resolved(lambda: world.resolve_host(body["host"]), client)
        return Answer(data=ping_answer(self.master.state, self.liveness, body, host, world))

    async def try_ports(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """List the ports of an exec host that the master host reaches."""
        return await try_ports(self.master.state, self.master.world(), self._callbacks.try_ports, body, caller)

    async def open_session(self, name: str, request: OpenSession, caller: Caller) -> Answer:
        """The address of an interactive job's streams, and a ticket for them."""
        return self.sessions.open(self.master.state, request, caller)

    async def kill_event_clients(self, name: str, request: KillEventClients, caller: Caller) -> Answer:
        """Disconnect event clients."""
        return self.long_lived.event_clients.kill(request, caller)

    async def list_event_clients(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """The registered event clients."""
        return self.long_lived.event_clients.listed()


RequestHandler = Callable[..., Awaitable[Answer]]
"""(requests, name, request, caller); handlers that decide take an `IdempotentRequest` as the last argument."""
StreamHandler = Callable[[Requests, web.BaseRequest, bytes, Caller], Awaitable[web.StreamResponse]]


class Endpoint(NamedTuple):
    """A request by its name. `body`: the type of its body, with its bounds.

    `kind`: the request `decides` (changes the state), `reads` it, `serves` (is about daemons), or `streams` lines.
    `handler`: the pure function, if there is such a function; `answered` or `streamed`: the method that calls it.
    `administrator`: the gate demands a manager on an administrative host; other rights depend on the request, and are
    checked by the handler. `is_long_lived`: the answer lasts until an event ends it, outside the limit of its user."""

    name: str
    kind: Literal["decides", "reads", "serves", "streams"]
    body: Any
    handler: Callable[..., Any] | None = None
    answered: RequestHandler | None = None
    streamed: StreamHandler | None = None
    administrator: bool = False
    is_long_lived: bool = False


def _rows() -> Iterator[Endpoint]:
    special: dict[str, RequestHandler] = {
        **dict.fromkeys(("delete_jobs", "hold_jobs", "alter_jobs", "change_states"), Requests.act_in_slices),
        "accounting": Requests.search,
        "submit": Requests.submit,
        "resubmit_jobs": Requests.resubmit,
    }
    long_lived: dict[str, StreamHandler] = {
        "wait": lambda requests, *call: requests.long_lived.job_waiters.stream(*call),
        "task_ends": lambda requests, *call: requests.long_lived.task_ends.stream(*call),
        "events": lambda requests, *call: requests.long_lived.event_clients.stream(*call),
        "mirror": lambda requests, *call: requests.long_lived.mirrors.stream(*call),
    }
    for name, decide in DECISIONS.items():
        yield Endpoint(name, "decides", REQUESTS[name], decide, special.get(name, Requests.decide))
    for name, reader in READERS.items():
        yield Endpoint(name, "reads", BODIES[name], reader, special.get(name, Requests.read))
    yield Endpoint("event_clients", "reads", BODIES["event_clients"], answered=Requests.list_event_clients)
    yield Endpoint("releases", "reads", BODIES["releases"], answered=Requests.list_releases)
    yield Endpoint("job_output", "reads", BODIES["job_output"], answered=Requests.output)
    yield Endpoint("forecast", "reads", BODIES["forecast"], answered=Requests.forecast)
    yield Endpoint("ping", "reads", BODIES["ping"], answered=Requests.ping)
    yield Endpoint("dry_run", "reads", BODIES["dry_run"], answered=Requests.dry_run)
    yield Endpoint("job_list", "streams", BODIES["job_list"], streamed=Requests.stream_jobs)
    for name, streamed in long_lived.items():
        yield Endpoint(name, "streams", BODIES[name], streamed=streamed, is_long_lived=True)
    yield Endpoint("execd_hello", "serves", ExecdHello, answered=Requests.hello)
    yield Endpoint("session", "serves", OpenSession, answered=Requests.open_session)
    yield Endpoint("kill_event_clients", "serves", KillEventClients, answered=Requests.kill_event_clients)
    yield Endpoint("monitor_scheduling", "serves", MonitorScheduling, answered=Requests.monitor, administrator=True)
    yield Endpoint("shutdown", "serves", Shutdown, answered=Requests.shut_down, administrator=True)
    yield Endpoint("try_ports", "reads", BODIES["try_ports"], answered=Requests.try_ports)
    yield Endpoint("restart_hosts", "serves", RestartHosts, answered=Requests.restart_hosts, administrator=True)


ENDPOINTS: dict[str, Endpoint] = {row.name: row for row in _rows()}
