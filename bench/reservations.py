"""How long one qrsub takes to decide with many reservations on many hosts.

`python -m bench.reservations [HOSTS] [RESERVATIONS]` prints milliseconds: granted, refused, a change of the configuration
that guards look at, and one tick of the clock.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC
from typing import Any

from daemons.qmaster.decide import decide
from daemons.qmaster.decision import World
from daemons.qmaster.reservation_states import reservation_changes
from gridengine.gdi.requests import Caller, ConfigureAttributes, Request, Reserve
from gridengine.state.apply import apply
from tests.builders import Cluster

ROOT = Caller("root", 0, "root", 0, "h1")


def main() -> None:
    hosts, reservations = (int(word) for word in (*sys.argv[1:], "1000", "1000")[:2])
    cluster = Cluster(hosts, 4)
    world = World(cluster.now, lambda name: name, "h1", "root", UTC)

    def ask(name: str, request: Request) -> tuple[float, int]:
        begin = time.perf_counter()
        decision = decide(cluster.state, name, request, ROOT, world)
        seconds = time.perf_counter() - begin
        for event in decision.events:
            apply(cluster.state, event)
        return seconds, decision.answer.status

    for number in range(reservations):
        window: dict[str, Any] = {"start_time": cluster.now + number * 60, "duration": 86400.0}
        assert ask("reserve", Reserve(**window, pe="mpi", pe_range="1-2"))[1] == 0
    for text, request in (
        ("granted, serial", Reserve(duration=3600.0)),
        ("granted, 100 slots", Reserve(duration=3600.0, pe="mpi", pe_range="100")),
        ("refused, too many slots", Reserve(duration=3600.0, pe="mpi", pe_range=str(hosts * 4))),
        ("refused, no such resource", Reserve(duration=3600.0, hard=["arch=none"])),
    ):
        times = [ask("reserve", request) for _ in range(9)]
        print(f"{text:28} {1000 * sorted(times)[4][0]:8.1f} ms  status {times[0][1]}")
    change = ConfigureAttributes("replace", "cluster_queue", "all.q", [("slots", "5")])
    print(f"{'guards of a queue change':28} {1000 * ask('config_attribute', change)[0]:8.1f} ms")
    begin = time.perf_counter()
    reservation_changes(cluster.state, cluster.now, 0.0)
    print(f"{'one tick':28} {1000 * (time.perf_counter() - begin):8.1f} ms")


if __name__ == "__main__":
    main()
