"""The launcher's socket and lock, and its clients: slow ones, such as never listen, and such as have gone."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shepherd import launcher, task_files
from shepherd.launcher_clients import LauncherClients, Message
from tests.unit.shepherd.descriptors import open_descriptors
from tests.unit.shepherd.played_launcher import Client, PlayedLauncher

MEBIBYTE = 2**20


class Clients(LauncherClients):
    """Clients whose requests are answered with themselves."""

    def __init__(self, path: Path) -> None:
        self.path, self.epoll = path, select.epoll()
        super().__init__(path, self.epoll, json.loads)
        self.open()

    def connect(self) -> Client:
        return Client(self.path, self.turn)

    def turn(self) -> None:
        for descriptor, events in self.epoll.poll(0):
            assert descriptor in self
            self.ready(descriptor, events)


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Clients]:
    with closing(Clients(tmp_path / launcher.SOCKET)) as made:
        yield made
    made.epoll.close()


def test_only_the_daemons_user_may_connect_also_where_an_earlier_launcher_left_its_socket(tmp_path: Path) -> None:
    path = tmp_path / launcher.SOCKET
    path.touch()
    before = os.umask(0o002)
    try:
        with closing(Clients(path)) as clients, closing(clients.connect()):
            assert path.stat().st_mode & 0o777 == 0o600
            assert len(clients) == 1
        assert os.umask(before) == 0o002, "what is made later has the usual rights"
    finally:
        os.umask(before)


@pytest.mark.statement("EX-14")
def test_group_ids_of_shepherds_that_died_with_the_host_are_free_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = tmp_path / "addgrpids" / "5000"
    claim.parent.mkdir()
    claim.write_text(f"{os.getpid()} 1\n")
    with closing(PlayedLauncher(tmp_path, monkeypatch)):
        assert not claim.exists()


def test_a_second_launcher_does_not_get_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lockf(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(launcher.fcntl, "lockf", lockf)
    before = open_descriptors()
    assert launcher.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"launcher: another launcher serves {tmp_path}\n"
    assert open_descriptors() == before
    assert not (tmp_path / launcher.SOCKET).exists(), "the other one's is left alone"


def test_a_socket_takes_a_connection_before_the_first_turn(clients: Clients) -> None:
    """The execd connects as soon as there is a socket."""
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(str(clients.path))


def test_a_client_that_has_left_before_it_is_let_in_is_no_client(clients: Clients) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(str(clients.path))
        [(descriptor, events)] = clients.epoll.poll(0)
        for _ in range(2):
            clients.ready(descriptor, events)
        assert len(clients) == 1


def test_requests_come_in_pieces_and_several_at_once(clients: Clients) -> None:
    with closing(clients.connect()) as client:
        client.send(b'{"op": "li')
        client.send(b'st"}\n{"op": "list"}\n{"op":')
        assert client.messages() == [{"op": "list"}] * 2
        client.send(b' "list"}\n')
        assert client.messages() == [{"op": "list"}]


def test_a_client_that_leaves_is_forgotten(clients: Clients) -> None:
    with closing(clients.connect()):
        assert len(clients) == 1
    clients.turn()
    assert len(clients) == 0


def test_a_line_without_an_end_is_not_collected_forever(clients: Clients) -> None:
    with closing(clients.connect()) as client:
        client.send(b'{"op": "list",' + b" " * 60000)
        client.send(b'"x": 1}\n')
        assert client.messages() == [{"op": "list", "x": 1}]
        client.socket.setblocking(False)
        for _ in range(3):
            client.send(b"x" * 65536)
        assert len(clients) == 0


def test_a_client_gets_what_it_was_too_slow_for_later(clients: Clients) -> None:
    with closing(clients.connect()) as client:
        clients.notify({"op": "x" * MEBIBYTE})
        got = client.socket.recv(65536)
        while client.socket in select.select([client.socket], [], [], 0)[0]:
            got += client.socket.recv(65536)
        assert len(got) < MEBIBYTE, "its socket holds no more"
        while not got.endswith(b"\n"):
            clients.turn()
            got += client.socket.recv(65536)
        assert len(got) == MEBIBYTE + len('{"op": ""}\n')
        clients.turn()
        assert clients.epoll.poll(0) == [], "it is not woken up to write nothing"


def test_a_client_that_never_listens_is_left_and_may_come_again(clients: Clients) -> None:
    with closing(clients.connect()):
        for _ in range(4):
            clients.notify({"op": "x" * MEBIBYTE})
        assert len(clients) == 1
        clients.notify({"op": "x" * MEBIBYTE})
        assert len(clients) == 0


def test_requests_of_one_piece_are_answered_until_their_client_is_left(tmp_path: Path) -> None:
    answered: list[bytes] = []

    def answer(line: bytes) -> Message:
        answered.append(line)
        return {"op": "x" * 3 * MEBIBYTE}

    with closing(select.epoll()) as epoll, closing(LauncherClients(tmp_path / "socket", epoll, answer)) as clients:
        clients.open()
        with closing(Client(tmp_path / "socket", lambda: [clients.ready(*each) for each in epoll.poll(0)])) as client:
            client.send(b"a\nb\nc\n")
            assert (answered, len(clients)) == ([b"a", b"b", b"c"], 0)


@pytest.mark.parametrize("size", [1, 5 * MEBIBYTE])
def test_a_client_that_has_gone_is_noticed_when_it_is_answered(clients: Clients, size: int) -> None:
    clients.connect().close()
    clients.notify({"op": "x" * size})
    assert len(clients) == 0
    with closing(clients.connect()) as other:
        other.send(b'{"op": "list"}\n')
        assert other.messages() == [{"op": "list"}]


def test_running_tasks_are_listed_in_the_order_of_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [tmp_path / "active_jobs" / name for name in ("8.1", "7.1", "9.1")]
    with closing(PlayedLauncher(tmp_path, monkeypatch)) as played:
        for task in tasks:
            task.mkdir(parents=True)
            played.ask(op="start", directory=str(task))
        assert played.running == sorted(map(str, tasks))


def test_a_task_that_was_over_before_it_had_a_shepherd_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = tmp_path / "active_jobs" / "7.1"
    task.mkdir(parents=True)
    (task / task_files.EXIT).touch()
    with closing(PlayedLauncher(tmp_path, monkeypatch)) as played:
        assert played.ask(op="start", directory=str(task)) == {"op": "started", "directory": str(task), "pid": 0}
        assert played.forked == []
