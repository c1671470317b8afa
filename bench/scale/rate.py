"""The highest rate of tasks that qmaster and scheduler hold: `python -m bench.scale.rate --rate 1000`.

A cell of simulated hosts as in `bench.scale`, with jobs that wait because no host has their architecture. Tasks of one second
come at a steady rate for a minute, in arrays or as single jobs; the rate is held if the number of tasks that have not ended does
not grow. Then the next rate is a quarter higher, or lower, until one is held and the next is not. Called by `make scale RATE=`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.scale.__main__ import LOAD_REPORT_S, Run
from bench.scale.processes import Process
from bench.scale.requests import Connection, job

_STEP = 1.25
_ARRAYS_A_SECOND = 10
_WARM_UP_S = 15.0
_CONNECTIONS = 16
_MOST_TRIES = 8


class Rates(Run):
    """A cell with jobs that wait, in which rates are tried."""

    def __init__(self, directory: Path, hosts: int, pending: int, categories: int, seconds: float, single: bool) -> None:
        super().__init__(directory, hosts, pending, rack=0)
        self._categories, self._seconds, self._single = categories, seconds, single

    async def highest(self, rate: int) -> int:
        """The highest rate held, tasks a second; 0: none of those tried."""
        await self.prepare()
        held: set[int] = set()
        tried: set[int] = set()
        while len(tried) < _MOST_TRIES and rate not in tried:
            tried.add(rate)
            if await self.is_held(rate):
                held.add(rate)
            rate = round(rate * _STEP if rate in held else rate / _STEP)
            if rate in held or any(each <= rate for each in tried - held):
                break
        return max(held, default=0)

    async def prepare(self) -> None:
        """The hosts are up, and the jobs that wait have been looked at."""
        self.note("start", await self.start())
        self.simulated = Process("hosts", self.calls, self.hosts, LOAD_REPORT_S, 0)
        self.note("all_hosts_up_s", await self.until("up", self.hosts))
        await self.watch.call("fill", self.jobs, self._categories, ["arch=none"])
        self.note("all_prioritised_s", await self.until("prioritised", self.jobs))

    async def is_held(self, rate: int) -> bool:
        """Whether the tasks that have not ended stay as many, at a rate of tasks a second."""
        self._submits = True
        submission = asyncio.create_task(self._submit(rate))
        await asyncio.sleep(_WARM_UP_S)
        processes = {"qmaster": self.qmaster, "schedd": self.schedd}
        spent = {name: process.processor_s() for name, process in processes.items()}
        await self.watch.call("sample", True)
        before, began = await self._ended(), time.perf_counter()
        open_before = self._submitted - before
        await asyncio.sleep(self._seconds)
        after, seconds = await self._ended(), time.perf_counter() - began
        open_after = self._submitted - after
        parts = await self.watch.call("sample", False)
        tasks = max(1, after - before)
        spent = {name: process.processor_s() - spent[name] for name, process in processes.items()}
        cost = {name: round(1000 * value / tasks, 3) for name, value in spent.items()}
        self._submits = False
        await submission
        is_held = open_after - open_before <= rate and tasks >= 0.97 * rate * seconds
        qmaster_ms = {part: round(share * cost["qmaster"], 3) for part, share in parts.items()}
        self.note(f"{rate}_a_second", {
            "held": is_held, "ended_a_second": round(tasks / seconds), "open": [open_before, open_after], "ms_a_task": cost,
            "qmaster_percent": round(100 * spent["qmaster"] / seconds), "qmaster_ms": qmaster_ms,
        })
        while self._submitted > await self._ended():
            await asyncio.sleep(1)
        return is_held

    async def _ended(self) -> int:
        ended: int = (await self.watch.call("busy"))["ended"]
        return ended

    _submitted, _submits = 0, False

    async def _submit(self, rate: int) -> None:
        """Submit while `_submits`: each request at its time, or as soon as a connection is free. Counts what was accepted."""
        width = 1 if self._single else rate // _ARRAYS_A_SECOND
        began, numbers = time.perf_counter(), iter(range(10**9))

        async def one_after_the_other() -> None:
            connection = await Connection.open(self.gdi)
            for number in numbers:
                await asyncio.sleep(began + number * width / rate - time.perf_counter())
                if not self._submits:
                    break
                await connection.ask("submit", {**_short(number), **({} if self._single else {"tasks": f"1-{width}"})})
                self._submitted += width
            connection.close()

        await asyncio.gather(*(one_after_the_other() for _ in range(_CONNECTIONS)))

    async def run_rates(self, rate: int) -> None:
        try:
            self.note("highest_held", await self.highest(rate))
        finally:
            for process in (self.qmaster, self.schedd, self.simulated):
                process.kill()


def _short(number: int) -> dict[str, Any]:
    """A submission of a task of one second."""
    return {**job(number % 50), "args": ["1"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="rate")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--categories", type=int, default=1_000, help="of the jobs that wait")
    parser.add_argument("--rate", type=int, default=1_000, help="tasks a second that are tried first")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each rate is tried")
    parser.add_argument("--single", action="store_true", help="a job for each task, not arrays")
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ge-scale-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        run = Rates(Path(name), arguments.hosts, arguments.pending, arguments.categories, arguments.seconds, arguments.single)
        asyncio.run(run.run_rates(arguments.rate))
    if arguments.json:
        arguments.json.write_text(json.dumps(run.figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
