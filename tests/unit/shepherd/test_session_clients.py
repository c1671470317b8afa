"""A session's process turn by turn: what it makes of a client's input, and who is let in (IA-1, IA-2, IA-9)."""

from __future__ import annotations

import os
import socket

import pytest

from gridengine.protocols import session
from shepherd import session_process
from shepherd.session_process import ENDED
from tests.unit.shepherd.played_session import PIPE, Caller, Play, Played, ended

# --- input ------------------------------------------------------------------------------------------------------------


def taken(client: Caller) -> int:
    """How many frames the session has said to have taken, in all."""
    counts = [session.decode_acknowledgement(data) for kind, data in client.frames() if kind == session.ACKNOWLEDGED]
    return max(counts, default=0)


def fill_input(played: Played, client: Caller) -> bytes:
    """More than the job's pipe takes, in six frames."""
    sent = bytes(range(250)) * 480
    for start in range(0, len(sent), 20_000):
        client.send(session.INPUT, sent[start : start + 20_000])
        assert played.serve() is None
    return sent


@pytest.mark.statement("IA-1")
def test_input_counts_as_taken_when_the_job_has_it_whole(play: Play) -> None:
    played = play()
    client = played.connect()
    sent = fill_input(played, client)
    assert taken(client) == PIPE // 20_000, "of the fourth the job's pipe has a part"
    got = b""
    while len(got) < len(sent):
        got += os.read(played.streams.job[0], 16_384)
        assert played.serve() is None
    assert got == sent
    assert taken(client) == 6


@pytest.mark.statement("IA-1")
def test_the_end_of_input_comes_once_and_behind_all_of_it(play: Play) -> None:
    played = play()
    client = played.connect()
    sent = fill_input(played, client)
    for data in (b"", b"too late", b""):
        client.send(session.INPUT, data)
    got = b""
    while len(got) < len(sent):
        got += os.read(played.streams.job[0], PIPE)
        assert played.serve() is None
    assert (got, os.read(played.streams.job[0], 10)) == (sent, b"")
    assert taken(client) == 9, "what nobody reads is no reason to wait"


@pytest.mark.statement("IA-1", "IA-9")
def test_input_for_a_job_that_no_longer_reads_is_dropped(play: Play) -> None:
    played = play()
    client = played.connect()
    fill_input(played, client)
    os.close(played.streams.job[0])
    assert played.serve() is None
    assert taken(client) == 6
    client.send(session.INPUT, b"more")
    assert played.serve() is None
    assert taken(client) == 7
    os.write(played.streams.job[1], b"it goes on")
    assert played.serve() is None
    assert client.output() == b"it goes on"


@pytest.mark.statement("IA-1")
@pytest.mark.parametrize(("size", "acknowledged"), [(PIPE - 1, [False, True, False]), (PIPE, [True, True, True])])
def test_only_much_input_is_acknowledged_while_there_is_output_to_send(play: Play, size: int, acknowledged: list[bool]) -> None:
    assert session.ACKNOWLEDGE_AFTER == PIPE
    played = play()
    client = played.connect()
    for expected in acknowledged:
        os.write(played.streams.job[1], b"output")
        client.send(session.INPUT, b"i" * size)
        assert played.serve() is None
        assert [kind for kind, _ in client.frames()] == [session.OUTPUT, *([session.ACKNOWLEDGED] if expected else [])]
        assert len(os.read(played.streams.job[0], PIPE)) == size


# --- clients ----------------------------------------------------------------------------------------------------------


@pytest.mark.statement("IA-9")
def test_half_a_frame_of_a_broken_connection_is_void_in_both_directions(play: Play) -> None:
    played = play()
    client = played.connect()
    played.write(2**19)
    assert len(client.frames(100_000)) == 1
    client.socket.sendall(session.encode_frame(session.INPUT, b"half of it")[:-5])
    assert played.serve() is None
    client.socket.close()
    again = played.connect(client=1, received=1)
    assert (again.answer["first"], again.answer["received"]) == (1, 0)
    got = 0
    while more := again.output():
        got += len(more)
        assert played.serve() is None
    assert got == 2**19 - session.CHUNK
    again.send(session.INPUT, b"whole")
    assert played.serve() is None
    assert os.read(played.streams.job[0], 100) == b"whole"


