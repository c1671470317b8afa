"""The program in a job of `gridengine ray` and `gridengine dask`: builds the cluster on the job's hosts, and runs the script.

Owns the life of the cluster: complete before the script begins, and removed after the script, also when a host fails to start.
Run as `python -I head.py KIND PYTHON SCRIPT [ARGUMENT ...]` in the master task, by the installed interpreter; `kinds` describes
the kinds of clusters; `node` runs on each host. Source: sge_pe(5) control_slaves; TI-1.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

sys.path.append(str(Path(__file__).resolve().parents[3]))

from clients.admin.clusters import node  # noqa: E402
from clients.admin.clusters.kinds import KINDS, TRIES, ClusterHost, Part  # noqa: E402
from gridengine.addresses import LOOPBACK, family_of, host_addresses  # noqa: E402
from gridengine.errors import UserError  # noqa: E402

_NODE = Path(node.__file__).resolve()
_PORTS = 3
#: s in which all hosts must have started
_READY_S = 300.0
#: s in which all hosts must have ended
_END_S = 30.0


class ClusterError(UserError):
    """The cluster cannot be built; the text is a line for the user."""


def hosts_of_job() -> list[ClusterHost]:
    """The job's hosts with their slots, the master host first. Raises ClusterError."""
    path = os.environ.get("PE_HOSTFILE", "")
    if not path:
        raise ClusterError("this is no parallel job: -pe NAME SLOTS is needed")
    slots: dict[str, int] = {}
    for line in Path(path).read_text().splitlines():
        name, count, *_ = line.split()
        slots[name] = slots.get(name, 0) + int(count)
    return [ClusterHost(name, count) for name, count in slots.items()]


def address_of(hosts: list[ClusterHost]) -> str:
    """The address on which the head listens: the loopback address unless the job has other hosts. Raises ClusterError."""
    if len(hosts) == 1:
        return LOOPBACK
    for address in host_addresses((hosts[0].name,)):
        return address
    raise ClusterError(f"host {hosts[0].name} has no address: its name does not resolve here")


def free_ports(address: str, count: int) -> list[int]:
    """Ports of this host that are free at this moment."""
    sockets = [socket.socket(family_of(address)) for _ in range(count)]
    try:
        for each in sockets:
            each.bind((address, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def session_directory() -> str:
    """The directory of Ray's sockets. Paths of sockets must be short, and the name is the same on all hosts.

    The user alone may enter it. Ray makes its session directory accessible to all users, so that directory is inside this
    directory.
    """
    own = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="r", dir=own if len(own) < 30 else "/tmp")


def start_other(host: ClusterHost, part: Part) -> subprocess.Popen[bytes]:
    """Have a host of the job start its part."""
    qrsh = os.path.join(os.environ.get("SGE_BINARY_PATH", ""), "qrsh")
    command = [qrsh, "-inherit", host.name, sys.executable, "-I", str(_NODE)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(part).encode() + b"\n")
    process.stdin.flush()
    return process


def await_ready(others: dict[str, subprocess.Popen[bytes]]) -> None:
    """Wait until every host has reported `ready`. Raises ClusterError."""
    deadline = time.monotonic() + _READY_S
    waiting: dict[Any, str] = {process.stdout: name for name, process in others.items()}
    while waiting:
        left = deadline - time.monotonic()
        readable = select.select(list(waiting), [], [], left)[0] if left > 0 else []
        if not readable:
            raise ClusterError(f"not ready within {_READY_S:.0f} s: {', '.join(sorted(waiting.values()))}")
        for stream in readable:
            name = waiting.pop(stream)
            if stream.readline() != b"ready\n":
                raise ClusterError(f"host {name} has not started")


def run(kind: str, python: str, script: list[str]) -> int:
    """Build the cluster, run the script, take the cluster down; the script's exit status. Raises ClusterError, OSError."""
    hosts = hosts_of_job()
    address = address_of(hosts)
    directory, private = session_directory(), node.private_directory()
    daemons: list[subprocess.Popen[bytes]] = []
    others: dict[str, subprocess.Popen[bytes]] = {}
    own = [private, directory]
    try:
        for left in reversed(range(TRIES)):
            cluster = KINDS[kind](python, hosts, address, free_ports(address, _PORTS), directory)
            try:
                for part in cluster.daemons:
                    own.append(node.private_directory())
                    daemons.append(node.start_part(part, own[-1]))
                break
            except ChildProcessError:
                if not left:
                    raise
        for host, part in zip(hosts[1:], cluster.others, strict=True):
            others[host.name] = start_other(host, part)
        await_ready(others)
        node.write_files(private, cluster.files)
        environment = {**os.environ, **{n: value.replace("{private}", private) for n, value in cluster.environment.items()}}
        if cluster.check and subprocess.run([python, "-c", cluster.check], env=environment).returncode:
            raise ClusterError("not all of its workers have started")
        print(f"{kind} cluster: {', '.join(f'{host.name} {host.slots}' for host in hosts)}", file=sys.stderr, flush=True)
        status = subprocess.run([python, *script], env=environment).returncode
        return 128 - status if status < 0 else status
    except ChildProcessError as error:
        raise ClusterError(f"host {hosts[0].name}: {error}") from None
    finally:
        for process in others.values():
            if process.stdin is not None:
                process.stdin.close()
        for daemon in reversed(daemons):
            node.end(daemon, [])
        _await_end(others)
        node.end(None, own)


def _await_end(others: dict[str, Any]) -> None:
    for process in others.values():
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.terminate()


def _terminated(number: int, _frame: object) -> NoReturn:
    """On qdel: stop the cluster in order, within the shepherd's grace period."""
    sys.exit(128 + number)


def main() -> int:
    """The exit status of the script, or 1 with the reason on stderr if there is no cluster."""
    signal.signal(signal.SIGTERM, _terminated)
    kind, python, *script = sys.argv[1:]
    try:
        return run(kind, python, script)
    except (ClusterError, OSError) as error:
        print(f"gridengine {kind}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
