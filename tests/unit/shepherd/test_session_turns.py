"""A session's process turn by turn: how long it waits for clients, and holds data back until they are taken (IA-1, IA-9)."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

import pytest

from gridengine.protocols import session
from shepherd.session_process import ABANDONED, FINISHED
from tests.unit.shepherd.played_session import PIPE, Play, Played, ended

# --- waiting ----------------------------------------------------------------------------------------------------------


@pytest.mark.statement("IA-9")
@pytest.mark.parametrize("grace_s", [0, 60])
def test_a_client_is_not_waited_for_longer_than_the_grace_time(play: Play, grace_s: int) -> None:
    played = play(session_grace_s=grace_s)
    assert played.wait() == ABANDONED
    assert (played.waits_s, played.now) == (grace_s, 1000 + grace_s)


@pytest.mark.statement("IA-9")
def test_a_client_that_is_gone_is_waited_for_from_then_on(play: Play) -> None:
    played = play()
    played.now += 50
    client = played.connect()
    assert played.waits_s is None, "who is there is not waited for"
    played.now += 500
    client.socket.close()
    assert played.serve() is None
    assert played.waits_s == 60
    played.now += 100
    assert played.wait() == ABANDONED
    assert played.waits_s == 0, "its time is over"


@pytest.mark.statement("IA-9")
def test_a_client_that_comes_at_the_last_moment_is_let_in(play: Play) -> None:
    played = play()
    played.now += 60
    assert played.connect().answer["client"] == 1
    assert played.waits_s is None


@pytest.mark.statement("IA-9")
@pytest.mark.parametrize(("linger", "waits_s"), [(True, 60), (False, 0)])
def test_the_end_is_kept_for_a_client_that_is_lost_over_it_unless_the_job_was_deleted(
    play: Play, linger: bool, waits_s: int
) -> None:
    played = play()
    client = played.connect()
    assert played.finish(linger) is None
    played.now += 5
    client.socket.close()
    assert played.wait() == ABANDONED
    assert played.now == 1005 + waits_s


# --- output -----------------------------------------------------------------------------------------------------------


@pytest.mark.statement("IA-1", "IA-9")
def test_a_job_whose_output_is_not_taken_is_blocked(play: Play) -> None:
    played = play()
    client = played.connect()
    client.frames()
    written = 0
    for _ in range(5):
        written += played.write(2**21)
        client.send(session.INPUT, b"what else the client does is no reason to read on")
        played.serve()
        client.frames()
    assert session.OUTPUT_WINDOW <= written <= session.OUTPUT_WINDOW + session.CHUNK + PIPE
    client.acknowledge()
    played.serve()
    assert played.write(2**18) == 2**18


@pytest.mark.statement("IA-1")
def test_a_terminal_is_held_up_too_while_it_has_input_to_take(terminal: Played) -> None:
    client = terminal.connect()
    for _ in range(16):
        with suppress(BlockingIOError):
            client.send(session.INPUT, b"i" * 2**13)
        terminal.serve()
    written = sum(terminal.write(2**21, 4096) for _ in range(3))
    assert written < session.OUTPUT_WINDOW + 2 * session.CHUNK + PIPE


@pytest.mark.statement("IA-1")
def test_a_slow_client_gets_all_in_its_order(play: Play) -> None:
    played = play()
    client = played.connect()
    sent = b"".join(number.to_bytes(4, "big") for number in range(100_000))
    got = b""
    for start in range(0, len(sent), 20_000):
        os.write(played.streams.job[1], sent[start : start + 20_000])
        assert played.serve() is None
    while more := client.frames(30_000):
        got += b"".join(data for kind, data in more)
        assert played.serve() is None
    assert got == sent


@pytest.mark.statement("IA-9")
def test_the_outcome_waits_behind_the_output_that_the_client_has_to_take_first(play: Play) -> None:
    played = play()
    fcntl.fcntl(played.streams.job[1], fcntl.F_SETPIPE_SZ, 8 * PIPE)
    client = played.connect()
    written = played.write(2**22)
    played.job_leaves()
    assert played.finish() is None
    got = 0
    while more := len(client.output()):
        got += more
        assert played.serve() is None
    assert got <= session.OUTPUT_WINDOW + session.CHUNK, "the rest stays where it is"
    frames: list[tuple[bytes, bytes]] = []
    while not ended(frames):
        client.acknowledge()
        assert played.serve() is None
        assert (frames := client.frames())
        got += sum(len(data) for kind, data in frames if kind == session.OUTPUT)
    assert got == written
    client.acknowledge()
    assert played.serve() == FINISHED


@pytest.mark.statement("IA-9")
def test_processes_that_left_the_job_with_its_output_do_not_delay_the_end(play: Play) -> None:
    played = play()
    client = played.connect()
    for descriptor in played.streams.job[1:]:
        os.write(descriptor, b"last words")
    assert played.finish() is None
    received = client.frames()
    assert sorted(received[:-1]) == [(session.OUTPUT, b"last words"), (session.ERROR, b"last words")]
    assert ended(received)
    os.write(played.streams.job[1], b"of a daemon")
    assert played.serve() is None
    assert client.frames() == [], "the outcome is the last"
    client.acknowledge()
    assert played.serve() == FINISHED


@pytest.mark.statement("IA-9")
def test_output_that_has_ended_is_not_polled_again(either: Played) -> None:
    client = either.connect()
    either.job_leaves()
    assert either.serve() is None
    assert client.frames() == []
    either.finish()
    assert ended(client.frames())


@pytest.mark.statement("IA-2", "IA-7")
def test_only_a_terminal_shows_a_new_client_what_another_has_taken(play: Play) -> None:
    played = play()
    client = played.connect()
    played.write(10)
    assert client.output() == b"x" * 10
    client.acknowledge()
    played.serve()
    again = played.connect()
    assert again.answer["first"] == 1
    assert again.frames() == []
