"""Cores that `-binding` gives, on topologies that no test machine has."""

from __future__ import annotations

import pytest

from gridengine.values.topology import BindingRequest, Core, Topology, choose


def topology(*sockets: int, threads: int = 1) -> Topology:
    """A host with so many cores on each socket."""
    processors, number = [], 0
    for _ in range(threads):
        for socket, cores in enumerate(sockets):
            for core in range(cores):
                processors.append((socket, core, number))
                number += 1
    return Topology.of(processors)


@pytest.mark.statement("EX-18")
@pytest.mark.parametrize(
    ("host", "used", "expected"),
    [
        (topology(2, 2), {(1, 0)}, "SCCScC"),
        (topology(2, threads=2), {(0, 1)}, "SCTTctt"),
        (topology(1), set(), "SC"),
        (Topology.of([(3, 0, 0), (3, 4, 1), (7, 0, 2)]), {(0, 1), (1, 0)}, "SCcSc"),
    ],
)
def test_text(host: Topology, used: set[Core], expected: str) -> None:
    assert host.text(used) == expected


@pytest.mark.statement("EX-18")
def test_processors_of_a_core_are_all_its_threads() -> None:
    host = topology(2, 2, threads=2)
    assert host.processors([(0, 1), (1, 0)]) == [1, 5, 2, 6]
    assert (host.processor_count, len(host.cores)) == (8, 4)


@pytest.mark.statement("SO-6", "EX-18")
@pytest.mark.parametrize(
    ("binding", "used", "expected"),
    [
        ("linear:2", "", "SccCCSCCCC"),
        ("linear", "", "SccCCSCCCC"),  # as many as slots
        ("linear:slots", "", "SccCCSCCCC"),
        ("linear:2", "0,3", "SCCCCSccCC"),  # an empty socket comes before any other
        ("linear:6", "", "SccccSccCC"),
        ("linear:2", "0,3 1,0 1,1", "SccCCSCCCC"),  # none empty: where the most are free
        ("linear:5", "0,1 0,3 1,0 1,1 1,3", ""),
        ("linear:3", "0,1 0,3 1,0 1,1 1,3", "ScCcCSCCcC"),
        ("linear:2:1,2", "", "SCCCCSCCcc"),
        ("linear:2:0,3", "", "SCCCcScCCC"),  # successive over the border of a socket
        ("linear:2:1,3", "", ""),
        ("linear:2:0,1", "0,2", ""),
        ("linear:1:5,0", "", ""),
        ("striding:2:2", "", "ScCcCSCCCC"),
        ("striding:3:2", "0,0", "SCcCcSCcCC"),
        ("striding:2:3:1,0", "", "SCCCCScCCc"),
        ("striding:3:4", "", ""),
        ("striding:1:1:0,2", "0,2", ""),
        ("explicit:0,1:1,3", "", "SCcCCSCCCc"),
        ("explicit:0,1:1,3", "1,3", ""),
        ("explicit:0,1:0,1", "", ""),
        ("explicit:0,1:2,0", "", ""),
        ("linear:0", "", ""),
        ("linear:9", "", ""),
    ],
)
def test_strategies_on_two_sockets_of_four_cores(binding: str, used: str, expected: str) -> None:
    host = topology(4, 4)
    taken = {(int(core[0]), int(core[2])) for core in used.split()}
    chosen = choose(BindingRequest.parse(f"set {binding}"), host, taken, slots=2)
    assert not taken.intersection(chosen)
    assert (host.text(chosen) if chosen else "") == expected


@pytest.mark.statement("SO-6")
def test_reading_a_request() -> None:
    assert BindingRequest.parse("env striding:2:3:1,0") == BindingRequest("env", "striding", 2, 3, (1, 0))
    assert BindingRequest.parse("pe linear::0,1") == BindingRequest("pe", "linear", None, 1, (0, 1))
    assert BindingRequest.parse("set explicit:0,0:0,1").cores == ((0, 0), (0, 1))
