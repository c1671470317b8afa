"""A run of the simulation whose hosts are one rack, with a step in which the rack's node dies."""

from __future__ import annotations

from tests.simulation.simulated_host import SimulatedHost
from tests.simulation.simulated_rack import RACK, HostInRack, SimulatedRack
from tests.simulation.simulation import HOSTS, Action, Simulation


class RackSimulation(Simulation):
    """`rack`: its hosts."""

    def _start(self) -> None:
        (self._place / "racks").write_text(f"{RACK} {' '.join(HOSTS)}\n")
        self.hosts: dict[str, SimulatedHost] = {}
        self.rack = SimulatedRack(self._place, self.loop, self.network, self.hosts)
        self.master.rack = self.rack
        self.master.start()
        self.hosts.update((name, self._host(name)) for name in HOSTS)
        self.rack.watch()

    def _host(self, name: str) -> SimulatedHost:
        kind = type("HostOfThisRack", (HostInRack,), {"rack": self.rack})
        return kind(name, self._place, self.loop, self.network, self.seed, self.clock, self._begins)

    def _actions(self) -> list[tuple[Action, int]]:
        return [*super()._actions(), (self.kill_rack_node, 3)]

    def _lose(self, host: SimulatedHost) -> None:
        """The rack sees it."""

    def kill_rack_node(self) -> None:
        for node in self.rack.nodes.values():
            if node.process.alive:
                self.faults["rack node killed"] += 1
                node.process.kill()
