"""The language of interactive sessions: frames, windows, and what a broken connection must not change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridengine.protocols import session
from gridengine.protocols.session import BrokenSessionError, Inbox, Outbox


@pytest.mark.statement("IA-9")
@given(
    st.lists(st.binary(max_size=40), max_size=30),
    st.lists(st.tuples(st.integers(0, 90), st.booleans(), st.booleans()), max_size=60),
)
def test_nothing_is_lost_or_doubled_over_broken_connections(
    pieces: list[bytes], happenings: list[tuple[int, bool, bool]]
) -> None:
    outbox, inbox = Outbox(200), Inbox()
    waiting, wire, received = list(pieces), b"", []

    def turn(arriving: int, acknowledge: bool, breaks: bool) -> None:
        nonlocal wire
        while waiting and outbox.has_capacity:
            outbox.put(session.OUTPUT, waiting.pop(0))
        wire += outbox.take_unsent()
        received.extend(content for _, content in inbox.feed(wire[:arriving]))
        wire = wire[arriving:]
        if acknowledge:
            outbox.acknowledge(inbox.count)
        if breaks:
            wire = b""
            outbox.resume(inbox.count)
            inbox.begin_connection()

    for happening in happenings:
        turn(*happening)
    while not (outbox.is_acknowledged and not waiting):
        turn(1000, True, False)
    assert received == pieces


def test_a_full_window_leaves_no_space_until_it_is_acknowledged() -> None:
    outbox = Outbox(10)
    outbox.put(session.OUTPUT, b"0123456789")
    assert not outbox.has_capacity and not outbox.is_acknowledged
    outbox.acknowledge(1)
    assert outbox.has_capacity and outbox.is_acknowledged


@pytest.mark.statement("IA-2")
def test_a_new_client_sees_what_is_kept_of_the_terminal() -> None:
    outbox = Outbox(1000, kept=12)
    for text in (b"one", b"two", b"three"):
        outbox.put(session.OUTPUT, text)
    outbox.take_unsent()
    outbox.acknowledge(3)
    inbox = Inbox()
    inbox.begin_connection(outbox.resume(None))
    assert inbox.feed(outbox.take_unsent()) == [(session.OUTPUT, b"two"), (session.OUTPUT, b"three")]
    assert inbox.count == 3


def test_a_client_that_goes_on_with_a_session_of_others_numbers_from_there() -> None:
    outbox = Outbox(1000)
    outbox.number_from(7)
    outbox.put(session.INPUT, b"x")
    outbox.acknowledge(7)
    assert not outbox.is_acknowledged
    outbox.acknowledge(8)
    assert outbox.is_acknowledged


@pytest.mark.parametrize("wrong", [b"o\xff\xff\xff\xff", b"a\0\0\0\1x"])
def test_invalid_frame_is_refused(wrong: bytes) -> None:
    with pytest.raises(BrokenSessionError):
        for kind, content in Inbox().feed(wrong):
            assert kind == session.ACKNOWLEDGED
            session.decode_acknowledgement(content)


def test_frames_that_are_gone_cannot_be_requested_again() -> None:
    outbox = Outbox(1000)
    outbox.put(session.OUTPUT, b"x")
    outbox.acknowledge(1)
    for count in (0, 2):
        with pytest.raises(BrokenSessionError):
            outbox.resume(count)
    with pytest.raises(BrokenSessionError):
        outbox.acknowledge(2)


def test_a_window_size_arrives_as_it_was() -> None:
    ((kind, content),) = Inbox().feed(session.encode_window_size((24, 80, 0, 0)))
    assert (kind, session.decode_window_size(content)) == (session.WINDOW, (24, 80, 0, 0))


@pytest.mark.parametrize(
    ("peer", "own", "origin"),
    [
        ("10.0.0.1", "10.0.0.2", "10.0.0.1"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", "10.0.0.1"),
        ("::ffff:10.0.0.2", "10.0.0.2", session.LOCALHOST),
        ("::ffff:127.0.0.1", "::ffff:10.0.0.2", session.LOCALHOST),
        ("fd88::1", "fd88::1", session.LOCALHOST),
        ("::1", "fd88::1", session.LOCALHOST),
        ("fd88::2", "fd88::1", "fd88::2"),
    ],
)
def test_the_origin_of_a_client_has_one_form_at_each_socket(peer: str, own: str, origin: str) -> None:
    assert session.client_origin(peer, own) == origin
