"""Costs of many reservations on many hosts, in one process.

`python -m bench.reservations [HOSTS] [RESERVATIONS]` prints the median of nine as milliseconds of the processor and of the
clock, which differ on a busy machine: qrsub granted and refused, changes of the configuration that guards look at, and the
seconds in which all of them start and end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC
from typing import Any

from daemons.qmaster.decide import decide
from daemons.qmaster.decision import World
from daemons.qmaster.rules.reservation_states import reservation_changes
from gridengine.protocols.gdi.requests import Caller, ConfigureAttributes, RequestBody, Reserve
from gridengine.state.apply import apply
from tests.builders import Cluster

ROOT = Caller("root", 0, "root", 0, "h1")
ROUNDS = 9


def measured(text: str, once: Callable[[], object], rounds: int = ROUNDS) -> None:
    """Print the median time of one call."""
    figures = []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        once()
        figures.append((time.process_time() - cpu, time.perf_counter() - wall))
    processor, clock = (sorted(column)[rounds // 2] for column in zip(*figures, strict=True))
    print(f"{text:32} {1000 * processor:8.1f} ms processor {1000 * clock:8.1f} ms clock")


class Bench:
    """A cluster whose reservations begin a minute apart and last a day."""

    def __init__(self, hosts: int, reservations: int) -> None:
        self.cluster = Cluster(hosts, 4)
        self.world = World(self.cluster.now, lambda name: name, "h1", "root", UTC)
        for number in range(reservations):
            window: dict[str, Any] = {"start_time": self.cluster.now + number * 60, "duration": 86400.0}
            assert self.ask("reserve", Reserve(**window, pe="mpi", pe_range="1-2")) == 0

    def ask(self, name: str, request: RequestBody, taken: bool = True) -> int:
        """Decide; the status."""
        decision = decide(self.cluster.state, name, request, ROOT, self.world)
        for event in decision.events if taken else ():
            apply(self.cluster.state, event)
        return decision.answer.status

    def tick(self, now: float) -> None:
        for event in reservation_changes(self.cluster.state, now, 0.0).events:
            apply(self.cluster.state, event)


def main() -> None:
    hosts, reservations = (int(argument) for argument in (*sys.argv[1:], "1000", "1000")[:2])
    bench = Bench(hosts, reservations)
    for text, request in (
        ("granted, serial", Reserve(duration=3600.0)),
        ("granted, 100 slots", Reserve(duration=3600.0, pe="mpi", pe_range="100")),
        ("refused, too many slots", Reserve(duration=3600.0, pe="mpi", pe_range=str(hosts * 4))),
        ("refused, no such resource", Reserve(duration=3600.0, hard=["arch=none"])),
    ):
        measured(text, lambda request=request: bench.ask("reserve", request))  # type: ignore[misc]
    for text, change in (
        ("guards, one instance", ConfigureAttributes("replace", "cluster_queue", "all.q@h1", [("slots", "5")])),
        ("guards, a queue on all hosts", ConfigureAttributes("replace", "cluster_queue", "all.q", [("slots", "5")])),
        ("guards, an unconcerned object", ConfigureAttributes("replace", "parallel_environment", "smp", [("slots", "9")])),
    ):
        measured(text, lambda change=change: bench.ask("config_attributes", change, taken=False))  # type: ignore[misc]
    now = bench.cluster.now
    last = now + (reservations + 1) * 60
    measured("a tick without anything due", lambda: reservation_changes(bench.cluster.state, now, 0.0))
    measured("all start in one second", lambda: bench.tick(last), rounds=1)
    measured("all end in one second", lambda: bench.tick(last + 2 * 86400), rounds=1)


if __name__ == "__main__":
    main()
