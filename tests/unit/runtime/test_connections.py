"""How many connections a peer gets, which of them make way, and what the log says of it."""

from __future__ import annotations

import resource

import pytest

from daemons.runtime.connections import MOST_IN_ALL, Connection, Room, most_by_descriptors
from daemons.runtime.refusals import INTERVAL_S, Refusals

SHARE = 4


class Crowd:
    """A room, and connections that note their end."""

    def __init__(self, in_all: int = 100) -> None:
        self.room = Room(in_all)
        self.ended: list[Connection] = []

    def enter(self, peer: str) -> Connection | None:
        connection = self.room.enter(peer, SHARE)
        if connection is not None:
            connection.end = lambda: self.ended.append(connection)
        return connection

    def must(self, peer: str) -> Connection:
        connection = self.enter(peer)
        assert connection is not None
        return connection


def test_the_oldest_unused_connection_of_a_peer_makes_way_for_his_next() -> None:
    crowd = Crowd()
    held = [crowd.must("alice") for _ in range(SHARE)]
    held[0].asked()
    for _ in range(3):
        crowd.must("alice")
    assert crowd.ended == held[1:] and crowd.room.held_by("alice") == crowd.room.count == SHARE


def test_what_was_asked_is_not_ended_and_the_next_is_refused() -> None:
    crowd = Crowd()
    for _ in range(SHARE):
        crowd.must("alice").asked()
    assert crowd.enter("alice") is None
    assert crowd.ended == []
    crowd.must("bob")


def test_idle_connections_make_way_the_longest_unused_first_and_logins_last() -> None:
    crowd = Crowd()
    held = [crowd.must("alice") for _ in range(SHARE)]
    for each in held:
        each.asked()
        each.idle = lambda: True
    held[1].known = True
    held[0].asked()
    held[3].idle = lambda: False
    for _ in range(3):
        crowd.must("alice").asked()
    assert crowd.ended == [held[2], held[0], held[1]]
    assert crowd.enter("alice") is None


def test_silent_connections_make_way_before_idle_ones() -> None:
    crowd = Crowd()
    idle, *silent = [crowd.must("alice") for _ in range(SHARE)]
    idle.asked()
    idle.idle = lambda: True
    crowd.must("alice")
    assert crowd.ended == silent[:1]


def test_when_all_is_full_the_one_with_the_most_makes_way() -> None:
    crowd = Crowd(in_all=8)
    first = crowd.must("alice")
    crowd.must("alice")
    others = [crowd.must(f"user {number}") for number in range(6)]
    crowd.must("bob")
    assert crowd.ended == [first] and crowd.room.count == 8
    for each in others:
        each.asked()


def test_nobody_has_more_than_a_quarter_of_all() -> None:
    crowd = Crowd(in_all=8)
    for _ in range(5):
        crowd.must("alice")
    assert crowd.room.held_by("alice") == 2


def test_a_gateway_is_not_counted_with_the_strangers_at_its_address() -> None:
    crowd = Crowd()
    for _ in range(2 * SHARE):
        crowd.must("10.0.0.1").vouched()
    assert crowd.room.held_by("10.0.0.1") == 0 and crowd.room.count == 2 * SHARE and crowd.ended == []


def test_a_connection_that_is_over_is_counted_no_more() -> None:
    crowd = Crowd()
    silent, asked, vouched = (crowd.must("alice") for _ in range(3))
    asked.asked()
    vouched.vouched()
    for each in (silent, asked, vouched, silent, asked, vouched):
        each.over()
    assert crowd.room.count == crowd.room.held_by("alice") == 0


def test_what_ended_a_connection_is_forgotten_with_it() -> None:
    """It is a method of the transport, which has buffers of a quarter of a megabyte under TLS."""
    crowd = Crowd()
    connection = crowd.must("alice")
    connection.over()
    connection.end()
    assert crowd.ended == []


def test_descriptors_are_left_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert most_by_descriptors() == 768
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**6, 10**6))
    assert most_by_descriptors() == MOST_IN_ALL


def test_a_thousand_refusals_are_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    refusals = Refusals(lambda: now)
    for _ in range(1000):
        refusals.note("alice", "alice has too many")
    now = INTERVAL_S
    refusals.note("alice", "alice has too many")
    assert [record.getMessage() for record in caplog.records] == [
        "alice has too many",
        "alice has too many (and 999 times more before)",
    ]


def test_kinds_of_refusals_do_not_fill_the_memory() -> None:
    refusals = Refusals()
    for number in range(1000):
        refusals.note(str(number), "no")
    assert len(refusals._kinds) <= 256
