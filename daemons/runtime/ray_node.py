"""A Ray node as a child process: started, watched and ended by a supervisor that does not import Ray.

Owns the environment and the life of the child; the code that runs in the child is `ray_process`. The kernel ends the child
and all of its daemons with the supervisor, so a supervisor that was killed leaves nothing behind. Called by the supervisors
of `sge_qmaster` (a head) and `sge_execd` (a worker node). Source: docs/architecture.md 5.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from daemons.runtime import children
from daemons.runtime.backoff import Backoff
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.daemon import module_command, module_environment
from daemons.runtime.keys import Keys, exec_host_keys, master_keys
from daemons.runtime.ports import PortBlock, claim_block
from gridengine.addresses import is_loopback, split_port
from gridengine.errors import UnavailableError
from gridengine.files.durable import write_new

#: seconds that a node may take to come up and to end
START_S = 90.0
STOP_S = 10.0
#: exit code of a driver whose actors were not ready in time
TOO_SLOW = 3
#: the signal that ends a node without deregistering, and the time that its end may take, in seconds
END_NOW = signal.SIGUSR1
STOP_NOW_S = 2.0

#: A host that was powered off or cut is seen dead in 4.5 s; a worker node that lost its head ends itself after 5 s;
#: neither Ray nor the kernel may choose the daemons to be killed when jobs use the memory; Ray reports no usage statistics.
#: Its logs lie in the run directory, which is memory: each keeps two files of 20 MB at most.
RAY_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USE_TLS": "1",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_niceness": "0",
    "RAY_worker_oom_score_adjustment": "0",
    "RAY_ROTATION_MAX_BYTES": "20000000",
    "RAY_ROTATION_BACKUP_COUNT": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_LOG_TO_DRIVER": "0",
    # as the qmaster compares (`release.ray_version`): hosts get the updates of their Python at different times
    "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL": "minor",
}

#: Periodic work of each Ray process for Ray's own tasks and objects, which are not used here, and for its dashboard, which does
#: not run. None of it is needed to detect the loss of a node or an actor (adr/0169).
RAY_SETTINGS |= {
    "RAY_enable_metrics_collection": "0",
    "RAY_event_stats": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_io_context_event_loop_lag_collection_interval_ms": "0",
    "RAY_debug_dump_period_milliseconds": "0",
    "RAY_report_worker_backlog_interval_ms": "60000",
    "RAY_raylet_report_resources_period_milliseconds": "1000",
    "RAY_gcs_pull_resource_loads_period_milliseconds": "60000",
    "RAY_raylet_check_gc_period_milliseconds": "60000",
    "RAY_free_objects_period_milliseconds": "60000",
    "RAY_object_manager_timer_freq_ms": "60000",
    "RAY_kill_idle_workers_interval_ms": "10000",
}

_SOCKET_PATH_BYTES = 107


class RayNodeError(UnavailableError):
    """The node did not start; one line with the reason."""


class SlowStartError(RayNodeError):
    """The start took longer than its limit: on a slow host the next attempt, with a longer limit, may succeed."""


def growing_limit(first_s: float) -> Backoff:
    """The limits of attempts to start something, seconds: each is twice the limit before, up to eight times the first."""
    return Backoff(first_s, 8 * first_s)


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """The specification of a node. `address`: at which other nodes reach it. `port` is the head's; a worker node has `head`
    ("ADDRESS:PORT") instead.

    `directory` is private to the node and emptied at its start; Ray makes it and its contents accessible to all users, so its
    parent must not be. `resources` are Ray's custom resources; `keys`: of the host that the node is of.
    """

    name: str
    address: str
    directory: str
    resources: dict[str, float]
    keys: Keys
    port: int = 0
    head: str = ""

    @property
    def token(self) -> Path:
        """The file of the token that every process needs to join the cluster; each head has a new token."""
        return Path(f"{self.directory}.token")


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node that is up. `session`: Ray's, new with every head; `head`: "ADDRESS:PORT" of the head; `node_id`: Ray's id of the
    node."""

    session: str
    head: str
    node_id: str


