"""A session's process that a test plays turn by turn: its clock and its poll are the test's, sockets and pipes are real."""

from __future__ import annotations

import json
import os
import select
import socket
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols import session
from shepherd.session_process import SessionProcess
from shepherd.streams import Streams, open_terminal
from tests.unit.shepherd.configuration import config

PIPE = 65536
"""Bytes that a pipe holds."""
MANY = 10_000
"""More turns than anything here needs: it does not wait but spins."""


class Idle(BaseException):
    """There is nothing to do."""


class Poll:
    """A poll object of a process that is played."""

    def __init__(self, played: Played, real: select.poll) -> None:
        self._played, self._real = played, real
        self.register = real.register

    def poll(self, timeout_ms: float | None) -> list[tuple[int, int]]:
        played = self._played
        played.turns += 1
        assert played.turns < MANY
        if events := self._real.poll(0):
            return events
        played.waits_s = None if timeout_ms is None else timeout_ms / 1000
        if timeout_ms is None or not played.patient:
            raise Idle
        played.now += timeout_ms / 1000
        return []


class Caller:
    """A client: what it was answered, and the frames that have come for it."""

    def __init__(self, path: Path, greeting: bytes) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.sendall(greeting)
        self.answer: dict[str, Any] = {}
        self.cut_off = False
        self._inbox = session.Inbox()

    def read_answer(self) -> None:
        self.socket.setblocking(False)
        line = b""
        while not line.endswith(b"\n"):
            line += self.socket.recv(1)
        self.answer = json.loads(line)
        self._inbox.begin_connection(self.answer.get("first"))

    def send(self, kind: bytes, data: bytes = b"") -> None:
        self.socket.sendall(session.encode_frame(kind, data))

    def frames(self, size: int = 2**24) -> list[tuple[bytes, bytes]]:
        """What has come, of `size` bytes at most."""
        data = b""
        with suppress(BlockingIOError):
            while len(data) < size and not self.cut_off:
                more = self.socket.recv(size - len(data))
                self.cut_off = not more
                data += more
        return self._inbox.feed(data)

    def output(self) -> bytes:
        """What has come of the job's output."""
        return b"".join(data for kind, data in self.frames() if kind == session.OUTPUT)

    def acknowledge(self) -> None:
        self.socket.sendall(session.encode_acknowledgement(self._inbox.count))


class Played:
    """A session's process in the thread of the test, which serves until it has nothing to do; `now` is its clock.

    `waits_s`: for how long it would wait then, None forever.
    """

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, streams: Streams, **changes: Any) -> None:
        self.now, self.turns, self.patient = 1000.0, 0, False
        self.waits_s: float | None = None
        self.streams = streams
        self.path = directory / "session"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(8)
        (self.gate, opener), (listening, self.control) = os.pipe(), os.pipe()
        poll = select.poll
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(select, "poll", lambda: Poll(self, poll()))
        changed = config(**{"attempt": 1, "session": "pipes", "session_grace_s": 60, **changes})
        self._process = SessionProcess(self.listener, streams, opener, listening, changed)

    def serve(self) -> int | None:
        """Go on until it would wait; the exit status if it ends."""
        self.turns = 0
        try:
            return self._process.run()
        except Idle:
            return None

    def wait(self) -> int | None:
        """Go on, and let the time pass for which it waits."""
        self.patient = True
        return self.serve()

    def connect(self, **greeting: Any) -> Caller:
        """A client that was let in, or was not."""
        caller = Caller(self.path, json.dumps({"attempt": 1, "client": None, "received": None, **greeting}).encode() + b"\n")
        assert self.serve() is None
        caller.read_answer()
        return caller

    def write(self, size: int, piece: int = 65536) -> int:
        """The job writes what is taken of `size` bytes; how much that was."""
        descriptor, written = self.streams.job[1], 0
        os.set_blocking(descriptor, False)
        with suppress(BlockingIOError):
            while written < size:
                written += os.write(descriptor, b"x" * min(piece, size - written))
                self.serve()
        return written

    def job_leaves(self) -> None:
        """All processes of the job are gone."""
        self.streams.close_job_ends()

    def finish(self, linger: bool = True) -> int | None:
        """The job ended with 3."""
        os.write(self.control, json.dumps({"outcome": {"exit_status": 3}, "linger": linger}).encode() + b"\n")
        return self.serve()


Play = Callable[..., Played]


def open_raw_terminal() -> Streams:
    """A terminal that passes on each byte as it is."""
    streams = open_terminal(os.geteuid(), os.getegid())
    tty.setraw(streams.job[0])
    return streams


def ended(frames: list[tuple[bytes, bytes]]) -> bool:
    """Whether the outcome is the last that has come."""
    return bool(frames) and frames[-1][0] == session.EXIT and json.loads(frames[-1][1]) == {"exit_status": 3}