@pytest.mark.statement("IA-2")
def test_a_superseded_client_is_notified_after_pending_output(play: Play) -> None:
    played = play()
    first = played.connect()
    os.write(played.streams.job[1], b"out")
    assert played.serve() is None
    played.connect()
    assert first.frames() == [(session.OUTPUT, b"out"), (session.SUPERSEDED, b"")]
    assert first.cut_off


@pytest.mark.statement("IA-9")
def test_a_client_that_comes_back_before_its_break_was_seen_is_not_sent_away(play: Play) -> None:
    played = play()
    first = played.connect()
    again = played.connect(client=1, received=0)
    assert again.answer["client"] == 1
    assert (first.frames(), first.cut_off) == ([], True)
    os.write(played.streams.job[1], b"out")
    assert played.serve() is None
    assert again.output() == b"out"


@pytest.mark.statement("IA-2")
def test_a_refused_client_is_cut_off_and_changes_nothing(play: Play) -> None:
    played = play()
    assert played.connect(attempt=2).answer["refused"]
    stranger = played.connect(client=7, received=0)
    stranger.frames()
    assert stranger.cut_off
    assert played.waits_s == 60, "nobody is here yet"
    os.set_blocking(played.gate, False)
    with pytest.raises(BlockingIOError):
        os.read(played.gate, 1)
    assert played.connect().answer["client"] == 1
    assert os.read(played.gate, 100) == b"localhost"


def test_a_silent_connection_blocks_no_client(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_process, "GREETING_S", 0.01)
    played = play()
    silent = Caller(played.path, b"")
    assert played.serve() is None
    assert played.waits_s == 60
    silent.socket.setblocking(False)
    silent.frames()
    assert silent.cut_off


@pytest.mark.statement("SO-29", "IA-7")
def test_a_size_is_of_no_matter_where_there_is_no_terminal(play: Play) -> None:
    played = play()
    client = played.connect(size=[40, 100, 0, 0])
    client.socket.sendall(session.encode_window_size((50, 120, 0, 0)))
    client.send(session.INPUT, b"typed")
    assert played.serve() is None
    assert os.read(played.streams.job[0], 100) == b"typed"


@pytest.mark.statement("IA-7")
def test_a_terminal_keeps_its_size_for_a_client_without_one(terminal: Played) -> None:
    terminal.connect(size=[40, 100, 0, 0])
    terminal.connect()
    assert os.get_terminal_size(terminal.streams.job[0]) == (100, 40)


@pytest.mark.statement("IA-1")
def test_a_client_of_a_job_that_could_not_start_gets_the_outcome(play: Play) -> None:
    played = play()
    os.close(played.gate)
    client = played.connect()
    played.job_leaves()
    assert played.finish() is None
    assert ended(client.frames())


@pytest.mark.statement("IA-6", "IA-9")
def test_data_sent_before_a_client_ended_the_task_still_reach_the_job(play: Play) -> None:
    played = play()
    client = played.connect()
    client.send(session.INPUT, b"typed")
    client.send(session.END)
    assert played.serve() == ENDED
    assert os.read(played.streams.job[0], 100) == b"typed"


@pytest.mark.statement("IA-9")
def test_a_client_that_does_not_listen_is_lost_when_something_is_sent(play: Play) -> None:
    played = play()
    client = played.connect()
    client.socket.shutdown(socket.SHUT_RD)
    played.now += 100
    os.write(played.streams.job[1], b"out")
    assert played.serve() is None
    assert played.waits_s == 60
    again = played.connect(client=1, received=0)
    assert again.output() == b"out"
