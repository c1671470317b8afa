"""The number of connections of a peer, the evicted connections, and the log lines about it."""

from __future__ import annotations

import resource

import pytest

from daemons.runtime.connection_limiter import MAX_CONNECTIONS, Connection, ConnectionLimiter, max_by_descriptors
from daemons.runtime.log_throttle import INTERVAL_S, LogThrottle

SHARE = 4


class Crowd:
    """A limiter, and connections that note their end."""

    def __init__(self, max_connections: int = 100) -> None:
        self.limiter = ConnectionLimiter(max_connections)
        self.ended: list[Connection] = []

    def acquire(self, peer: str) -> Connection | None:
        connection = self.limiter.acquire(peer, SHARE)
        if connection is not None:
            connection.abort = lambda: self.ended.append(connection)
        return connection

    def must(self, peer: str) -> Connection:
        connection = self.acquire(peer)
        assert connection is not None
        return connection


def test_the_oldest_unused_connection_of_a_peer_makes_way_for_his_next() -> None:
    crowd = Crowd()
    held = [crowd.must("alice") for _ in range(SHARE)]
    held[0].note_request()
    for _ in range(3):
        crowd.must("alice")
    assert crowd.ended == held[1:] and crowd.limiter.count_of_peer("alice") == crowd.limiter.count == SHARE


def test_pending_requests_are_not_ended_and_the_next_connection_is_refused() -> None:
    crowd = Crowd()
    for _ in range(SHARE):
        crowd.must("alice").note_request()
    assert crowd.acquire("alice") is None
    assert crowd.ended == []
    crowd.must("bob")


def test_idle_connections_make_way_the_longest_unused_first_and_logins_last() -> None:
    crowd = Crowd()
    held = [crowd.must("alice") for _ in range(SHARE)]
    for each in held:
        each.note_request()
        each.is_idle = lambda: True
    held[1].is_logged_in = True
    held[0].note_request()
    held[3].is_idle = lambda: False
    for _ in range(3):
        crowd.must("alice").note_request()
    assert crowd.ended == [held[2], held[0], held[1]]
    assert crowd.acquire("alice") is None


def test_silent_connections_make_way_before_idle_ones() -> None:
    crowd = Crowd()
    idle, *unused = [crowd.must("alice") for _ in range(SHARE)]
    idle.note_request()
    idle.is_idle = lambda: True
    crowd.must("alice")
    assert crowd.ended == unused[:1]


def test_when_all_is_full_the_one_with_the_most_makes_way() -> None:
    crowd = Crowd(max_connections=8)
    first = crowd.must("alice")
    crowd.must("alice")
    others = [crowd.must(f"user {number}") for number in range(6)]
    crowd.must("bob")
    assert crowd.ended == [first] and crowd.limiter.count == 8
    for each in others:
        each.note_request()


def test_no_peer_has_more_than_a_quarter_of_all_connections() -> None:
    crowd = Crowd(max_connections=8)
    for _ in range(5):
        crowd.must("alice")
    assert crowd.limiter.count_of_peer("alice") == 2


def test_a_gateway_is_not_counted_with_the_strangers_at_its_address() -> None:
    crowd = Crowd()
    for _ in range(2 * SHARE):
        crowd.must("10.0.0.1").note_authenticated()
    assert crowd.limiter.count_of_peer("10.0.0.1") == 0 and crowd.limiter.count == 2 * SHARE and crowd.ended == []


def test_a_connection_that_is_over_is_counted_no_more() -> None:
    crowd = Crowd()
    unused, used, authenticated = (crowd.must("alice") for _ in range(3))
    used.note_request()
    authenticated.note_authenticated()
    for each in (unused, used, authenticated, unused, used, authenticated):
        each.note_closed()
    assert crowd.limiter.count == crowd.limiter.count_of_peer("alice") == 0


def test_the_function_that_ends_a_connection_is_forgotten_with_it() -> None:
    """It is a method of the transport, which has buffers of a quarter of a megabyte under TLS."""
    crowd = Crowd()
    connection = crowd.must("alice")
    connection.note_closed()
    connection.abort()
    assert crowd.ended == []


def test_descriptors_are_left_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert max_by_descriptors() == 768
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**6, 10**6))
    assert max_by_descriptors() == MAX_CONNECTIONS


def test_a_thousand_refusals_are_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log_throttle = LogThrottle(lambda: now)
    for _ in range(1000):
        log_throttle.note("alice", "alice has too many")
    now = INTERVAL_S
    log_throttle.note("alice", "alice has too many")
    assert [record.getMessage() for record in caplog.records] == [
        "alice has too many",
        "alice has too many (and 999 times more before)",
    ]


def test_kinds_of_refusals_do_not_fill_the_memory() -> None:
    log_throttle = LogThrottle()
    for number in range(1000):
        log_throttle.note(str(number), "no")
    assert len(log_throttle._kinds) <= 256