def ray_environment(cell: Cell, spec: NodeSpec, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of all Ray processes of a node: settings, token, keys, the path of our modules, no
    foreign RAY_*.

    Raises CellError without a token or keys: Ray would run without a token, and not name the keys that it lacks.
    """
    spec.keys.require()
    try:
        empty = not spec.token.read_bytes().strip()
    except OSError as error:
        raise CellError(f"cannot read {spec.token}: {error.strerror}") from error
    if empty:
        raise CellError(f"{spec.token} is empty")
    clean = {name: value for name, value in base.items() if not name.startswith("RAY_")}
    proofs = {
        "RAY_AUTH_TOKEN_PATH": str(spec.token),
        "RAY_TLS_SERVER_CERT": str(spec.keys.certificate),
        "RAY_TLS_SERVER_KEY": str(spec.keys.key),
        "RAY_TLS_CA_CERT": str(spec.keys.authority),
    }
    return module_environment(clean) | RAY_SETTINGS | cell.environment() | proofs


def head_spec(cell: Cell, name: str) -> NodeSpec:
    """Return the head node of the master host `name`. Raises CellError, RayNodeError (path of a socket too long)."""
    return _spec(cell, name, "qmaster", {"qmaster": 1.0}, master_keys(cell), port=cell.ray_port)


def worker_spec(cell: Cell, host: str, head: str) -> NodeSpec:
    """Return the worker node of an exec host. `head`: "ADDRESS:PORT" as given by the qmaster."""
    return _spec(cell, host, f"h-{host}", {f"host-{host}": 1.0}, exec_host_keys(cell, host), head=head)


def _spec(
    cell: Cell, name: str, directory: str, resources: dict[str, float], keys: Keys, port: int = 0, head: str = ""
) -> NodeSpec:
    path = str(cell.run_dir / "ray" / directory)
    if len(f"{path}/r".encode()) > _SOCKET_PATH_BYTES:
        raise RayNodeError(f"{path}: too long for sockets in it ({_SOCKET_PATH_BYTES} bytes): choose a shorter run_dir")
    # a worker node is reached from outside unless the whole cell is on this machine
    master = split_port(head)[0] if head else ""
    address = master if is_loopback(master) else cell.address(name)
    return NodeSpec(name, address, path, resources, keys, port, head)


class RayNode:
    """One node, for a supervisor's event loop: `start`, then `wait` until it is gone, or `stop` it.

    `token`: of the cluster that a worker node joins; a head makes a new token. `start_s`: limit of the start.
    """

    def __init__(self, cell: Cell, spec: NodeSpec, token: str = "", start_s: float = START_S) -> None:
        self._start_s = start_s
        self._cell, self._spec, self._token = cell, spec, token or secrets.token_hex(32)
        self._child: asyncio.subprocess.Process | None = None
        self._ports: PortBlock | None = None

    async def start(self) -> NodeInfo:
        """Start the node and return when it can be used. Raises RayNodeError (SlowStartError: not in time), CellError."""
        directory = Path(self._spec.directory)
        _make_private(directory.parent)
        directory.mkdir(exist_ok=True)
        write_new(self._spec.token, self._token.encode(), 0o600)
        self._release_ports()
        self._ports = claim_block(self._cell, self._spec.address, directory.parent)
        log = directory / "node.log"
        with log.open("wb") as stderr:
            self._child = await children.begin(
                *module_command("daemons.runtime.ray_program"),
                "daemons.runtime.ray_process",
                str(os.getpid()),
                json.dumps(asdict(self._spec) | asdict(self._ports), default=str),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env=ray_environment(self._cell, self._spec),
                cwd="/",
            )
        assert self._child.stdout is not None
        try:
            async with asyncio.timeout(self._start_s):
                line = await self._child.stdout.readline()
            return NodeInfo(**json.loads(line))
        except TimeoutError:
            await self.stop(immediately=True)
            reason = f"the Ray node {self._spec.name} did not start within {self._start_s:.0f} s: see {log}"
            raise SlowStartError(reason) from None
        except (ValueError, TypeError):
            await self.stop(immediately=True)
            raise RayNodeError(f"the Ray node {self._spec.name} did not start: see {log}") from None
        except asyncio.CancelledError:
            await self.stop(immediately=True)
            raise

    @property
    def alive(self) -> bool:
        """Whether the node runs; when one of its processes ends, all of them do, within half a second."""
        return self._child is not None and self._child.returncode is None

    async def wait(self) -> None:
        """Return when the node has ended, for any reason."""
        if self._child is not None:
            await self._child.wait()

    async def stop(self, immediately: bool = False) -> None:
        """End the node and return when it is gone. `immediately`: without deregistering, since the head is gone."""
        try:
            if self.alive:
                await self._end(*((END_NOW, STOP_NOW_S) if immediately else (signal.SIGTERM, STOP_S)))
        finally:
            self._release_ports()

    async def _end(self, number: signal.Signals, patience_s: float) -> None:
        assert self._child is not None
        self._child.send_signal(number)
        try:
            async with asyncio.timeout(patience_s):
                await self._child.wait()
        except TimeoutError:
            await children.end(self._child)  # the whole group: a node that is still starting has processes that it does not know

    def _release_ports(self) -> None:
        if self._ports is not None:
            self._ports.release()
            self._ports = None


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError as error:
        raise RayNodeError(f"cannot make {directory}: {error.strerror}") from error
    if status.st_uid != os.geteuid() or directory.is_symlink():
        raise RayNodeError(f"{directory} belongs to another user")
    directory.chmod(0o700)
