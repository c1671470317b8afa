"""The choice of a rack's node, its fencing, and the hosts that count as alive."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.serve.hosts.racks import GRACE_S, HEARD_S, LOOKS_PER_S, START_S, Racks
from gridengine.protocols.gdi.requests import ExecdHello
from gridengine.protocols.racks import APART, CONNECTED, Place, Statement

TABLE = "r1 h1 h2 h3\nr2 h4\n"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def racks(tmp_path: Path, clock: Clock) -> Racks:
    (tmp_path / "racks").write_text(TABLE)
    return Racks(tmp_path / "racks", clock)


def hello(racks: Racks, host: str, rack: str = APART) -> Place:
    place = racks.place(ExecdHello(host, rack=rack))
    assert place is not None
    return place


def connect(racks: Racks, node: str, *hosts: str) -> Place:
    """Make a host the node, with these hosts connected."""
    place = Place("r1", node, hello(racks, node).token, 7)
    assert racks.state(Statement(place, list(hosts))) == sorted(hosts)
    return place


def test_the_first_host_that_sends_hello_is_the_node_and_the_others_learn_its_port(racks: Racks) -> None:
    place = hello(racks, "h2")
    assert (place.rack, place.node, place.port) == ("r1", "h2", 0)
    assert hello(racks, "h1") == place
    assert racks.state(Statement(Place("r1", "h2", place.token, 7010), ["h2"])) == ["h2"]
    assert hello(racks, "h3") == Place("r1", "h2", place.token, 7010)
    assert hello(racks, "h4").node == "h4", "another rack"


def test_a_host_outside_of_racks_or_of_an_earlier_release_has_a_node_of_its_own(racks: Racks) -> None:
    assert racks.place(ExecdHello("h9", rack=APART)) is None
    assert racks.place(ExecdHello("h1")) is None
    assert not racks.is_member("h1") and "h1" in racks.alive({"h1", "h9"})


def test_a_host_that_is_not_connected_any_more_is_dead_at_once(racks: Racks, clock: Clock) -> None:
    place = connect(racks, "h1", "h1", "h2", "h3")
    assert racks.alive({"h1"}) >= {"h1", "h2", "h3"}
    assert racks.state(Statement(place, ["h1", "h3"])) == []
    assert racks.alive({"h1"}) & {"h1", "h2", "h3"} == {"h1", "h3"}
    assert racks.place_of("h2") is None and racks.place_of("h3") == place


def test_the_hosts_of_a_dead_node_have_time_to_move_and_the_node_itself_has_none(racks: Racks, clock: Clock) -> None:
    first = connect(racks, "h1", "h1", "h2", "h3")
    clock.now += 100
    assert "h2" in racks.alive({"h1"})
    assert racks.alive(()) & {"h1", "h2", "h3"} == {"h2", "h3"}
    assert racks.ended() == [first] and racks.ended() == []
    assert connect(racks, "h3", "h3").node == "h3"
    clock.now += GRACE_S - 1
    assert racks.alive({"h3"}) & {"h1", "h2", "h3"} == {"h2", "h3"}
    clock.now += 2
    assert racks.alive({"h3"}) & {"h1", "h2", "h3"} == {"h3"}


def test_a_host_whose_daemon_sends_hello_is_alive_while_its_execd_restarts_and_not_for_ever(racks: Racks, clock: Clock) -> None:
    place = connect(racks, "h1", "h1", "h2")
    clock.now += 100
    hello(racks, "h2")
    racks.state(Statement(place, ["h1"]))
    assert "h2" in racks.alive({"h1"})
    for _ in range(round(GRACE_S / HEARD_S)):
        clock.now += HEARD_S - 0.1
        hello(racks, "h2")
    assert "h2" in racks.alive({"h1"})
    clock.now += HEARD_S - 0.1
    hello(racks, "h2")
    assert "h2" not in racks.alive({"h1"}), "it cannot reach the node"
    assert racks.state(Statement(place, ["h1", "h2"])) == ["h2"]
    assert "h2" in racks.alive({"h1"})


def test_a_host_that_is_apart_and_silent_is_dead(racks: Racks, clock: Clock) -> None:
    place = connect(racks, "h1", "h1", "h2")
    clock.now += 100
    hello(racks, "h2")
    racks.state(Statement(place, ["h1"]))
    clock.now += HEARD_S + 0.1
    assert "h2" not in racks.alive({"h1"})


def test_a_statement_of_an_earlier_node_counts_for_nothing(racks: Racks, clock: Clock) -> None:
    first = connect(racks, "h1", "h1", "h2")
    racks.alive({"h1"})
    racks.alive(())
    racks.ended()
    connect(racks, "h2", "h2")
    assert racks.state(Statement(first, ["h1", "h2", "h3"])) is None
    assert racks.ended() == [first]
    assert racks.place_of("h3") is None


def test_a_node_that_does_not_come_is_replaced_and_the_next_has_more_time(racks: Racks, clock: Clock) -> None:
    hello(racks, "h1")
    clock.now += START_S - 1
    racks.alive(())
    assert hello(racks, "h2").node == "h1"
    clock.now += 2
    racks.alive(())
    assert hello(racks, "h2").node == "h2"
    clock.now += 2 * START_S - 1
    racks.alive(())
    assert hello(racks, "h1").node == "h2"


def test_a_node_whose_process_hangs_is_replaced_though_its_hosts_are_connected(racks: Racks, clock: Clock) -> None:
    place, looks = connect(racks, "h1", "h1", "h2"), round(START_S * LOOKS_PER_S)
    for _ in range(looks):
        assert "h2" in racks.alive({"h1"})
    racks.state(Statement(place, ["h1", "h2"]))
    for _ in range(looks):
        racks.alive({"h1"})
    assert hello(racks, "h2", CONNECTED) == place and not racks.ended()
    clock.now += 1000
    assert "h2" in racks.alive({"h1"}), "away for a moment, not lost"
    assert racks.ended() == [place]
    assert hello(racks, "h2", CONNECTED).node == "h2"
    assert hello(racks, "h1", CONNECTED).node == "h2"
    assert racks.state(Statement(place, ["h1", "h2"])) is None


def test_a_node_without_a_port_for_its_hosts_is_replaced_and_the_next_has_more_time(racks: Racks) -> None:
    hello(racks, "h1")
    for _ in range(round(START_S * LOOKS_PER_S) + 1):
        racks.alive({"h1"})
    assert hello(racks, "h3").node == "h3"
    for _ in range(round(START_S * LOOKS_PER_S) + 1):
        racks.alive({"h1", "h3"})
    assert hello(racks, "h1").node == "h3"


def test_a_qmaster_that_restarts_adopts_the_node_that_it_finds(racks: Racks, clock: Clock) -> None:
    assert hello(racks, "h2", CONNECTED).node == "", "a connected host causes no election"
    assert racks.alive({"h1"}) >= {"h1", "h2", "h3"}
    known = Place("r1", "h1", "token", 7010)
    assert racks.state(Statement(known, ["h1", "h2"])) == ["h1", "h2"]
    assert hello(racks, "h2", CONNECTED) == hello(racks, "h3") == known


def test_a_host_that_leaves_its_rack_is_its_node_no_more(racks: Racks, clock: Clock, tmp_path: Path) -> None:
    place = connect(racks, "h1", "h1", "h2")
    (tmp_path / "racks").write_text("r1 h2 h3\n")
    racks.read()
    racks.alive({"h1"})
    assert racks.ended() == [place]
    assert racks.place(ExecdHello("h1", rack=CONNECTED)) is None
    assert racks.state(Statement(place, ["h1"])) is None


def test_a_file_that_cannot_be_used_changes_nothing(
    racks: Racks, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "racks").write_text("r1 h1\nr2 h1\n")
    for _ in range(2):
        racks.read()
    assert hello(racks, "h4").rack == "r2"
    assert caplog.text.count("racks, line 2: h1 is in rack r1 already") == 1
