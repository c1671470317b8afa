"""The master host of the simulation: the real service on its spool, the real scheduler, and the supervisor that restarts them.

Defines the death and the restart of both: between any two callbacks, before any write to the disk, with or without the unsynced
data. Called by the simulation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import apsw

from daemons.qmaster.decision import World
from daemons.qmaster.master import Master
from daemons.qmaster.serve.scheduling import snapshot_calls
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.schedd.actor import Schedd
from tests.service_callbacks import IdleCallbacks
from tests.simulation.simulated_disk import Disk
from tests.simulation.simulated_loop import Killed, Process, SimulatedLoop
from tests.simulation.simulated_network import Network
from tests.simulation.simulated_rack import SimulatedRack

KEEP_JOURNAL = 25
"""Transactions before a snapshot: few, so that a run writes several snapshots."""
RESTART_S = (0.05, 0.7)
Died = Callable[[str], None]


class SimulatedMaster:
    """`service`: the running service, None while there is none. `clock`: of its host, epoch seconds. `began(master)` is called
    when a master has read its spool, before any other step; `died(how)` when a master has died."""

    def __init__(
        self, place: Path, hosts: list[str], loop: SimulatedLoop, network: Network, dice: random.Random,
        clock: Callable[[], float], began: Callable[[Master], None], died: Died,
    ) -> None:  # fmt: skip
        self.disk = Disk(dice)
        self.disk.dies = self._dies_writing
        self.service: Service | None = None
        self._place, self._known = place, {"master", *hosts}
        self._loop, self._network, self._dice, self._clock = loop, network, dice, clock
        self._began, self._died = began, died
        self._process = Process("qmaster")
        self._spool: Spool | None = None
        self._snapshots = 0
        self._without_power = False
        self.rack: SimulatedRack | None = None
        self.restart_schedd()

    @property
    def master(self) -> Master | None:
        return self.service.master if self.service is not None else None

    # --- lives ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start with the spool on disk; retry soon after a failure, as the supervisor does."""
        self._finalise()
        process = self._process = Process("qmaster")
        try:
            service = process.run(self._made)
        except (SpoolError, Killed, apsw.Error) as error:
            if process.alive:
                process.kill()
                self._is_dead(f"cannot start: {error}")
            return
        except Exception as error:  # noqa: BLE001 - a bug: it would never come up
            self._loop.faults.append(error)
            return
        if process.alive:
            self.service = service
            process.run(service.begin)
            self._network.serve("qmaster", process, service)

    def _made(self) -> Service:
        self._spool = Spool(self._place / "spool.db", keep_journal=KEEP_JOURNAL)
        master = Master(self._spool, self._place / "accounting", self._world)
        if not self._process.alive:
            raise Killed
        self._began(master)
        if self.rack is not None:
            self.rack.begin_qmaster()
        return Service(master, IdleCallbacks(cycle=self._cycle, deliver=self._deliver, end=self._ends_itself))

    def _world(self) -> World:
        return World(
            self._clock(), lambda name: name if name in self._known else None, "master", "root", steady=self._loop.time()
        )

    async def _cycle(self, parts: list[bytes] | None, base: int, *arguments: Any) -> bytes:
        if parts is not None:
            self._snapshots += 1
            calls = list(snapshot_calls(parts))
            for number, some in enumerate(calls):
                load = partial(Schedd.load, parts=some, snapshot=str(self._snapshots), number=number, calls=len(calls))
                await self._network.call("qmaster", "schedd", load)
        name = str(self._snapshots)
        orders: bytes = await self._network.call("qmaster", "schedd", lambda schedd: schedd.cycle(name, base, *arguments))
        return orders

    async def _deliver(self, host: str, data: bytes) -> bytes:
        if self.rack is not None:
            return await self.rack.deliver(host, data)
        acknowledgements: bytes = await self._network.call("qmaster", host, lambda execd: execd.deliver(data), 30.0)
        return acknowledgements

    def restart_schedd(self) -> None:
        if "schedd" in self._network.places:
            self._network.places["schedd"][0].kill()
        self.scheduler = Schedd()
        self._network.serve("schedd", Process("schedd"), self.scheduler)

    # --- deaths --------------------------------------------------------------------------------------------

    def kill(self, how: str = "killed", power: bool = False) -> None:
        """kill -9, or the host loses its power: the disk, too, then."""
        self._without_power = self._without_power or power
        if self._process.alive:
            self._process.kill()
            self.disk.abandon()
            self._is_dead(how)

    def _dies_writing(self) -> None:
        self._process.kill()
        self._is_dead("died writing")

    def _ends_itself(self, status: int) -> NoReturn:
        if self._process.alive:
            self._process.kill()
            self.disk.abandon()
            self._is_dead("ended itself")
        raise Killed

    def _is_dead(self, how: str) -> None:
        self._died(how)
        self.service = None
        self._loop.call_later(self._dice.uniform(*RESTART_S), self.start, context=self._loop.outside)

    def _finalise(self) -> None:
        """Close the files of a dead master; they accept no more writes, so closing changes nothing."""
        self.disk.abandon()
        if self._spool is not None:
            with suppress(apsw.Error, SpoolError):
                self._spool.close()
        self._spool = None
        if self._without_power:
            self.disk.lose_power([self._place / "accounting", self._place / "reporting"])
            (self._place / "spool.db-shm").unlink(missing_ok=True)
            self._without_power = False

    def end(self) -> None:
        """The simulation is over."""
        self._process.kill()
        self._finalise()
