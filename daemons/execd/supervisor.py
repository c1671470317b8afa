"""The supervisor of an exec host: keeps its Ray node, or its execd in a rack, launcher, gateway and session server running, and
sends hellos.

Owns their lives; imports no Ray and knows no job. Its child processes end with it, except shepherds and jobs: shepherds and
jobs always go on. Called by the program `sge_execd`. Source: docs/architecture.md section 5.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp

from daemons.execd.keep_running import keep_running
from daemons.execd.rack_process import RackProcess
from daemons.execd.ray_head import wait_until_head_gone
from daemons.execd.session_server import SessionServer
from daemons.execd.site import PID_FILE, join_cell, read_cell_id
from daemons.execd.witness import Witness
from daemons.runtime import children
from daemons.runtime.backoff import Backoff
from daemons.runtime.cell import Cell
from daemons.runtime.cell_copy import CellCopy
from daemons.runtime.child_output import ChildOutput
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.daemon import die_with_parent, is_ending, module_command, module_environment
from daemons.runtime.gateway import Gateway
from daemons.runtime.log_once import LogOnce
from daemons.runtime.messages import about
from daemons.runtime.name_service import group_name, user_name
from daemons.runtime.qmaster_client import LocalCaller, NoQmasterError, QmasterClient, read_credentials
from daemons.runtime.ray_node import START_S, RayNode, RayNodeError, growing_limit, worker_spec
from daemons.runtime.reexec import Renewal
from daemons.runtime.release import own_release, ray_version
from daemons.runtime.watchdog import feed_watchdog
from gridengine.addresses import split_port
from gridengine.errors import plain_fault
from gridengine.files.durable import atomic_write
from gridengine.files.incarnation import incarnation
from gridengine.protocols.protocol import MASTER_REPLY_FILE, PROTOCOL, incompatibility_reason
from gridengine.protocols.racks import CONNECTED, Place
from gridengine.values.units import format_duration

_log = logging.getLogger(__name__)

#: seconds: between two hellos, for the answer, between retries while the qmaster is down: a hundred hosts are back in 10 s
_HELLO_S, _HELLO_ANSWER_S = 2.0, 10.0
_GOODBYE_S = 2.0
_FIRST_HELLO_PAUSE_S, _LONGEST_HELLO_PAUSE_S = 0.25, 4.0
#: the longest pause where another host may be the master in a moment
_HELLO_AGAIN_S = 1.0
#: seconds that the launcher may take to end before it is killed
_LAUNCHER_STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """The Ray cluster of the cell, as named by the qmaster; a new `session` is a new cluster, with another `token`. `head`:
    "ADDRESS:PORT"."""

    session: str
    head: str
    token: str


class _HelloRefusedError(NoQmasterError):
    """The qmaster has answered, and it refuses this host."""

    def __init__(self, text: str) -> None:
        super().__init__(text, sent=True)


class ExecdSupervisor:
    """Keeps all services of one exec host running until `run` is cancelled. Raises CellError when made without keys.

    `renewal`: restarts the daemon as another release; `binary_path`: the directory of the installed programs.
    """

    def __init__(self, cell: Cell, host: str, renewal: Renewal, binary_path: str = "") -> None:
        self._cell, self._host, self._binary_path = cell, host, binary_path
        self._spool, self._renewal = cell.execd_spool(host), renewal
        self._client = QmasterClient(cell, host, read_credentials(cell, host))
        limiter = ConnectionLimiter()
        self._gateway = Gateway(cell, self._client, limiter, lambda: renewal.is_due)
        self._sessions = SessionServer(cell, host, limiter)
        self._witness = Witness(cell, host)
        self._rack = RackProcess(cell, host, self._request_hello)
        self._caller = _own_identity()
        self._cluster: Cluster | None = None
        self._news = asyncio.Event()  # the cluster has changed
        self._node_id, self._pace_s = "", _HELLO_S
        self._hello_requested = asyncio.Event()
        self._start_limit = growing_limit(START_S)
        self._logged, self._silent_since = LogOnce(), 0.0
        self._noted_message: str | None = None
        self._copy = CellCopy(cell.common)

    async def run(self, stop: asyncio.Event, on_serving: Callable[[], None]) -> None:
        """Serve until `stop` is set. `on_serving()` is called when launcher and gateway are running."""
        (self._spool / MASTER_REPLY_FILE).unlink(missing_ok=True)
        work = [
            asyncio.create_task(keep_running("launcher", self._launcher)),
            asyncio.create_task(keep_running("gateway", self._gateway.run)),
            asyncio.create_task(keep_running("session server", self._sessions.run)),
            asyncio.create_task(keep_running("Ray node", self._node)),
            asyncio.create_task(keep_running("execd in a rack", self._rack.run)),
            asyncio.create_task(keep_running("witness", self._witness.run)),
            asyncio.create_task(self._announce(on_serving)),
        ]
        hellos = asyncio.create_task(self._hello())
        async with feed_watchdog(self._is_serving):
            await stop.wait()
        hellos.cancel()
        await asyncio.gather(hellos, return_exceptions=True)
        if self._has_joined and not self._renewal.is_due:
            await self._say_goodbye()
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await self._client.close()

    async def _announce(self, on_serving: Callable[[], None]) -> None:
        while not await self._is_serving():
            await asyncio.sleep(0.02)
        on_serving()

    async def _is_serving(self) -> bool:
        """Whether launcher and gateway accept connections."""
        return await _answers(str(self._spool / "launcher.sock")) and await _answers(str(self._cell.gateway_socket))

    # --- children -------------------------------------------------------------------------------------------------

    async def _launcher(self) -> None:
        """Run the launcher until it ends. Its shepherds do not end with it."""
        parent = os.getpid()
        child = await children.begin(
            *module_command("shepherd.launcher"),
            str(self._spool),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # for a shepherd_cmd
            env=module_environment({**os.environ, "SGE_BINARY_PATH": self._binary_path}),
            cwd="/",
            preexec_fn=lambda: die_with_parent(parent),
        )
        try:
            assert child.stderr is not None
            output = ChildOutput(self._spool)
            async for line in child.stderr:
                if text := output.filter_line(line):
                    _log.error("%s", text)
            _log.warning("the launcher ended with status %d", await child.wait())
        finally:
            if child.returncode is None:
                child.terminate()
                try:
                    async with asyncio.timeout(_LAUNCHER_STOP_S):
                        await child.wait()
                except TimeoutError:
                    child.kill()
                    await child.wait()

    async def _node(self) -> None:
        """Run a node of the cluster until it ends, its head is gone or the cluster has changed."""
        while self._cluster is None:
            self._news.clear()
            await self._news.wait()
        cluster = self._cluster
        spec = worker_spec(self._cell, self._host, cluster.head)
        node = RayNode(self._cell, spec, cluster.token, self._start_limit.next_s())
        running = asyncio.create_task(self._run_node(node, cluster))
        gone = asyncio.create_task(wait_until_head_gone(cluster.head))
        try:
            await asyncio.wait((running, gone), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            else:
                gone_text = "the master at %s is gone: this host waits for it, jobs go on"
                _log.warning(gone_text, split_port(cluster.head)[0], extra=about("master_gone"))
        finally:
            self._node_id = ""
            self._hello_requested.set()
            headless = gone.done() or self._cluster not in (None, cluster)  # a new head is on another host, or in its place
            if (headless or not node.alive) and self._cluster == cluster:
                self._cluster = None  # wait until the qmaster names the cluster again
            for task in (running, gone):
                task.cancel()
            await asyncio.gather(running, gone, return_exceptions=True)
            await node.stop(immediately=headless)
            if is_ending(self._spool / PID_FILE):
                os.kill(os.getpid(), signal.SIGTERM)  # the actor that was to do this has died with the node

    async def _run_node(self, node: RayNode, cluster: Cluster) -> None:
        """Start the node and return when it has ended, or the qmaster has named another cluster."""
        info = await node.start()
        if info.session != cluster.session:
            raise RayNodeError(f"the Ray head at {cluster.head} is not the one that the qmaster named")
        self._start_limit.reset()
        self._node_id = info.node_id
        self._hello_requested.set()
        master = split_port(cluster.head)[0]
        _log.info("host %s has joined the cell, master at %s", self._host, master, extra=about("host_joined"))
        while node.alive and self._cluster == cluster:
            self._news.clear()
            ended, changed = asyncio.create_task(node.wait()), asyncio.create_task(self._news.wait())
            try:
                await asyncio.wait((ended, changed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
                changed.cancel()
        if node.alive and self._cluster is None:
            _log.warning("another host is the node of the rack now", extra=about("rack_node_moved"))
            return
        master_restarted = "the master has restarted: this host joins it again"
        what = master_restarted if node.alive else "the node of this host has ended: it is restarted"
        _log.warning("%s", what, extra=about("host_rejoins"))

    # --- the qmaster ----------------------------------------------------------------------------------------------

    async def _hello(self) -> None:
        """Send hellos to the qmaster, whose answers name the Ray cluster to join: every 2 s, after joining at the interval
        of the answer."""
        backoff = Backoff(_FIRST_HELLO_PAUSE_S, _LONGEST_HELLO_PAUSE_S, random.random)
        while True:
            self._hello_requested.clear()
            try:
                await self._say_hello()
                wait_s = self._pace_s if self._has_joined else _HELLO_S
                backoff.reset()
                self._log_change("")
                self._note_message("")
            except NoQmasterError as error:
                wait_s = backoff.next_s(_LONGEST_HELLO_PAUSE_S if self._client.has_one_candidate else _HELLO_AGAIN_S)
                self._log_change(str(error))
                if isinstance(error, _HelloRefusedError):
                    self._note_message(str(error))
            try:
                async with asyncio.timeout(wait_s):  # wait_for may lose a cancellation here (Python 3.11)
                    await self._hello_requested.wait()
            except TimeoutError:
                continue

    @property
    def _has_joined(self) -> bool:
        """Whether this host can take jobs: the node is there that the qmaster wants here, and in a rack the connection."""
        has_node = bool(self._node_id) or self._cluster is None
        return has_node and self._rack.state == CONNECTED if self._rack.place is not None else bool(self._node_id)

    def _request_hello(self) -> None:
        self._hello_requested.set()

    async def _say_hello(self) -> None:
        try:
            body = {"host": self._host, "pid": os.getpid(), "incarnation": incarnation(), "session_port": self._sessions.port}
            body |= {"protocol": PROTOCOL, "ray": ray_version(), "node_id": self._node_id}
            body |= {"release": own_release(), "installed": self._renewal.installed, "refusal": self._renewal.refusal}
            body |= {"cell_id": read_cell_id(self._spool), "rack": self._rack.state}
            body |= await asyncio.to_thread(self._copy.state)
            answer = await self._client.post(
                "/v1/execd_hello",
                json.dumps(body).encode(),
                self._caller,
                total_s=_HELLO_ANSWER_S if self._client.has_one_candidate else _HELLO_ANSWER_S / 3,
            )
            async with answer:
                welcome = await answer.json(content_type=None)
            if (welcome.get("data") or {}).get("restart", own_release()) != own_release():
                self._renewal.begin()
            if welcome["status"] != 0:
                reason = "; ".join(text for _, text in welcome["answers"]) or "the qmaster refused this host"
                raise _HelloRefusedError(reason)
            data = welcome["data"]
            if refusal := join_cell(self._spool, str(data.get("cell_id", ""))):
                raise _HelloRefusedError(refusal)
            if refusal := incompatibility_reason(self._host, PROTOCOL, int(data.get("protocol", 0))):
                raise _HelloRefusedError(refusal)
            if "files" in data and not await self._master_or_shadow_here():
                await asyncio.to_thread(self._copy.take, data["files"])
            self._pace_s = float(data.get("hello_s", _HELLO_S))
            self._take_place(data)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError, TypeError) as error:
            raise NoQmasterError(f"the qmaster's answer cannot be used: {plain_fault(error)}", sent=True) from error

    def _take_place(self, data: Mapping[str, Any]) -> None:
        """Follow the answer to a hello: the cluster to join, or the place in a rack; the node of a rack gets both of them. An
        empty place changes nothing. Raises KeyError, ValueError, TypeError."""
        place = None
        if "rack" in data:
            if not (fields := data["rack"]):
                return
            place = Place(str(fields["rack"]), str(fields["node"]), str(fields["token"]), int(fields["port"]))
        is_node = place is None or place.node == self._host
        self._set_cluster(Cluster(str(data["session"]), str(data["ray_address"]), str(data["ray_token"])) if is_node else None)
        self._rack.move(place)

    async def _say_goodbye(self) -> None:
        """Tell the qmaster that this daemon ends in order, before its node does: else the host would be taken for lost."""
        body = {"host": self._host, "pid": os.getpid(), "incarnation": incarnation(), "ending": True}
        with suppress(NoQmasterError, aiohttp.ClientError, TimeoutError):
            (await self._client.post("/v1/execd_hello", json.dumps(body).encode(), self._caller, total_s=_GOODBYE_S)).close()

    async def _master_or_shadow_here(self) -> bool:
        """Whether a daemon that owns the files of this host, or replicates the master's by itself, runs here."""
        return any([await _answers(str(self._cell.run_dir / name)) for name in ("seat.sock", "gdi.sock")])

    def _set_cluster(self, cluster: Cluster | None) -> None:
        if cluster != self._cluster:
            self._cluster = cluster
            self._news.set()

    def _note_message(self, message: str) -> None:
        """Write the qmaster's refusal to a file, for the commands that start or check this host (`clients.admin.membership`)."""
        if message == self._noted_message:
            return
        try:
            atomic_write(self._spool / MASTER_REPLY_FILE, f"{message}\n".encode() if message else b"", 0o644)
            self._noted_message = message
        except OSError as error:
            _log.warning("cannot write the qmaster's refusal: %s: %s", error.filename, error.strerror)

    def _log_change(self, error_text: str) -> None:
        """Log once that the qmaster does not answer, and once that it does again."""
        now = asyncio.get_running_loop().time()
        if error_text and self._logged.is_new(error_text):
            self._silent_since = self._silent_since or now
            _log.error("%s", error_text, extra=about("master_silent"))
        elif not error_text and self._logged.clear():
            after_s, self._silent_since = now - (self._silent_since or now), 0.0
            again = about("master_answers", after_s=round(after_s, 1))
            _log.warning("the qmaster answers again after %s", format_duration(after_s), extra=again)


def _own_identity() -> LocalCaller:
    uid, gid = os.geteuid(), os.getegid()
    return LocalCaller(user_name(uid) or str(uid), uid, group_name(gid), gid)


async def _answers(path: str) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return False
    writer.close()
    return True
