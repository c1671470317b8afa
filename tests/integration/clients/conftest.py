"""Fixtures: a cell directory, a server on its Unix socket with prepared answers, and the native front."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S
from tests.integration.clients.front_commands import FrontCommands, build_front

Respond = Callable[[str, bytes], bytes]

#: what a command that waits for its answer asks by the way: whether somebody is there
BY_THE_WAY = ("may_configure", "master_reached")
THERE = b'{"status":0,"answers":[],"data":true}'


class Server:
    """Accepts connections on a Unix socket; `respond(request name, body)` gives the raw bytes of each answer.

    `all_of_them`: also answers the requests of BY_THE_WAY, which come at any time on a slow machine and concern no other test.
    """

    def __init__(self, path: Path, respond: Respond, all_of_them: bool = False) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.keys: list[str] = []
        self._respond, self._all_of_them = respond, all_of_them
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(16)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the server; a second call does nothing."""
        if self._socket.fileno() < 0:
            return
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._answer(connection)
            except OSError:
                pass  # a client that went away

    def _answer(self, connection: socket.socket) -> None:
        head, _, body = self._receive(connection).partition(b"\r\n\r\n")
        name = head.split()[1].decode().rpartition("/")[2]
        if name in BY_THE_WAY and not self._all_of_them:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(THERE), THERE))
            return
        self.requests.append((name, body))
        self.keys += [line[17:].decode() for line in head.split(b"\r\n") if line.startswith(b"Idempotency-Key: ")]
        connection.sendall(self._respond(name, body))

    @staticmethod
    def _receive(connection: socket.socket) -> bytes:
        connection.settimeout(PATIENCE_S)
        data, length = b"", None
        while length is None or len(data) < length:
            got = connection.recv(65536)
            if not got:
                raise ConnectionError
            data += got
            if length is None and b"\r\n\r\n" in data:
                head = data.partition(b"\r\n\r\n")[0]
                length = len(head) + 4 + int(head.lower().split(b"content-length:")[1].split()[0])
        return data


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run directory of a cell that SGE_ROOT names; nothing listens there yet."""
    common = tmp_path / "default" / "common"
    common.mkdir(parents=True)
    run = tmp_path / "run"
    run.mkdir()
    (common / "bootstrap").write_text(f"admin_user root\nrun_dir {run}\n")
    (common / "act_qmaster").write_text("master\n")
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SGE_CELL", raising=False)
    return run


@pytest.fixture
def serve(run_dir: Path) -> Iterator[Callable[..., Server]]:
    """`serve(respond, socket name, all_of_them)` starts a server; all are closed at the end."""
    servers: list[Server] = []

    def start(respond: Respond, name: str = "gdi.sock", all_of_them: bool = False) -> Server:
        servers.append(Server(run_dir / name, respond, all_of_them))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native front."""
    return build_front(tmp_path_factory.mktemp("front"))


@pytest.fixture(scope="session")
def both(front: Path, tmp_path_factory: pytest.TempPathFactory) -> FrontCommands:
    """Commands with the front, and the commands in Python."""
    return FrontCommands(front, tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="session")
def played(front: Path, tmp_path_factory: pytest.TempPathFactory) -> FrontCommands:
    """Commands with the front, and scripts in place of the commands in Python."""
    return FrontCommands(front, tmp_path_factory.mktemp("played"), played=True)
