"""The qmaster of a simulated cell: the service over a spool, with the calls of `daemons.runtime.calls` instead of Ray's.

`python -m bench.scale.qmaster DIRECTORY HOSTS SLOTS RACK`: an existing spool in the directory is read; otherwise the cell
is created, with its hosts. Prints a line of JSON when commands are answered: seconds for reading the spool, and for all until
then.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
from msgspec import structs

from bench.scale.parts import Sampler
from bench.scale.racks import racks_of
from bench.scale.requests import CATEGORIES, job
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.master import DAEMON, Master
from daemons.qmaster.serve.hosts.racks import Racks
from daemons.qmaster.serve.scheduling import snapshot_calls
from daemons.qmaster.serve.service import Service
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.transaction import Transaction
from daemons.runtime.calls import Handler, Link
from daemons.runtime.garbage_collection import collection_disabled, tune_collection_for_service
from gridengine.protocols.gdi.requests import Caller, decode_request
from gridengine.protocols.racks import decode_statement
from gridengine.state.jobs import Job
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.job import JobSubmitted
from tests.default_cell import default_objects
from tests.service_callbacks import IdleCallbacks

MASTER = "master"
_A_COMMIT = 100
NODE_WATCH_S = 0.5


def host_names(hosts: int) -> list[str]:
    return [f"n{number}" for number in range(1, hosts + 1)]


class SimulatedCell:
    """The process: its callers, and the processes that it calls."""

    def __init__(self, directory: Path, hosts: int, slots: int, rack: int) -> None:
        racks = racks_of(host_names(hosts), rack) if rack else {}
        (directory / "racks").write_text("".join(f"{name} {' '.join(members)}\n" for name, members in racks.items()))
        self._rack, self._nodes = rack, {members[0] for members in racks.values()}
        self._racks = Racks(directory / "racks", time.monotonic)
        began = time.perf_counter()
        self._directory = directory
        self._links: dict[str, Link] = {}
        self._given = ""
        known = {MASTER, *host_names(hosts)}

        def world() -> World:
            resolve = lambda name: name if name in known else None  # noqa: E731
            return World(time.time(), resolve, MASTER, "root", steady=time.monotonic())

        spool = Spool(directory / "spool.db")
        with collection_disabled():
            self.master = Master(spool, directory / "accounting", world)
        self.read_s = time.perf_counter() - began
        if spool.empty:
            events = [ObjectSet(kind, name, text) for kind, name, text in default_objects(host_names(hosts), slots)]
            self.master.record(Decision(events=list(events)), DAEMON)
            self.master.flush()
            self.master.compact()
        tune_collection_for_service()
        self.service = Service(self.master, IdleCallbacks(cycle=self._cycle, deliver=self._deliver))
        self._sampler, self._ended_tasks = Sampler(), 0
        self.master.subscribers.append(self._count_ends)

    def _count_ends(self, transaction: Transaction) -> None:
        self._ended_tasks += len(transaction.accounting)

    async def _sample(self, begin: bool) -> dict[str, float]:
        """Begin to sample the work of this process, or end it: the share of each part."""
        if begin:
            self._sampler.begin()
            return {}
        return self._sampler.end()

    async def _linked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = (await reader.readline()).decode().strip()
        handlers: dict[str, Handler] = {
            "report": self.service.reports, "stop": self._stop, "busy": self._busy,
            "fill": self._fill, "snapshot": self._snapshot, "sample": self._sample,
            "state_rack": self._state_rack,
        }
        link = self._links[name] = Link(reader, writer, handlers)
        await link.run()
        if self._links.get(name) is link:
            del self._links[name]

    def _link(self, name: str) -> Link:
        if name not in self._links:
            raise LookupError(f"{name} has not joined")
        return self._links[name]

    async def _cycle(self, parts: list[bytes] | None, base: int, events: list[bytes], now: float, monitored: bool) -> bytes:
        link = self._link("schedd")
        if parts is not None:
            self._given = token_hex(8)
            calls = list(snapshot_calls(parts))
            for number, some in enumerate(calls):
                await link.call("load", some, self._given, number, len(calls))
        orders: bytes = await link.call("cycle", self._given, base, events, now, monitored)
        return orders

    async def _deliver(self, host: str, data: bytes) -> bytes:
        acknowledgements: bytes = await self._link("hosts").call("deliver", host, data)
        return acknowledgements

    async def _state_rack(self, data: bytes) -> bool:
        """As the qmaster's actor does."""
        connected = self._racks.state(decode_statement(data))
        for host in connected or ():
            self.service.dispatcher.inventoried(host)
        return connected is not None

    async def _watch(self) -> None:
        """As the qmaster's actor does, in a cell whose hosts are in racks."""
        while self._rack:
            await asyncio.sleep(NODE_WATCH_S)
            self.service.lose_nodes(set(self.service.hosts_with_nodes()) - self._racks.alive(self._nodes))

    async def _stop(self) -> bool:
        self._stopped.set()
        return True

    async def _busy(self) -> dict[str, Any]:
        """Measurements and progress of the service."""
        state = self.master.state
        running = sum(len(tasks) for tasks in state.tasks_on.values())
        return {
            "jobs": len(state.jobs), "running": running, "revision": state.revision, "prioritised": len(state.priorities),
            "cycles": sum(self.service._measures.cycle.counts), "cycle_s": self.service._measures.cycle.seconds,
            "up": sum(host.up for host in state.hosts.values()), "ended": self._ended_tasks,
        }

    async def _fill(self, jobs: int, categories: int = CATEGORIES, requests: list[str] | None = None) -> bool:
        """Submit jobs as the real `submit` makes them, a hundred to a transaction; other clients are served in between.
        `requests`: what each of them requests in addition."""
        caller = Caller("alice", 1001, "users", 100, MASTER)
        made: list[Job] = []
        for number in range(categories):
            body = job(number)
            body["hard"] += requests or []
            request = decode_request("submit", msgspec.json.encode(body))
            event = self.master.decide("submit", request, caller).events[-1]
            assert isinstance(event, JobSubmitted)
            made.append(event.job)
        payload = Payload(None, dict(job(0)["environment"]))
        for begin in range(0, jobs, _A_COMMIT):
            first, now = self.master.state.next_job_id, self.master.world().now
            copies = [
                structs.replace(made[(begin + offset) % categories], id=first + offset, submit_time=now)
                for offset in range(min(_A_COMMIT, jobs - begin))
            ]
            payloads = {copy.id: payload for copy in copies}
            self.master.record(Decision(events=[JobSubmitted(copy) for copy in copies], payloads=payloads), caller)
            await self.service.durable()
        return True

    async def _snapshot(self) -> dict[str, float]:
        """Time of the loop for the next snapshot, for another snapshot right after it, and for the data of the scheduler."""
        found = {}
        for name in ("seconds", "again_seconds"):
            self.service.flush()
            began = time.perf_counter()
            self.master.spool.snapshot(self.master.state)
            found[name] = round(time.perf_counter() - began, 3)
        began = time.perf_counter()
        parts = self.master.spool.parts(self.master.state)
        return {**found, "parts_seconds": round(time.perf_counter() - began, 3), "parts_mb": sum(map(len, parts)) // 2**20}

    async def run(self, began: float) -> None:
        self._stopped = asyncio.Event()
        await self.service.start(self._directory / "run" / "gdi.sock", MASTER, lambda _: "")
        socket = self._directory / "run" / "calls.sock"
        socket.unlink(missing_ok=True)
        watch = asyncio.create_task(self._watch())
        server = await asyncio.start_unix_server(self._linked, socket, limit=2**26)
        print(json.dumps({"read_s": round(self.read_s, 2), "ready_s": round(time.perf_counter() - began, 2)}), flush=True)
        await self._stopped.wait()
        server.close()
        watch.cancel()
        began = time.perf_counter()
        await self.service.stop()
        print(json.dumps({"stop_s": round(time.perf_counter() - began, 2)}), flush=True)


if __name__ == "__main__":
    started = time.perf_counter()
    asyncio.run(SimulatedCell(Path(sys.argv[1]), *map(int, sys.argv[2:5])).run(started))
