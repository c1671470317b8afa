"""The qmaster as a Ray actor: the service on an event loop of its own, and the calls between actors.

Owns the Ray side alone: handles of the schedd and of the execds, the watch over nodes. Ray's threads hand everything to the
service's loop, so the state always has a single writer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NoReturn

import ray
from dateutil.tz import tzlocal
from msgspec import to_builtins
from ray._private.state import actors

import daemons.runtime.http_library  # noqa: F401  before modules that load aiohttp
from daemons.qmaster.decision import World
from daemons.qmaster.master import Master
from daemons.qmaster.notifications.mail import keys_replaced
from daemons.qmaster.serve.hosts.joining import JoinRequests
from daemons.qmaster.serve.hosts.known_hosts import KnownHosts
from daemons.qmaster.serve.hosts.rack_actors import HostInRack, end_actor, end_rack_actors, ensure_rack_actor, rack_actor
from daemons.qmaster.serve.hosts.racks import LOOKS_PER_S, Racks
from daemons.qmaster.serve.hosts.unplaced_actors import UnplacedHosts, select_unplaced
from daemons.qmaster.serve.initial_configuration import load_initial_configuration
from daemons.qmaster.serve.interventions_log import follow_loglevel, log_interventions
from daemons.qmaster.serve.replication.leader_link import LeaderLink, leader_link
from daemons.qmaster.serve.replication.replicas_in_sync import Replication
from daemons.qmaster.serve.requests.host_names import HostNames
from daemons.qmaster.serve.requests.port_probes import PortProbes
from daemons.qmaster.serve.scheduling import snapshot_calls
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.qmaster.spooling.patches import RecentPatches
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.call_faults import describe_call_fault
from daemons.runtime.cell import read_cell
from daemons.runtime.cell_copy import OfferedFiles, mark
from daemons.runtime.daemon import announce_end, die_with_parent
from daemons.runtime.garbage_collection import collection_disabled, tune_collection_for_service
from daemons.runtime.keys import known_hosts, master_keys
from daemons.runtime.messages import open_messages
from daemons.runtime.ray_session import KEPT, NAMESPACE, actor_class
from gridengine.protocols.gdi.requests import Answer, ExecdHello, Shutdown
from gridengine.protocols.racks import Place, decode_statement

_log = logging.getLogger(__name__)
EXECD_ACTOR = "daemons.execd.actor:ExecdActor", "ping", "deliver", "read_output", "shut_down"
"""The class and its methods. Named, not imported: the qmaster places the actor, its code is the execd's."""
NODE_WATCH_S = 1 / LOOKS_PER_S
SHUT_DOWN_S, UNKNOWN_SHUT_DOWN_S = 30.0, 5.0
"""Timeouts of the answer to a shutdown: a host may take seconds over its jobs; Ray reports a lost one sooner."""


