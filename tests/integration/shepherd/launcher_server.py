"""A process that has loaded `shepherd.launcher`, and forks a launcher for each cell: a start of Python costs more than a test.

`LauncherServer` is its side in the process of the tests, `serve` is the process. A launcher is its own process with its own
spool, as when the execd starts it: the same user, environment and ignored signals. Must not import pytest: the launchers, and
their shepherds, are copies of this process.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from pwd import struct_passwd
from typing import Any

from shepherd import launcher

_PROJECT = Path(__file__).parents[3]


class LauncherServer:
    """A context: the server of one user. `user`: runs the launchers; None: the user of the tests. Waits at most `patience_s`."""

    def __init__(self, user: struct_passwd | None, patience_s: float) -> None:
        """The server is below nohup, as an administrator may start the launcher: jobs must not inherit the ignored SIGHUP."""
        self.uid = os.geteuid() if user is None else user.pw_uid
        self._socket, requests = socket.socketpair()
        with requests:
            self._process = subprocess.Popen(
                ["nohup", sys.executable, "-m", "tests.integration.shepherd.launcher_server"],
                env={"PYTHONPATH": str(_PROJECT), "TZ": "UTC"},
                stdin=requests.fileno(),
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
                extra_groups=None if user is None else [],
            )
        self._socket.settimeout(patience_s)
        self._answers = self._socket.makefile("rb")

    def __enter__(self) -> LauncherServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()
        self._process.wait()

    def start(self, spool: Path) -> Launcher:
        """Fork a launcher for this spool directory."""
        return Launcher(self, self.ask(spool=str(spool)))

    def ask(self, **request: Any) -> int:
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        return int(self._answers.readline())


@dataclass
class Launcher:
    """A launcher of a server."""

    server: LauncherServer
    pid: int

    def wait(self) -> int:
        """Its exit status; -N if signal N killed it."""
        return self.server.ask(pid=self.pid)


def serve() -> None:
    """Answer requests from standard input, a socket: `spool` with the id of a new launcher, `pid` with a launcher's exit
    status."""
    with socket.socket(fileno=os.dup(0)) as connection, connection.makefile("rb") as requests:
        for line in requests:
            request = json.loads(line)
            if "pid" in request:
                answer = os.waitstatus_to_exitcode(os.waitpid(request["pid"], 0)[1])
            else:
                answer = _fork(request["spool"])
            connection.sendall(b"%d\n" % answer)


def _fork(spool: str) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            status = launcher.main([spool])
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the connection
    gc.collect()
    gc.freeze()  # the collections of launchers leave it alone
    serve()
