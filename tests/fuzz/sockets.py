"""A fuzzer of the live sockets of a cell: random requests to the qmaster and to an exec host's gateway.

Runs the requests and defines a finding: an internal error, no answer, an invalid answer, a request that occupies the qmaster
for too long at every repetition. Where it can, it plays as an ordinary user; else without the requests by which an
administrator takes his own cell apart.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from tests.fuzz.in_process import MOST_BYTES, Findings
from tests.fuzz.shapes import TYPES, Shapes

NOBODY = 65534
WITHOUT = frozenset(("execd_hello", "shutdown", "kill_event_clients", "clean_queues", "clear_usage", "monitor_scheduling"))
OF_USERS = frozenset(name for name in TYPES if not name.startswith(("config_", "change_")) or name == "change_states") - WITHOUT
PATIENCE_S = 60.0
CLEAN_EVERY = 500
"""Requests after which the jobs that came of them are deleted."""
TRIES = 4
"""A request is slow, and a gateway without its master, if each of so many tries says so: the machine has other things to do
as well."""


class _Connection(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(str(self._path))


class SocketFuzzer:
    """Plays on `sockets`. `slow_s`: time that no request may take."""

    def __init__(self, sockets: list[Path], seed: int, slow_s: float) -> None:
        self.findings = Findings(slow_s)
        names = set(OF_USERS) if os.geteuid() != 0 else set(TYPES) - WITHOUT
        self._shapes = Shapes(seed, sorted(names))
        self._connections = [_Connection(path) for path in sockets]

    def run(self, goes_on: Callable[[int], bool]) -> Findings:
        """Send requests as long as `goes_on(requests so far)`; root does so in a process of the user nobody."""
        return _as_nobody(lambda: self._play(goes_on)) if os.geteuid() == 0 else self._play(goes_on)

    def _play(self, goes_on: Callable[[int], bool]) -> Findings:
        while goes_on(self.findings.requests):
            name, body = self._shapes.request()
            if len(body) > MOST_BYTES:
                continue
            self.findings.requests += 1
            self._ask(name, body)
            if self.findings.requests % CLEAN_EVERY == 0:
                self._clean()
        self._clean()
        return self.findings

    def _ask(self, name: str, body: bytes) -> None:
        connection = self._shapes.random.choice(self._connections)
        spent = self._answered(connection, name, body)
        for _ in range(TRIES - 1):
            if spent <= self.findings.slow_s:
                break
            spent = min(spent, self._answered(connection, name, body))
        if spent > self.findings.slowest_s:
            self.findings.slowest_s, self.findings.slowest = spent, f"{name} {body[:300]!r}"
        if spent > self.findings.slow_s:
            self.findings.add(f"a slow request: {name}", f"{spent * 1000:.0f} ms: {body[:2000]!r}")

    def _answered(self, connection: _Connection, name: str, body: bytes) -> float:
        """Send a request and look at the answer; seconds that it took."""
        for _ in range(TRIES):
            begun = time.monotonic()
            try:
                connection.request("POST", f"/v1/{name}", body)
                response = connection.getresponse()
                data = response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self.findings.add(f"no answer: {type(error).__name__}", f"{name} {body[:2000]!r}")
                return 0.0
            spent = time.monotonic() - begun
            if response.status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
        self._look_at(response.status, data, f"{name} {body[:2000]!r}")
        return spent

    def _look_at(self, status: int, data: bytes, what: str) -> None:
        if status != 200:
            self.findings.add(f"HTTP status {status}", f"{what}: {data[:500]!r}")
        elif b"internal error" in data:
            self.findings.add("an internal error", what)
        else:
            try:
                self.findings.accepted += json.loads(data)["status"] == 0
            except (ValueError, KeyError, TypeError):
                self.findings.add("an answer that is none", f"{what}: {data[:500]!r}")

    def _clean(self) -> None:
        for user in ("nobody", "*"):
            self._answered(self._connections[0], "delete_jobs", json.dumps({"users": [user]}).encode())


def _as_nobody(play: Callable[[], Findings]) -> Findings:
    """The outcome of a run in a child process of the user nobody."""
    import pickle

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            with os.fdopen(writer, "wb") as out:
                pickle.dump(play(), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as found:
        data = found.read()
    os.waitpid(child, 0)
    outcome = pickle.loads(data)
    assert isinstance(outcome, Findings)
    return outcome
