"""Costs of configuration with many hosts, in one process: resolution of a queue with tuples, changes of one host's tuple, of a
default, of host groups.

`python -m bench.configuration [HOSTS]` prints the median of nine as milliseconds of the processor and of the clock, as
`bench.reservations` does. Requests are decided, applied and written to disk.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import count
from pathlib import Path

from bench.reservations import measured
from gridengine.config import KINDS
from gridengine.config.queue_resolution import ResolvableQueue
from tests.harness import Cell

GROUPS = 20
TUPLES = 40
_PLAIN = ("qname", "hostlist", "subordinate_list", "calendar", "complex_values")


def queue_with_tuples(cell: Cell) -> dict[str, str]:
    """A queue of all hosts with 40 tuples in each attribute: half of them for groups, half for hosts."""
    text = {**KINDS["cluster_queue"].template().attributes(), "qname": "big.q", "hostlist": "@allhosts"}
    identifiers = [f"@g{number}" for number in range(GROUPS)] + cell.names[: TUPLES - GROUPS]
    return {
        name: value if name in _PLAIN else ",".join([value, *(f"[{identifier}={value}]" for identifier in identifiers)])
        for name, value in text.items()
    }


def resolve_all(cell: Cell, text: dict[str, str]) -> None:
    """Every instance of a queue, from its text."""
    queue = ResolvableQueue(text)
    for host in cell.names:
        queue.resolve(host, cell.state.groups.groups_of(host))


def main() -> None:
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as directory:
        cell = Cell(Path(directory), hosts)
        for number in range(GROUPS):
            cell.add("host_group", f"@g{number}", hostlist=" ".join(cell.names[number::GROUPS]))
        text = queue_with_tuples(cell)
        measured(f"{hosts} hosts resolved", lambda: resolve_all(cell, text))
        assert cell.add("cluster_queue", "big.q", **text).status == 0
        values = count(1)

        def change(where: str) -> None:
            changes = [("slots", str(next(values)))]
            answer = cell.admin("config_attributes", verb="replace", kind="cluster_queue", name=where, changes=changes)
            assert answer.status == 0, answer.answers

        measured("one host's tuple", lambda: change(f"big.q@{cell.names[-1]}"))
        measured("one group's tuple", lambda: change("big.q@@g1"))
        measured("the default", lambda: change("big.q"))
        members = cell.state.kind("host_group")["@allhosts"]["hostlist"]

        def regroup(*hostlists: str) -> None:
            for hostlist in hostlists:
                assert cell.configure("host_group", "@allhosts", hostlist=hostlist).status == 0

        measured("all instances go and come", lambda: regroup("h1", members))
        measured("a host joins and leaves a group", lambda: regroup(members.rpartition(" ")[0], members))


if __name__ == "__main__":
    main()
