"""A configured daemon (`sshd -i`, `in.rshd` …) that replaces the builtin connection to a task: its socket and its script.

The process of the job waits at a port for the client's configured command and executes the daemon, as inetd(8) would
start it. The user's command is in a script, with the job's environment, that the client passes to the daemon.
Called by `process`, and by `run` when the session is opened. Source: remote_startup(5); IA-5.
"""

from __future__ import annotations

import os
import shlex
import socket
import time
from pathlib import Path

from gridengine.addresses import ANY, ANY_6
from gridengine.errors import UnavailableError
from gridengine.protocols import session
from gridengine.protocols.task_file import TaskConfig
from shepherd.command_line import job_command_line
from shepherd.identity import Identity

SCRIPT = "remote_command"
#: seconds in which the client's command must have connected
_CONNECT_S = 60.0


class NoConnectionError(UnavailableError):
    """No client connected in time."""


def write_script(directory: Path, config: TaskConfig, owner: Identity) -> None:
    """Write the script with the job's command for the authenticated user: in the job's directory and environment."""
    if config.command is None:
        return  # a login: the daemon starts the shell itself
    exports = [f"export {name}={shlex.quote(value)}" for name, value in config.environment.items() if name.isidentifier()]
    argv = shlex.join(job_command_line(config).argv)
    lines = ["#!/bin/sh", f"cd {shlex.quote(config.cwd)} || exit", *exports, f"exec {argv}"]
    descriptor = os.open(directory / SCRIPT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o500)
    try:
        os.write(descriptor, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
        if os.geteuid() == 0:
            os.fchown(descriptor, owner.uid, owner.gid)
    finally:
        os.close(descriptor)


def _listener() -> socket.socket:
    """A listening socket on all interfaces: the client may come by IPv4 or IPv6."""
    if socket.has_dualstack_ipv6():
        return socket.create_server((ANY_6, 0), family=socket.AF_INET6, backlog=8, dualstack_ipv6=True)
    return socket.create_server((ANY, 0), backlog=8)


def await_client(script: Path, client: str) -> None:
    """In the process of the job: write `PORT SCRIPT` to the session, and make the client's connection its input and output.

    `client`: origin of the session's client (`gridengine.protocols.session.client_origin`); other connections are closed. Raises
    NoConnectionError or OSError.
    """
    with _listener() as listener:
        port = listener.getsockname()[1]
        os.write(1, f"{port} {script if script.exists() else ''}\n".encode())
        until = time.monotonic() + _CONNECT_S
        try:
            while True:
                listener.settimeout(max(0.001, until - time.monotonic()))
                connection, (peer, *_) = listener.accept()
                if session.client_origin(peer, connection.getsockname()[0]) == client:
                    break
                connection.close()
        except TimeoutError:
            text = f"no client on host {client} connected to port {port} within {_CONNECT_S:.0f} seconds"
            raise NoConnectionError(text) from None
    connection.setblocking(True)
    os.dup2(connection.fileno(), 0, inheritable=True)
    os.dup2(connection.fileno(), 1, inheritable=True)
    connection.close()
