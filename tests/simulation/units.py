"""A simulated cell whose hosts have a named unit for each slot: no unit is ever with two processes that run, nor a unit and its
slice. Some jobs demand units with more memory.

Defines this kind of cell and its rule, which looks at the processes of hosts, not at the state of the master: also at tasks that
the master has given up and that still run. Called by `test_named_units`. Source: adr/0320.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gridengine.protocols.delivery import Start
from tests.harness import Cell
from tests.simulation.rules import hold
from tests.simulation.simulation import HOSTS, Action, Simulation, first_spool

MEMORY = {"0": 1, "1": 2, "2": 2, "2a": 1, "2b": 1}
"""Unit -> its memory in GB; `2a` and `2b` are slices of `2`."""
DEMAND = "dev_mem=2G"


class UnitsSimulation(Simulation):
    """`given`: the number of units that tasks got."""

    given = 0

    def _start(self) -> None:
        (self._place / "spool.db").write_bytes(spool_with_units())
        super()._start()
        ask = self.users.ask

        async def demand(what: str, user: str = "alice", /, **fields: Any) -> Any:
            if what == "submit" and self.dice.random() < 0.3:
                fields["hard"] = [*fields.get("hard", ()), DEMAND]
            return await ask(what, user, **fields)

        self.users.ask = demand  # type: ignore[method-assign]

    def _begins(self, host: str, start: Start) -> None:
        super()._begins(host, start)
        mine = set(start.units.get("dev", ()))
        slots = sum(grant.slots for grant in start.granted if grant.host == host)
        with self.rules.noted():
            hold("units", len(mine) == slots, f"{start.key} has {slots} slots on {host}, and the units {sorted(mine)}")
            fits = start.job.hard.get("dev_mem") is None or all(MEMORY[unit] >= 2 for unit in mine)
            hold("units", fits, f"{start.key} demands {DEMAND}, and has {sorted(mine)} of {host}")
            wholes = {unit[0] for unit in mine if unit[1:]}
            hold("units", not wholes & mine, f"{start.key} has a unit of {host} and a slice of it: {sorted(mine)}")
            for key, work in self.hosts[host].working.items():
                others = set(work.start.units.get("dev", ()))
                both = (mine & others) | (wholes & others) | (mine & {unit[0] for unit in others if unit[1:]})
                same = key.master == start.key.master
                hold("units", same or not both, f"{sorted(both)} of {host} is with {key} and {start.key}")
        self.given += len(mine)


    def _actions(self) -> list[tuple[Action, int]]:
        return [*super()._actions(), (self._begun(self.give_up), 6)]

    async def give_up(self) -> None:
        """An operator deletes a job without waiting for its hosts, which have still to end it."""
        request = self.dice.choice(self.promises.there) if self.promises.there else None
        if request is not None:
            request.deleting = True
            answer = await self.users.ask("delete_jobs", "root", targets=[str(request.id)], force=True)
            request.deleted = request.deleted or (answer is not None and answer.status == 0)


@cache
def spool_with_units() -> bytes:
    """The first spool, with a resource map on each host of which every slot takes a unit."""
    with TemporaryDirectory(prefix="simulation-") as name:
        (Path(name) / "spool.db").write_bytes(first_spool())
        cell = Cell.resumed(Path(name), HOSTS, 1_800_000_000.0)
        row = {"name": "dev", "shortcut": "dev", "type": "RSMAP", "relop": "<=", "requestable": "YES"}
        row |= {"consumable": "YES", "default": "1", "urgency": "0"}
        attributes = [(attribute, value, 1) for attribute, value in row.items()]
        hold("first", not cell.admin("config_add", kind="complex", name="dev", attributes=attributes).status)
        row |= {"name": "dev_mem", "shortcut": "dev_mem", "type": "MEMORY", "consumable": "NO", "default": "0"}
        attributes = [(attribute, value, 1) for attribute, value in row.items()]
        hold("first", not cell.admin("config_add", kind="complex", name="dev_mem", attributes=attributes).status)
        units = " ".join(f"dev/{unit}(dev_mem={size}G{' parent=2' if unit[1:] else ''})" for unit, size in MEMORY.items())
        for host in HOSTS:
            listed = f"dev={len(MEMORY)}({' '.join(MEMORY)})"
            hold("first", not cell.configure("exec_host", host, complex_values=listed).status)
            hold("first", not cell.add("host_units", host, units=units).status)
        cell.master.spool.snapshot(cell.state)
        cell.master.spool.close()
        return (Path(name) / "spool.db").read_bytes()