class QmasterActor:
    """The actor of the cell, named `qmaster`, pinned to the head node, always restarted by Ray. Implements `ServiceCallbacks`."""

    def __init__(self, root: str, cell_name: str, ray_address: str, session: str) -> None:
        die_with_parent()  # a raylet that was killed must not leave a second master behind
        self._cell = read_cell({"SGE_ROOT": root, "SGE_CELL": cell_name})
        self._host = self._cell.own_name()
        open_messages(
            self._cell.qmaster_spool_dir / "messages", "worker", self._host, component="qmaster", as_json=self._cell.json_log
        )
        self._ray_address = ray_address
        self._session_id = session
        self.select_files = OfferedFiles(self._cell.common, self._host).select_files
        self.try_ports = PortProbes(self._cell)
        self._cell_id = read_identity(self._cell).id
        self._ray_token = Path(os.environ["RAY_AUTH_TOKEN_PATH"]).read_text()
        with suppress(OSError):  # without a mark, copies are recognised by their contents
            mark(self._cell.common)
        self._handles: dict[str, Any] = {}
        self._without_actor: set[str] = set()  # hosts in racks
        self._racks = Racks(self._cell.common / "racks", time.monotonic)
        self._schedd: Any = None
        self._snapshot = ""  # the last snapshot given to the scheduler
        self._start_error: SpoolError | None = None
        try:
            self._serve()
        except SpoolError as fault:
            _log.error("the qmaster cannot start: %s", fault)
            if ray.get_runtime_context().was_current_actor_reconstructed:
                os._exit(1)
            self._start_error = fault  # reported to the starter of the cell; a restart would not help
        except Exception:
            # a constructor that raises would end the actor forever; a process that dies is restarted by Ray
            _log.exception("the qmaster cannot start")
            os._exit(1)

    def _serve(self) -> None:
        names = HostNames(self._cell)
        self.call_resolved = names.call_resolved
        zone = tzlocal()

        def world() -> World:
            return World(
                now=time.time(),
                resolve_host=names.resolve,
                master_host=self._host,
                admin_user=self._cell.admin_user,
                zone=zone,
                steady=time.monotonic(),
                is_program=_is_program,
            )

        spool = Spool(self._cell.spool, self._cell_id)
        patches = RecentPatches(spool.position)
        if link := leader_link(self._cell, self._host):
            spool.follow(patches.add)
            spool.epoch = link.epoch()
        with collection_disabled():
            self._master = Master(spool, self._cell.common / "accounting", world)
        if spool.empty:
            load_initial_configuration(self._master, self._cell.common / "initial-config")
        replication = self._replication(link, patches) if link is not None else None
        tune_collection_for_service()
        follow_loglevel(self._master)
        log_interventions(self._master)
        self._service = Service(self._master, self, replication)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="qmaster", daemon=True).start()
        self._run(self._start()).result(60)
        _log.info("qmaster is up: %d jobs, revision %d", len(self._master.state.jobs), self._master.state.revision)

    def _replication(self, link: LeaderLink, patches: RecentPatches) -> Replication:
        cell = self._cell
        return Replication(
            self._master,
            patches,
            self._host,
            cell.candidate_hosts,
            cell.answers_wait_for,
            link.post,
            link.agree,
            link.is_leader,
            known_hosts(cell).parent,
        )

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _start(self) -> None:
        cell = self._cell
        keys = master_keys(cell)
        keys.make_gdi_key()
        key_of = KnownHosts(known_hosts(cell), self._host, keys.gdi_key()).key
        authority, is_root = known_hosts(cell).parent, os.geteuid() == 0
        join_requests = JoinRequests(authority, cell.environment(), self._keys_replaced, root_only=is_root)
        members_only, joining = keys.server_context(callers_need_keys=True), keys.joining_context()
        await self._service.start(
            cell.gdi_socket, self._host, key_of, addresses=cell.addresses(self._host), port=cell.qmaster_port, limits=cell.limits,
            tls=lambda: joining if join_requests.has_open_token() else members_only, join_requests=join_requests,
        )
        self._watch = self._loop.create_task(self._watch_nodes())

    def _keys_replaced(self, host: str, address: str) -> None:
        """Mail the administrators: the keys of a host were replaced."""
        if messages := keys_replaced(self._master.state, host, address):
            self._master.post(messages)

    # --- called by other actors ------------------------------------------------------------------------------

    async def report(self, host: str, data: bytes) -> bytes:
        """Reports of a host (encoded Batch) -> verdicts; returns when they are on disk."""
        return await asyncio.wrap_future(self._run(self._service.reports(host, data)))

    async def state_rack(self, data: bytes) -> bool:
        """Take the `Statement` of a rack's node. Returns whether it is the node."""
        return bool(await asyncio.wrap_future(self._run(self._take_statement(data))))

    async def _take_statement(self, data: bytes) -> bool:
        connected = self._racks.state(decode_statement(data))
        for host in connected or ():
            self._handles.pop(host, None)
            self._service.dispatcher.inventoried(host)
        return connected is not None

    async def ping(self) -> str:
        """Return the Ray session that the actor serves. Raises SpoolError when it cannot serve."""
        if self._start_error is not None:
            raise self._start_error
        return self._session_id

    async def stop(self) -> None:
        """End cleanly; the supervisor takes the node down after it."""
        await asyncio.wrap_future(self._run(self._service.stop()))

    # --- ServiceCallbacks: calls to other actors --------------------------------------------------------------

    async def cycle(self, parts: list[bytes] | None, base: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        """Call the schedd, after a snapshot in several calls. Raises the exceptions of Ray."""
        try:
            if self._schedd is None:
                self._schedd = ray.get_actor("schedd", namespace=NAMESPACE)
            if parts is not None:
                self._snapshot = token_hex(8)
                calls = list(snapshot_calls(parts))
                for number, part in enumerate(calls):
                    await self._schedd.load.remote(part, self._snapshot, number, len(calls))
            orders: bytes = await self._schedd.cycle.remote(self._snapshot, base, events, now, monitored)
            return orders
        except Exception:
            self._schedd = None
            raise

    async def deliver(self, host: str, data: bytes) -> bytes:
        """Call the host's actor. Raises LookupError if there is none, and the exceptions of Ray."""
        try:
            if host not in self._handles:
                self._handles[host] = self._execd(host)
            acknowledgements: bytes = await self._handles[host].deliver.remote(data)
            return acknowledgements
        except Exception:
            self._handles.pop(host, None)
            raise

    async def read_output(self, host: str, data: bytes) -> bytes:
        """Uses the handle for instructions, so that nothing waits for Ray's head here. Raises KeyError without a handle."""
        tail: bytes = await self._handles[host].read_output.remote(data)
        return tail

    def _execd(self, host: str) -> Any:
        """The actor of a host. Raises LookupError."""
        try:
            if self._racks.is_member(host):
                return HostInRack(rack_actor(self._racks.place_of(host)), host)
            return ray.get_actor(f"execd-{host}", namespace=NAMESPACE)
        except ValueError:
            raise LookupError("it has not joined") from None

    async def host_joined(self, hello: ExecdHello) -> Mapping[str, object]:
        """Make the host's actor, or the actor of its rack's node, if there is none; Ray places it when its node has joined."""
        host = hello.host
        if (place := self._racks.place(hello)) is not None:
            return await self._host_in_rack_joined(hello, place)
        self._without_actor.discard(host)
        await asyncio.to_thread(self._ensure_execd, host)
        if host not in self._handles:
            self._service.dispatcher.note_reconnection(host)
        return self.session()

    async def _host_in_rack_joined(self, hello: ExecdHello, place: Place) -> Mapping[str, object]:
        """Only the node of a rack learns how to join Ray. The host's own actor, from before it was in a rack, is ended."""
        if hello.host not in self._without_actor:
            await asyncio.to_thread(end_actor, f"execd-{hello.host}")
            self._without_actor.add(hello.host)
        answer = {"cell_id": self._cell_id, "rack": to_builtins(place) if place.node else {}}
        if place.node != hello.host:
            return answer
        if hello.node_id:
            await asyncio.to_thread(ensure_rack_actor, place, self._cell)
        return self.session() | answer

    def _ensure_execd(self, host: str) -> None:
        try:
            ray.get_actor(f"execd-{host}", namespace=NAMESPACE)
        except ValueError:
            actor_class(*EXECD_ACTOR).options(
                **KEPT, name=f"execd-{host}", max_concurrency=100, resources={f"host-{host}": 0.001}
            ).remote(host, str(self._cell.root), self._cell.name)

    def session(self) -> dict[str, str]:
        """Return the Ray session, its address and token, and the identity of the cell."""
        return {
            "session": self._session_id,
            "ray_address": self._ray_address,
            "ray_token": self._ray_token,
            "cell_id": self._cell_id,
        }

    async def _watch_nodes(self) -> None:
        """Report hosts with a dead node as lost at once; Ray's health checks detect them within seconds."""
        unplaced_hosts = UnplacedHosts()
        while True:
            await asyncio.sleep(NODE_WATCH_S)
            # a host that reports for the first time during the call may be missing in the answer
            up = self._service.hosts_with_nodes()
            try:
                await asyncio.to_thread(self._racks.read)
                nodes = await asyncio.to_thread(ray.nodes)
            except Exception as error:  # noqa: BLE001 - the head is restarting; the supervisor deals with it
                _log.warning("cannot get the list of joined hosts from the master's node: %s", describe_call_fault(error))
                continue
            joined = {
                name.removeprefix("host-")
                for node in nodes
                if node["Alive"]
                for name in node["Resources"]
                if name.startswith("host-")
            }
            self._service.lose_nodes(set(up) - self._racks.alive(joined))
            if ended := self._racks.ended():
                await asyncio.to_thread(end_rack_actors, ended)
            if overdue := unplaced_hosts.select_overdue(joined, up, time.monotonic()):
                await asyncio.to_thread(self._end_head_without, overdue)

    @staticmethod
    def _end_head_without(hosts: list[str]) -> None:
        """End the head, and this actor with it, if it does not place the actors of these hosts; the supervisor starts it
        again."""
        try:
            known = list(actors().values())
        except Exception as error:  # noqa: BLE001 - the head is ending
            _log.warning("cannot get the list of placed actors from the master's node: %s", describe_call_fault(error))
            return
        if hosts := select_unplaced(hosts, known):
            _log.error("Ray places no actor on host %s although its node has joined: the master's node ends", ", ".join(hosts))
            os.kill(os.getppid(), signal.SIGKILL)

    def end(self, status: int) -> NoReturn:
        """Kill the process; Ray restarts it."""
        os._exit(status)

    async def shut_down(self, request: Shutdown) -> Answer:
        """Signal the qmaster's supervisor, or call the actors of hosts."""
        answer = Answer()
        if request.what == "qmaster":
            answer.info("qmaster is going down")
            pid = announce_end(self._cell.qmaster_spool_dir / "qmaster.pid")
            self._loop.call_later(0.2, os.kill, pid, signal.SIGTERM)
        elif request.what == "execd":
            for host in request.hosts:
                await self._stop_execd(host, request.kill_jobs, answer)
        else:
            text = "the scheduler cannot be stopped alone, it belongs to the qmaster; set schedule_interval 0 to stop scheduling"
            answer.error(text)
        return answer

    async def _stop_execd(self, host: str, kill_jobs: bool, answer: Answer) -> None:
        """Dispatch nothing more to the host: a job that ends with the daemon must not start there again."""
        known = self._master.state.hosts.get(host)
        patience_s = UNKNOWN_SHUT_DOWN_S
        if known is not None and known.up:
            self._service.note_node_ending(host)
            patience_s = SHUT_DOWN_S
        try:
            actor = self._execd(host)
            async with asyncio.timeout(patience_s):
                await actor.shut_down.remote(kill_jobs)
            answer.info(f"sent shutdown notification to host {host}")
        except Exception:  # noqa: BLE001 - dead, restarting or unknown: the same to the administrator
            answer.error(f'denied: execution host "{host}" does not answer')


def _is_program(path: str) -> bool:
    """Whether a path is a file that can be executed."""
    return os.path.isfile(path) and os.access(path, os.X_OK)
