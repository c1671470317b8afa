"""The launcher's socket and lock, and its clients: slow ones, such as never listen, and such as have gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shepherd import launcher, task_files
from tests.unit.shepherd.descriptors import open_descriptors
from tests.unit.shepherd.test_launcher_requests import Client, Played


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    with closing(Played(tmp_path)) as made:
        yield made


def test_only_the_daemons_user_may_connect_also_where_an_earlier_launcher_left_its_socket(tmp_path: Path) -> None:
    path = tmp_path / launcher.SOCKET
    path.touch()
    before = os.umask(0o002)
    try:
        with closing(Played(tmp_path)) as played, closing(Client(played, tmp_path)):
            assert path.stat().st_mode & 0o777 == 0o600
            assert len(played._connections) == 1
        assert os.umask(before) == 0o002, "what is made later has the usual rights"
    finally:
        os.umask(before)


@pytest.mark.statement("EX-14")
def test_group_ids_of_shepherds_that_died_with_the_host_are_free_from_the_start(tmp_path: Path) -> None:
    claim = tmp_path / "addgrpids" / "5000"
    claim.parent.mkdir()
    claim.write_text(f"{os.getpid()} 1\n")
    with closing(Played(tmp_path)):
        assert not claim.exists()


def test_a_second_launcher_does_not_get_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    descriptor = launcher._lock(tmp_path)
    assert (tmp_path / launcher.LOCK).stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(descriptor), "a job does not hold it"
    os.close(descriptor)

    def lockf(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(launcher.fcntl, "lockf", lockf)
    before = open_descriptors()
    assert launcher.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"launcher: another launcher serves {tmp_path}\n"
    assert open_descriptors() == before
    assert not (tmp_path / launcher.SOCKET).exists(), "the other one's is left alone"


def test_a_socket_takes_a_connection_before_the_first_turn(tmp_path: Path) -> None:
    """The execd connects as soon as there is a socket."""
    with closing(Played(tmp_path)), closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(str(tmp_path / launcher.SOCKET))


def test_a_client_that_has_left_before_it_is_let_in_is_no_client(played: Played) -> None:
    played._accept()
    assert played._connections == {}


def test_a_line_without_an_end_is_not_collected_forever(played: Played, tmp_path: Path) -> None:
    with closing(Client(played, tmp_path)) as client:
        client.send(b'{"op": "list",' + b" " * 60000)
        client.send(b'"x": 1}\n')
        assert client.messages() == [{"op": "list", "running": []}]
        client.socket.setblocking(False)
        for _ in range(3):
            client.send(b"x" * 65536)
        assert played._connections == {}


def test_a_client_gets_what_it_was_too_slow_for_later(played: Played, tmp_path: Path) -> None:
    with closing(Client(played, tmp_path)) as client:
        [connection] = played._connections.values()
        played._answer(connection, {"op": "x" * 2**20})
        assert connection.unsent
        got = b""
        while not got.endswith(b"\n"):
            got += client.socket.recv(65536)
            played.turn()
        assert len(got) == 2**20 + len('{"op": ""}\n')
        assert connection.unsent == b""
        assert played._poll.poll(0) == [], "it is not woken up to write nothing"


def test_a_client_that_never_listens_is_left_and_may_come_again(played: Played, tmp_path: Path) -> None:
    with closing(Client(played, tmp_path)):
        [connection] = played._connections.values()
        for _ in range(4):
            played._answer(connection, {"op": "x" * 2**20})
        assert played._connections and 3 * 2**20 < len(connection.unsent) < 4 * 2**20
        played._answer(connection, {"op": "x" * 2**20})
        assert played._connections == {}
        played._answer(connection, {"op": "list"})  # to a request that came in the same piece


def test_a_client_that_has_gone_is_noticed_when_it_is_answered(played: Played, tmp_path: Path) -> None:
    Client(played, tmp_path).close()
    [connection] = played._connections.values()
    played._answer(connection, {"op": "list"})
    assert played._connections == {}
    played._close(connection)
    with closing(Client(played, tmp_path)) as other:
        other.send(b'{"op": "list"}\n')
        assert other.messages() == [{"op": "list", "running": []}]


def test_running_tasks_are_listed_in_the_order_of_their_names(played: Played) -> None:
    played._pids = {"8.1": 81, "7.1": 71, "9.1": 91}
    assert played.ask(op="list")["running"] == ["7.1", "8.1", "9.1"]


def test_a_task_that_was_over_before_it_had_a_shepherd_is_not_started(played: Played, tmp_path: Path) -> None:
    task = tmp_path / "active_jobs" / "7.1"
    task.mkdir(parents=True)
    (task / task_files.EXIT).touch()
    assert played.ask(op="start", directory=str(task)) == {"op": "started", "directory": str(task), "pid": 0}
    assert played.forked == []
