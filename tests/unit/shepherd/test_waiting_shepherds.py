"""Shepherds that wait for a task: who may, who gets one, and what becomes of the others (ADR 155). None is forked here."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gridengine.files.unix_sockets import PeerCredentials
from shepherd import next_task, waiting_shepherds
from shepherd.next_task import OVER
from shepherd.waiting_shepherds import WaitingShepherds, max_waiting


class Played(WaitingShepherds):
    """Those of a launcher whose turns a test takes. All connections come from this process; `pid` is who the next one is of."""

    def __init__(self, spool: Path) -> None:
        self.notified: list[int] = []
        self.epoll = select.epoll()
        super().__init__(spool, self.epoll, self.notified.append)
        self._socket = str(spool / next_task.SOCKET)
        self.open()

    def turn(self) -> None:
        for descriptor, _ in self.epoll.poll(0):
            if descriptor in self:
                self.ready(descriptor)

    def waits(self, pid: int, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
        """The shepherd's end of its connection, from which it has said that its task is over."""
        monkeypatch.setattr(waiting_shepherds, "peer_credentials", lambda connection: PeerCredentials(pid, 0, 0))
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.connect(self._socket)
        line.setblocking(False)
        line.send(OVER)
        self.turn()
        return line


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    made = Played(tmp_path)
    yield made
    made.close()
    made.epoll.close()


def hears(line: socket.socket) -> bytes | None:
    """What came at a shepherd: b"" is the end of its waiting, None is nothing."""
    try:
        return line.recv(4096)
    except ConnectionResetError:  # with something that it said unread
        return b""
    except BlockingIOError:
        return None


def test_a_shepherd_that_waits_gets_the_next_task_of_its_owner_alone(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    played.expect(11, "alice")
    with closing(played.waits(11, monkeypatch)) as line:
        assert played.notified == [11]
        assert played.hand_over("/spool/active_jobs/2.1", "bob") == 0
        assert hears(line) is None
        assert played.hand_over("/spool/active_jobs/3.1", "alice") == 11
        assert hears(line) == b"/spool/active_jobs/3.1"
        assert played.hand_over("/spool/active_jobs/4.1", "alice") == 0, "it has one"
        line.send(OVER)
        played.turn()
        assert played.notified == [11, 11]
        assert played.hand_over("/spool/active_jobs/4.1", "alice") == 11


def test_the_shepherd_that_came_last_gets_the_next_task(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    for pid in (11, 12, 13):
        played.expect(pid, "alice")
        lines.append(played.waits(pid, monkeypatch))
    assert [played.hand_over(f"/{number}", "alice") for number in range(4)] == [13, 12, 11, 0]
    for line in lines:
        line.close()


def test_a_process_that_is_no_child_or_may_not_wait_is_refused(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(played.waits(11, monkeypatch)) as line:
        assert hears(line) == b""
    assert (played.notified, played.hand_over("/1", "alice")) == ([], 0)


def test_a_process_that_sends_another_message_is_refused(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    played.expect(11, "alice")
    with closing(played.waits(11, monkeypatch)) as line:
        line.send(b"give me bob's")
        played.turn()
        assert hears(line) == b""
    assert played.hand_over("/2", "alice") == 0


def test_no_more_wait_than_the_host_permits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_shepherds, "max_waiting", lambda: 2)
    lines = []
    with closing(Played(tmp_path)) as played:
        for pid in (11, 12, 13):
            played.expect(pid, "alice")
            lines.append(played.waits(pid, monkeypatch))
        assert [hears(line) for line in lines] == [b"", None, None], "the first has waited longest"
        assert played.hand_over("/1", "alice") == 13
    for line in lines:
        line.close()


def test_a_shepherd_that_ends_just_then_gets_no_task(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    played.expect(11, "alice")
    played.expect(12, "alice")
    with closing(played.waits(11, monkeypatch)):
        played.waits(12, monkeypatch).close()
        assert played.hand_over("/1", "alice") == 11


def test_a_dead_one_is_forgotten_and_its_owner_returned_if_it_was_assigned_a_task(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.expect(11, "alice")
    assert played.ended(11) == "", "the task of its birth is not one that somebody else might begin"
    played.expect(11, "bob")
    with closing(played.waits(11, monkeypatch)) as line:
        played.hand_over("/1", "bob")
        assert played.ended(11) == "bob"
        assert hears(line) == b"/1"
    assert (played.hand_over("/2", "bob"), played.ended(11)) == (0, "")
    with closing(played.waits(11, monkeypatch)) as line:
        assert hears(line) == b"", "its owner is forgotten"


def test_the_end_of_the_launcher_is_the_end_of_all_that_wait(
    played: Played, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    played.expect(11, "alice")
    with closing(played.waits(11, monkeypatch)) as line:
        played.close()
        assert hears(line) == b""
    assert not (tmp_path / next_task.SOCKET).exists()
    played.close()


def test_the_socket_is_for_this_user_alone(played: Played, tmp_path: Path) -> None:
    assert os.stat(tmp_path / next_task.SOCKET).st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("gigabytes", "most"), [(1, 8), (4, 13), (24, 81), (1000, 128)])
def test_a_hundredth_of_the_memory_is_for_waiting_shepherds(monkeypatch: pytest.MonkeyPatch, gigabytes: int, most: int) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": gigabytes * 2**18}.__getitem__)
    assert max_waiting() == most
