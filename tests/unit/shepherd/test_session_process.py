"""The process that holds the streams of an interactive task, with a client that a test plays (IA-1, IA-2, IA-6, IA-9)."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gridengine.protocols import session
from shepherd.session_process import ABANDONED, ENDED, FINISHED, SessionProcess
from shepherd.streams import Streams, open_pipes, open_terminal
from tests.unit.shepherd.configuration import config

PATIENCE_S = 60.0
TRIES = 600


class Client:
    """A connection, and what was received over it."""

    def __init__(self, connection: socket.socket, answer: dict[str, Any]) -> None:
        self.socket, self.answer = connection, answer
        self._inbox = session.Inbox()
        self._inbox.begin_connection(answer.get("first", 0))
        self._frames: list[tuple[bytes, bytes]] = []

    def send(self, kind: bytes, data: bytes = b"") -> None:
        self.socket.sendall(session.encode_frame(kind, data))

    def next(self) -> tuple[bytes, bytes]:
        """The next frame; (b"", b"") at the end of the connection."""
        while not self._frames:
            data = self.socket.recv(65536)
            if not data:
                return b"", b""
            self._frames += self._inbox.feed(data)
        return self._frames.pop(0)

    def output(self, size: int) -> bytes:
        """The next `size` bytes of the job's output, in however many frames a terminal gives them."""
        content = b""
        while len(content) < size:
            kind, data = self.next()
            assert kind in (session.OUTPUT, session.ACKNOWLEDGED)
            content += data if kind == session.OUTPUT else b""
        return content

    def acknowledge(self) -> None:
        self.socket.sendall(session.encode_acknowledgement(self._inbox.count))


class Played:
    """A session process, run by a thread: `job` has the job's ends, `gate` says where the first client is."""

    running: list[Played] = []
    """Those of the test: none may outlive it, since other tests play with the clock by which it waits."""

    def __init__(self, directory: Path, streams: Streams, **changes: Any) -> None:
        self.job = streams.job
        self.path = str(directory / "session")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(8)
        (self.gate, opener), (listening, self.control) = os.pipe(), os.pipe()
        self.status: list[int] = []
        process = SessionProcess(listener, streams, opener, listening, config(**{"attempt": 1, "session": "pipes", **changes}))
        self._thread = Thread(target=lambda: self.status.append(process.run()), daemon=True)
        self._thread.start()
        self.running.append(self)

    def stop(self) -> None:
        """Have a client end the task, if the process still waits for something; again, until it has seen that the one before
        is gone."""
        for _ in range(TRIES):
            with suppress(OSError):
                if self._thread.is_alive():
                    self.greet().send(session.END)
            self._thread.join(PATIENCE_S / TRIES)
        assert not self._thread.is_alive()

    def greet(self, **greeting: Any) -> Client:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(self.path)
        connection.sendall(json.dumps({"attempt": 1, "client": None, "received": None, **greeting}).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            byte = connection.recv(1)
            if not byte:
                raise ConnectionError("the session is over")
            line += byte
        return Client(connection, json.loads(line))

    def finish(self, linger: bool = True, **outcome: Any) -> None:
        """The job is over."""
        for descriptor in set(self.job):
            os.close(descriptor)
        os.write(self.control, json.dumps({"outcome": outcome, "linger": linger}).encode() + b"\n")

    def end(self) -> int:
        """Wait for the end, and how it ended."""
        self._thread.join(PATIENCE_S)
        return self.status[0]


@pytest.fixture(autouse=True)
def all_end() -> Iterator[None]:
    """Nothing runs on behind a test."""
    yield
    while Played.running:
        Played.running.pop().stop()


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path, open_pipes())


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Played]:
    yield Played(tmp_path, open_terminal(os.geteuid(), os.getegid()), session="pty")


@pytest.mark.statement("IA-1")
@pytest.mark.parametrize(("greeting", "where"), [({}, b"localhost"), ({"origin": "10.0.0.7"}, b"10.0.0.7")])
def test_the_first_client_lets_the_job_begin(played: Played, greeting: dict[str, Any], where: bytes) -> None:
    answer = played.greet(**greeting).answer
    assert answer == {"client": 1, "received": 0, "first": 0, "terminal": False, "daemon": "builtin"}
    assert (os.read(played.gate, 100), os.read(played.gate, 100)) == (where, b"")


@pytest.mark.statement("IA-5")
def test_a_client_gets_the_name_of_the_daemon(tmp_path: Path) -> None:
    assert Played(tmp_path, open_pipes(), remote_daemon="/usr/sbin/sshd -i").greet().answer["daemon"] == "/usr/sbin/sshd -i"


@pytest.mark.statement("IA-1", "IA-9")
def test_output_comes_as_it_is_written_and_the_outcome_behind_it(played: Played) -> None:
    client = played.greet()
    os.write(played.job[1], b"out")
    assert client.next() == (session.OUTPUT, b"out")
    os.write(played.job[2], b"err")
    assert client.next() == (session.ERROR, b"err")
    os.write(played.job[1], b"last words")
    played.finish(exit_status=3)
    assert client.next() == (session.OUTPUT, b"last words")
    kind, outcome = client.next()
    assert (kind, json.loads(outcome)) == (session.EXIT, {"exit_status": 3})
    client.acknowledge()
    assert played.end() == FINISHED


