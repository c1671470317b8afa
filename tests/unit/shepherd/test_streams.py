"""The streams of an interactive task: pipes or a terminal, and whose they are."""

from __future__ import annotations

import fcntl
import grp
import os
import stat
import struct
import termios
from collections.abc import Iterator

import pytest

from gridengine.protocols.session import ERROR, OUTPUT
from shepherd.streams import Streams, open_pipes, open_terminal, set_window_size
from tests import needs


@pytest.fixture
def pipes() -> Iterator[Streams]:
    streams = open_pipes()
    yield streams
    streams.close_job_ends()
    streams.close_session_ends()


@pytest.fixture
def terminal() -> Iterator[Streams]:
    streams = open_terminal(1001, 1002)
    yield streams
    streams.close_job_ends()
    streams.close_session_ends()


@pytest.mark.statement("IA-1")
def test_pipes_lead_from_the_job_to_the_session_and_back(pipes: Streams) -> None:
    os.write(pipes.input, b"in")
    assert os.read(pipes.job[0], 10) == b"in"
    for descriptor, kind, number in ((pipes.job[1], OUTPUT, 1), (pipes.job[2], ERROR, 2)):
        os.write(descriptor, b"out")
        end = next(end for end, name in pipes.outputs.items() if name == kind)
        assert os.read(end, 10) == b"out", number
    assert not pipes.terminal


def test_the_session_never_waits_for_a_pipe_and_the_job_does(pipes: Streams) -> None:
    assert [os.get_blocking(descriptor) for descriptor in (pipes.input, *pipes.outputs)] == [False] * 3
    assert [os.get_blocking(descriptor) for descriptor in pipes.job] == [True] * 3


@needs.root
@pytest.mark.statement("IA-1")
def test_a_terminal_belongs_to_its_user_as_after_a_login(terminal: Streams) -> None:
    status = os.fstat(terminal.job[0])
    assert (status.st_uid, status.st_gid) == (1001, grp.getgrnam("tty").gr_gid)
    assert stat.S_IMODE(status.st_mode) == 0o620


@needs.root
def test_without_a_group_of_terminals_it_is_the_users_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> grp.struct_group:
        raise KeyError(name)

    monkeypatch.setattr(grp, "getgrnam", none)
    streams = open_terminal(1001, 1002)
    assert os.fstat(streams.job[0]).st_gid == 1002
    streams.close_job_ends()
    streams.close_session_ends()


def test_a_terminal_is_one_stream_that_the_session_never_waits_for(terminal: Streams) -> None:
    assert terminal.terminal
    assert len(set(terminal.job)) == 1
    assert terminal.outputs == {terminal.input: OUTPUT}
    assert not os.get_blocking(terminal.input)
    assert os.get_blocking(terminal.job[0])


def test_a_terminal_has_the_size_that_it_is_given(terminal: Streams) -> None:
    set_window_size(terminal.input, (24, 132, 7, 9))
    assert struct.unpack("4H", fcntl.ioctl(terminal.job[0], termios.TIOCGWINSZ, bytes(8))) == (24, 132, 7, 9)
