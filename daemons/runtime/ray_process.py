"""The child process that is a Ray node: starts the GCS (head only) and the raylet, and ends when one of them ends.

Started by `ray_node` as `daemons.runtime.ray_program daemons.runtime.ray_process SUPERVISOR_PID SPEC`; prints one line of JSON
when the node is up. Uses Ray's own class `Node`, not its command line: a node without dashboard, monitor and Python agents is up
in 0.5 s instead of 3 s and takes 30 MB instead of 300. That class is private to Ray, therefore Ray's version is pinned,
and an integration test detects when a new one behaves differently.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import ray._private.services as services
from ray._private.node import Node
from ray._private.parameter import RayParams
from ray._raylet import (  # type: ignore[attr-defined]
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    RUNTIME_ENV_AGENT_PORT_NAME,
    persist_port,
)

from daemons.runtime.daemon import die_with_parent
from daemons.runtime.ray_node import END_NOW

_OBJECT_STORE_BYTES = 80_000_000  # Ray's least
_CHECK_S = 5.0
"""Seconds between two checks of the processes; the kernel signals their ends at once."""
_NOTICES = 4096

#: The raylet insists on two agents and ends when one of them does. These hold its pipe and end with it.
_AGENT = ["/bin/sh", "-c", "exec cat >/dev/null"]
_WORKER = "ray._private.workers.default_worker"


class PlainNode(Node):  # type: ignore[misc]
    """A node of GCS and raylet alone."""

    def start_api_server(self, **_options: Any) -> None:
        """No dashboard."""
        self._webui_url = ""

    def start_raylet(self, *arguments: Any, **options: Any) -> None:
        """Start the raylet with placeholders for the ports that its agents would report: none of them runs."""
        for name in (METRICS_AGENT_PORT_NAME, METRICS_EXPORT_PORT_NAME, DASHBOARD_AGENT_LISTEN_PORT_NAME):
            persist_port(self._session_dir, self._node_id, name, -1)
        # the raylet requires a valid number for this port, which is not used, since no actor has a runtime environment
        persist_port(self._session_dir, self._node_id, RUNTIME_ENV_AGENT_PORT_NAME, 1)
        super().start_raylet(*arguments, **options)


def start_node(spec: dict[str, Any]) -> PlainNode:
    """Start the processes of the node that `spec` (a `ray_node.NodeSpec` and a `ports.PortBlock`) describes."""
    directory = Path(spec["directory"])
    raylet_socket, store_socket = directory / "r", directory / "s"
    _remove_leftovers(directory)
    parameters = RayParams(
        node_ip_address=spec["address"],
        node_name=spec["name"],
        num_cpus=0,
        num_gpus=0,
        memory=2**30,
        object_store_memory=_OBJECT_STORE_BYTES,
        resources=spec["resources"],
        include_dashboard=False,
        include_log_monitor=False,
        no_monitor=True,
        temp_dir=spec["directory"],
        raylet_socket_name=str(raylet_socket),
        plasma_store_socket_name=str(store_socket),
        node_manager_port=spec["node_manager"],
        object_manager_port=spec["object_manager"],
        worker_port_list=",".join(map(str, spec["workers"])),
        setup_worker_path=str(Path(__file__).with_name("ray_program.py")),
        worker_path=_WORKER,
    )
    if spec["head"]:
        parameters.gcs_address = spec["head"]
    else:
        parameters.gcs_server_port = spec["port"]
    services._build_python_executable_command_memory_profileable = lambda *_, **__: list(_AGENT)
    return PlainNode(parameters, head=not spec["head"], shutdown_at_exit=False, spawn_reaper=True)


def _remove_leftovers(directory: Path) -> None:
    """Remove the files that a killed node left: Ray would not start over its sockets."""
    for leftover in directory.iterdir():
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        elif leftover.suffix != ".log":
            leftover.unlink()


def _end(node: PlainNode | None, status: int) -> NoReturn:
    if node is not None:
        node.kill_all_processes(check_alive=False, allow_graceful=status == 0)
    os._exit(status)


def _signals() -> Callable[[float], None]:
    """Start to note signals, including the end of a child; return the function that waits for the next signal, or a timeout."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)

    def wait(seconds: float) -> None:
        if select.select([read_end], [], [], seconds)[0]:
            os.read(read_end, _NOTICES)

    return wait


def main() -> None:
    """Run the node until a signal (SIGTERM; at once: `END_NOW`), the end of one of its processes, or of the supervisor."""
    supervisor, spec = int(sys.argv[1]), json.loads(sys.argv[2])
    die_with_parent(supervisor)
    stop_signal = 0

    def stop(number: int, _frame: object) -> None:
        nonlocal stop_signal
        stop_signal = number

    signal.signal(signal.SIGTERM, stop)
    signal.signal(END_NOW, stop)
    wait_for_signal = _signals()
    node = start_node(spec)
    facts = {"session": node.session_name, "head": node.gcs_address, "node_id": node.node_id}
    os.write(1, json.dumps(facts).encode() + b"\n")
    os.dup2(2, 1)
    while not stop_signal:
        wait_for_signal(_CHECK_S)
        if dead := node.dead_processes():
            print("ended by itself:", ", ".join(str(kind) for kind, _ in dead), file=sys.stderr)
            _end(node, 1)
    _end(node, 0 if stop_signal == signal.SIGTERM else 1)


if __name__ == "__main__":
    main()
