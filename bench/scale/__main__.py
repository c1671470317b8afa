"""A cell of many simulated hosts and jobs, as a table and as JSON: `python -m bench.scale --hosts 10000 --jobs 1000000`.

Qmaster, scheduler and hosts are processes with the code of a real cell, except for Ray, which `daemons.runtime.calls` replaces.
The first jobs are submitted over GDI connections, because the commands are too slow for a million jobs. All further jobs are
copies of the result of the qmaster's own `submit` for a request of each category, recorded in its process, a hundred to a
transaction. Called by `make scale`. Results: docs/performance.md.
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

from bench.scale.processes import Process
from bench.scale.requests import Figures, asked, commands, polled, submit
from bench.scale.sockets import connect
from daemons.runtime.calls import CallFailedError, Link

SLOTS, LOAD_REPORT_S, POLLERS = 8, 40.0, 20
OVER_GDI = 5_000
"""Jobs that are submitted over connections."""
ARRAY_TASKS = 10_000_000
COMMANDS = ["qsub -b y -h /bin/true", "qstat -u nobody", "qstat -j 1", "qstat -g c"]


class Run:
    """A cell in a directory, and its figures. `rack`: hosts in a rack, 0 for no racks."""

    def __init__(self, directory: Path, hosts: int, jobs: int, rack: int) -> None:
        self.directory, self.hosts, self.jobs, self.rack = directory, hosts, jobs, rack
        self.figures: Figures = {"hosts": hosts, "slots": hosts * SLOTS, "jobs": jobs}
        self.calls = str(directory / "run" / "calls.sock")
        self.gdi = directory / "run" / "gdi.sock"
        self.watch: Link
        common = directory / "default" / "common"
        common.mkdir(parents=True)
        (directory / "run").mkdir()
        (common / "bootstrap").write_text(f"run_dir {directory}/run\n")

    def note(self, name: str, value: Any) -> None:
        """Record a figure, and print it immediately, because a run is long."""
        self.figures[name] = value
        print(f"{name:28} {json.dumps(value)}", flush=True)

    async def start(self) -> Figures:
        """Start qmaster and scheduler; returns the qmaster's figures of its start."""
        Path(self.calls).unlink(missing_ok=True)
        self.qmaster = Process("qmaster", self.directory, self.hosts, SLOTS, self.rack)
        start_figures = await asyncio.to_thread(self.qmaster.line)
        self.schedd = Process("schedd", self.calls)
        self.watch = await connect(self.calls, "watch", {})
        self._watching = asyncio.create_task(self.watch.run())
        return start_figures

    async def until(self, figure: str, least: int, patience_s: float = 3600.0) -> float:
        """Seconds until the qmaster counts so many of something."""
        began = time.perf_counter()
        while (await self.watch.call("busy"))[figure] < least:
            if time.perf_counter() - began > patience_s:
                raise TimeoutError(f"there are no {least} {figure} after {patience_s:.0f} s")
            await asyncio.sleep(0.2)
        return round(time.perf_counter() - began, 1)

    async def load(self, name: str) -> None:
        """The part of a core that qmaster and scheduler take while hosts report and no client has requests."""
        before = [each.processor_s() for each in (self.qmaster, self.schedd)]
        await asyncio.sleep(LOAD_REPORT_S)
        after = [each.processor_s() for each in (self.qmaster, self.schedd)]
        parts = [round(100 * (b - a) / LOAD_REPORT_S, 1) for a, b in zip(before, after, strict=True)]
        self.note(name, dict(zip(("qmaster_percent", "schedd_percent"), parts, strict=True)))

    def memory(self, name: str) -> None:
        both = {"qmaster": self.qmaster.memory_mb(), "schedd": self.schedd.memory_mb()}
        self.note(name, {**both, "together_now": both["qmaster"]["now"] + both["schedd"]["now"]})

    async def change(self, attribute: str) -> float:
        """Seconds of a change of one attribute of a queue: `slots`, everywhere or on one host."""
        changes = {"verb": "replace", "kind": "cluster_queue", "name": attribute, "changes": [["slots", str(SLOTS)]]}
        return await asked(self.gdi, "config_attributes", changes)

    async def empty_cell(self) -> None:
        """The cell without jobs: hosts join and report."""
        self.note("start_empty", await self.start())
        self.note("commands_empty_ms", await commands(self.directory, COMMANDS[:2]))
        self.simulated = Process("hosts", self.calls, self.hosts, LOAD_REPORT_S, self.rack)
        self.note("all_hosts_up_s", await self.until("up", self.hosts))
        await asyncio.sleep(2)
        await self.load("reports_without_jobs")

    async def filled_cell(self) -> None:
        """The jobs come, and as many as there are slots run."""
        over_gdi = min(self.jobs, OVER_GDI)
        self.note("submitted_over_gdi", await submit(self.gdi, over_gdi))
        if self.jobs > over_gdi:
            began = time.perf_counter()
            await self.watch.call("fill", self.jobs - over_gdi)
            self.note("submitted_inside_s", round(time.perf_counter() - began, 1))
        running = min(self.jobs, self.hosts * SLOTS)
        self.note("all_slots_in_use_s", await self.until("running", running))
        self.note("all_prioritised_s", await self.until("prioritised", self.jobs))
        await asyncio.sleep(5)
        self.memory("memory_mb")
        self.note("commands_ms", await commands(self.directory, COMMANDS))
        await self.load("reports_with_jobs")
        self.note("qstat_polled_by_20", await polled(self.directory, "qstat -u nobody", POLLERS, 20.0))
        self.note("snapshot", await self.watch.call("snapshot"))

    async def restarted_cell(self) -> None:
        """Kill qmaster and scheduler (kill -9), and start them again."""
        self.note("spool_mb", sum(path.stat().st_size for path in self.directory.glob("spool.db*")) // 2**20)
        self.qmaster.kill()
        self.schedd.kill()
        began = time.perf_counter()
        start_figures = await self.start()
        found = dict(start_figures)
        await commands(self.directory, ["qstat -u nobody"], runs=1)
        found["commands_answer_s"] = round(time.perf_counter() - began, 1)
        await self.until("cycles", 1)
        found["scheduled_s"] = round(time.perf_counter() - began, 1)
        await self.until("up", self.hosts)
        found["all_hosts_up_s"] = round(time.perf_counter() - began, 1)
        self.note("restart", found)
        await self.until("prioritised", self.jobs)
        self.memory("memory_after_restart_mb")

    async def changes(self) -> None:
        """Change the configuration, then delete all jobs."""
        names = {"a_queue_on_one_host": "all.q@n1", "a_queue_everywhere": "all.q"}
        self.note("changes_s", {name: round(await self.change(queue), 3) for name, queue in names.items()})
        await asyncio.sleep(3)
        body = {"verb": "replace", "kind": "configuration", "name": "global", "changes": [["max_aj_tasks", str(ARRAY_TASKS)]]}
        await asked(self.gdi, "config_attributes", body)
        before = self.qmaster.memory_mb()["now"]
        array = {"name": "array", "script_file": "/bin/true", "binary": True, "tasks": f"1-{ARRAY_TASKS}", "args": ["1000000"]}
        self.note("array_of_10_million_s", round(await asked(self.gdi, "submit", array), 3))
        self.note("array_mb", self.qmaster.memory_mb()["now"] - before)
        began = time.perf_counter()
        await asked(self.gdi, "delete_jobs", {"targets": [], "users": ["*"], "force": True})
        self.note("all_deleted_s", round(time.perf_counter() - began, 1))
        self.note("left", await self.watch.call("busy"))

    async def run(self) -> Figures:
        try:
            for stage in (self.empty_cell, self.filled_cell, self.restarted_cell, self.changes):
                await stage()
            await self.watch.call("stop")
            self.note("stop", await asyncio.to_thread(self.qmaster.line))
        except (CallFailedError, TimeoutError) as error:
            self.note("broken_off", str(error))
        finally:
            for process in (self.qmaster, self.schedd, self.simulated):
                process.kill()
        return self.figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="scale")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--rack", type=int, default=0, help="hosts in a rack; 0: no racks")
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ge-scale-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        figures = asyncio.run(Run(Path(name), arguments.hosts, arguments.jobs, arguments.rack).run())
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
