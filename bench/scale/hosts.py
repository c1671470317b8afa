"""Simulated exec hosts, many to a process: `python -m bench.scale.hosts SOCKET HOSTS SECONDS RACK` (hosts in a rack, or 0).

Owns the behaviour of `sge_execd` as the qmaster sees it: an inventory first, a load report every so many seconds with the
changed values, acknowledged starts, and ends; the first argument of a job is its duration in seconds (SI-1, SI-2: hosts without
execd). Nothing is run. Batches have the form and the order of real batches.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time

from bench.scale.qmaster import host_names
from bench.scale.racks import SimulatedRacks
from bench.scale.sockets import connect
from daemons.runtime.calls import CallFailedError, Link
from gridengine.protocols.delivery import Acknowledgement, Batch, Ended, Inventory, Load, Report, Signal, Start, decode, encode
from gridengine.values.task_key import TaskKey

_STEADY = {
    "arch": "lx-amd64", "num_proc": "8", "m_socket": "1", "m_core": "8", "m_thread": "8", "m_topology": "SCCCCCCCC",
    "m_topology_inuse": "SCCCCCCCC", "mem_total": "16000.000000M", "virtual_total": "16000.000000M",
    "swap_total": "0.000000M",
}
_CHANGING = (
    "load_short", "load_medium", "load_long", "load_avg", "np_load_short", "np_load_medium", "np_load_long", "np_load_avg",
    "cpu", "mem_free", "mem_used", "virtual_free", "virtual_used",
)
"""Values that every report of a host that is used has anew."""


class SimulatedHosts:
    """All hosts of the process, and the clock at which their jobs end."""

    def __init__(self, hosts: int, load_report_s: float, rack: int) -> None:
        self.names = host_names(hosts)
        self._load_report_s, self._rack = load_report_s, rack
        self._master = dict.fromkeys(self.names, (0, 0))
        self._numbers = dict.fromkeys(self.names, 0)
        self._life = int(time.time() * 1000)
        self._running: dict[str, set[TaskKey]] = {name: set() for name in self.names}
        self._saying: set[asyncio.Task[bool]] = set()
        self.link: Link
        self._racks: SimulatedRacks | None = None

    async def _take(self, host: str, data: bytes) -> bytes:
        return await (self.deliver if self._racks is None else self._racks.deliver)(host, data)

    async def deliver(self, host: str, data: bytes) -> bytes:
        """Instructions of the qmaster, as `ExecHost.deliver` is given them."""
        batch = decode(data)
        self._master[host] = max(self._master[host], batch.master)
        for instruction in batch.instructions:
            if isinstance(instruction, Start) and instruction.key not in self._running[host]:
                self._begin(host, instruction)
            elif isinstance(instruction, Signal) and instruction.command in ("kill", "end"):
                self._end_later(host, instruction.key, 0.0, 137)
        return encode(Batch(acknowledgements=[Acknowledgement() for _ in batch.instructions]))

    def _begin(self, host: str, start: Start) -> None:
        self._running[host].add(start.key)
        argument = start.job.args[0] if start.job.args else "0"
        with contextlib.suppress(ValueError):
            self._end_later(host, start.key, float(argument), 0)

    def _end_later(self, host: str, key: TaskKey, seconds: float, status: int) -> None:
        asyncio.get_running_loop().call_later(seconds, self._ended, host, key, status)

    def _ended(self, host: str, key: TaskKey, status: int) -> None:
        if key in self._running[host]:
            self._running[host].discard(key)
            now = time.time()
            self._say(host, Ended(key, exit_status=status, start_time=now, end_time=now, usage={"ru_wallclock": 1.0, "cpu": 1.0}))

    def _say(self, host: str, *reports: Report) -> None:
        task = asyncio.create_task(self.report(host, *reports))
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)

    async def report(self, host: str, *reports: Report) -> bool:
        """Whether the qmaster has taken it."""
        self._numbers[host] += 1
        batch = Batch(reports=list(reports), master=self._master[host], host=(self._life, self._numbers[host]))
        answer = decode(await self._send(host, encode(batch)))
        self._master[host] = max(self._master[host], answer.master)
        return not answer.refused

    async def _send(self, host: str, data: bytes) -> bytes:
        if self._racks is not None:
            return await self._racks.report(host, data)
        return bytes(await self.link.call("report", host, data))

    def load(self, full: bool) -> Load:
        values = {name: f"{random.random() * 8:.6f}" for name in _CHANGING}
        return Load(time.time(), {**_STEADY, **values} if full else values, full=full, incarnation="1")

    async def _lives(self, host: str, number: int) -> None:
        """The reports of one host, at a time of its own."""
        while not await self.report(host, Inventory(sorted(self._running[host]), "1"), self.load(full=True)):
            pass
        await asyncio.sleep(self._load_report_s * (number / len(self.names)))
        while True:
            await self.report(host, self.load(full=False))
            await asyncio.sleep(self._load_report_s)

    async def run(self, socket: str) -> None:
        """Run until the qmaster is gone, and again with the next qmaster."""
        while True:
            self.link = await connect(socket, "hosts", {"deliver": self._take})
            lives = [asyncio.create_task(self._lives(name, number)) for number, name in enumerate(self.names)]
            if self._rack:
                self._racks = SimulatedRacks(self.names, self._rack, self.link, self.deliver)
                lives.append(asyncio.create_task(self._racks.run()))
            await self.link.run()
            for life in lives:
                life.cancel()
            with contextlib.suppress(CallFailedError):
                await asyncio.gather(*lives, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(SimulatedHosts(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])).run(sys.argv[1]))