@pytest.mark.statement("IA-1", "IA-9")
def test_input_reaches_the_job_and_is_acknowledged_and_so_does_its_end(played: Played) -> None:
    client = played.greet()
    client.send(session.INPUT, b"hello")
    assert os.read(played.job[0], 100) == b"hello"
    assert client.next() == (session.ACKNOWLEDGED, (1).to_bytes(8, "big"))
    client.send(session.INPUT)
    assert os.read(played.job[0], 100) == b""
    client.send(session.INPUT, b"too late")
    assert client.next()[0] == session.ACKNOWLEDGED, "nobody reads it; it is no reason to wait"


@pytest.mark.statement("IA-1")
def test_input_that_the_pipe_does_not_take_at_once_reaches_the_job_whole(played: Played) -> None:
    client = played.greet()
    sent = bytes(range(256)) * 1200
    for start in range(0, len(sent), 30_000):
        client.send(session.INPUT, sent[start : start + 30_000])
    client.send(session.INPUT)
    got = b""
    while data := os.read(played.job[0], 5000):
        got += data
    assert got == sent


@pytest.mark.statement("IA-9")
def test_a_client_that_was_cut_off_gets_what_it_has_missed_and_nothing_twice(played: Played) -> None:
    client = played.greet()
    for text in (b"one", b"two"):
        os.write(played.job[1], text)
        assert client.next() == (session.OUTPUT, text)
    client.send(session.INPUT, b"typed")
    assert os.read(played.job[0], 100) == b"typed"
    client.socket.close()
    os.write(played.job[1], b"three")
    again = played.greet(client=1, received=1)
    assert (again.answer["client"], again.answer["received"], again.answer["first"]) == (1, 1, 1)
    assert again.next() == (session.OUTPUT, b"two")
    assert again.next() == (session.OUTPUT, b"three")


@pytest.mark.statement("IA-2", "IA-9")
def test_another_client_takes_the_session_over(played: Played) -> None:
    first = played.greet()
    second = played.greet()
    assert second.answer["client"] == 2
    assert (first.next(), first.next()) == ((session.SUPERSEDED, b""), (b"", b""))
    assert played.greet(client=1, received=0).answer == {"refused": "another client has taken the session over"}
    os.write(played.job[1], b"out")
    assert second.next() == (session.OUTPUT, b"out")


@pytest.mark.statement("IA-2")
def test_a_wrong_client_is_refused_and_disturbs_no_other(played: Played) -> None:
    client = played.greet()
    assert "another attempt" in played.greet(attempt=2).answer["refused"]
    assert "no longer kept" in played.greet(client=1, received=99).answer["refused"]
    for greeting in (b"hello\n", b"{}\n", b"[]\n", b"x" * 5000, b"{"):
        stranger = socket.socket(socket.AF_UNIX)
        stranger.settimeout(PATIENCE_S)
        stranger.connect(played.path)
        stranger.sendall(greeting)
        stranger.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):  # closed with bytes that nobody has read
            assert stranger.recv(100) == b""
        stranger.close()
    os.write(played.job[1], b"out")
    assert client.next() == (session.OUTPUT, b"out")


@pytest.mark.statement("IA-6", "IA-9")
def test_the_client_may_end_the_task(played: Played) -> None:
    played.greet().send(session.END)
    assert played.end() == ENDED


@pytest.mark.statement("IA-9")
def test_without_a_shepherd_there_is_no_session(played: Played) -> None:
    played.greet()
    os.close(played.control)
    assert played.end() == ABANDONED


@pytest.mark.statement("IA-9")
def test_a_session_without_a_client_ends(tmp_path: Path) -> None:
    assert Played(tmp_path, open_pipes(), session_grace_s=0).end() == ABANDONED


@pytest.mark.statement("IA-9")
def test_the_end_of_a_deleted_job_is_not_waited_for(played: Played) -> None:
    played.greet().socket.close()
    played.finish(linger=False, exit_status=0)
    assert played.end() == ABANDONED


@pytest.mark.statement("IA-9")
def test_a_job_without_a_client_keeps_its_outcome_for_the_next(played: Played) -> None:
    client = played.greet()
    os.write(played.job[1], b"out")
    assert client.next() == (session.OUTPUT, b"out")
    client.socket.close()
    played.finish(exit_status=5)
    again = played.greet(client=1, received=1)
    assert json.loads(again.next()[1]) == {"exit_status": 5}
    again.acknowledge()
    assert played.end() == FINISHED


@pytest.mark.statement("IA-9")
def test_a_client_that_speaks_nonsense_is_lost_and_may_come_again(played: Played) -> None:
    client = played.greet()
    client.send(session.ACKNOWLEDGED, (99).to_bytes(8, "big"))
    assert client.next() == (b"", b"")
    os.write(played.job[1], b"out")
    assert played.greet(client=1, received=0).next() == (session.OUTPUT, b"out")


@pytest.mark.statement("SO-29", "IA-7")
def test_a_terminal_has_the_size_of_its_client_and_shows_again_what_was_there(terminal: Played) -> None:
    client = terminal.greet(size=[40, 100, 0, 0])
    assert client.answer["terminal"]
    slave = terminal.job[0]
    assert os.read(terminal.gate, 100) == b"localhost", "the job may begin, and finds its terminal ready"
    assert os.get_terminal_size(slave) == (100, 40)
    client.send(session.INPUT, b"typed\n")
    assert os.read(slave, 100) == b"typed\n"
    assert client.output(7) == b"typed\r\n", "a terminal shows what is typed"
    client.acknowledge()
    client.send(session.WINDOW, session.encode_window_size((50, 120, 0, 0))[5:])
    client.send(session.INPUT)
    assert os.read(slave, 100) == b"", "as if the end of input were typed"
    assert os.get_terminal_size(slave) == (120, 50)
    assert terminal.greet().output(7) == b"typed\r\n"
