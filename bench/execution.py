"""Measures the costs of an exec host, without Ray and network: `execution.py [--jobs 400] [--sleepers 1000]`.

A real launcher and real shepherds in a spool directory of their own, driven by the execd's own task keeping in this
process. Prints JSON. `jobs_per_s`: tasks of /bin/true from the first start to the last reported end, `cpu_ms_per_job` of
launcher, shepherds, jobs and this process together, which a busy machine does not change; `cgroup_ms_per_job` and
`cgroup_ratio`: what it is more with a cgroup for each job. `shepherd_uss_mb`: unshared memory of
a waiting shepherd, the largest of ten; `shepherd_cpu_s`: its CPU time in ten seconds.
`watching_percent`: share of one core that launcher, shepherds and execd take for so many sleeping jobs, with its parts:
the CPU time of eight consecutive rounds of measuring usage, divided by their real distance, eight times
40 s. The load of the machine is printed beside.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from daemons.execd.attempt_log import AttemptLog
from daemons.execd.cgroups import prepare_cgroups
from daemons.execd.resource_assignment import ResourceAssigner, permitted_processors
from daemons.execd.site import HostSite, prepare_spool
from daemons.execd.tasks import Tasks
from gridengine.config.kinds import KINDS
from gridengine.errors import UnavailableError
from gridengine.protocols.delivery import Ended, Report, Start
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.configured.execution import read_execution
from gridengine.state.jobs import Grant, Job
from gridengine.values.task_key import TaskKey
from gridengine.values.topology import Topology

HOST = "bench"
LOAD_REPORT_S = 40.0
WARM_UP, ROUNDS, CGROUP_ROUNDS = 4, 8, 5
TICKS = os.sysconf("SC_CLK_TCK")


class ExecHost:
    """An exec host in this process, and its launcher beside it."""

    def __init__(self, directory: Path, cgroups: bool) -> None:
        self.directory = directory
        site = HostSite(HOST, str(directory), "bench", directory / "spool")
        prepare_spool(site.spool)
        self.launcher = subprocess.Popen([sys.executable, "-m", "shepherd.launcher", str(site.spool)])
        self.ended: set[int] = set()
        self.news = asyncio.Event()
        assigner = ResourceAssigner(Topology.of([(0, 0, 0)]), permitted_processors(), partial(prepare_cgroups, site))
        self.tasks = Tasks(site, AttemptLog(site.spool / "tries", 1), self._report, assigner, lambda: None)
        self.tasks.configuration = HostConfiguration.of({"execd_params": f"ENABLE_CGROUPS={cgroups}"})
        assigner.configure(self.tasks.configuration)
        user = pwd.getpwuid(os.geteuid())
        self._owner = {"owner": user.pw_name, "uid": user.pw_uid, "group": "bench", "gid": user.pw_gid}
        self._queue = read_execution(KINDS["cluster_queue"].template("all.q").attributes())

    def _report(self, *reports: Report) -> None:
        for report in reports:
            if isinstance(report, Ended):
                self.ended.add(report.key[0])
                self.tasks.acknowledged([report.key])
                self.news.set()

    async def start(self, job_id: int, *command: str) -> None:
        job = Job(job_id, "bench", submit_time=1.0, cwd=str(self.directory), binary=True, no_shell=True, **self._owner)  # type: ignore[arg-type]
        job.script_file, job.args = command[0], command[1:]
        job.stdout = job.stderr = (("", "/dev/null"),)
        start = Start(TaskKey(job_id, 1, 1), job, [Grant(f"all.q@{HOST}", 1)], self._queue, {})
        while True:
            with suppress(UnavailableError):  # the launcher has just been started
                await self.tasks.start(start, (0, 0))
                return
            await asyncio.sleep(0.1)

    async def until_ended(self, job_ids: set[int]) -> None:
        while not self.ended >= job_ids:
            self.news.clear()
            await self.news.wait()

    def shepherds(self) -> list[int]:
        return [int((path / "pid").read_text().split()[0]) for path in self.tasks.directories.values()]


def cpu_s(pid: int) -> float:
    """CPU time of a process with one thread, exactly: a sleeping job's shepherd needs less than a clock tick."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def ended_children_cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / TICKS


def uss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


async def rate(host: ExecHost, jobs: int) -> dict[str, float]:
    """Throughput of jobs that do nothing."""
    numbers = set(range(1, jobs + 1))
    pid = host.launcher.pid
    began, before = time.monotonic(), (time.process_time(), cpu_s(pid), ended_children_cpu_s(pid))
    await asyncio.gather(*(host.start(number, "/bin/true") for number in numbers))
    await host.until_ended(numbers)
    seconds = time.monotonic() - began
    await asyncio.sleep(0.5)
    after = (time.process_time(), cpu_s(pid), ended_children_cpu_s(pid))
    parts = [(now - then) / jobs * 1000 for then, now in zip(before, after, strict=True)]
    return {
        "jobs_per_s": jobs / seconds, "cpu_ms_per_job": sum(parts),
        **dict(zip(("ms_of_execd", "ms_of_launcher", "ms_of_shepherds"), parts, strict=True)),
    }


async def watching(host: ExecHost, sleepers: int) -> dict[str, float]:
    """Costs of running jobs that do nothing."""
    numbers = set(range(100_001, 100_001 + sleepers))
    await asyncio.gather(*(host.start(number, "/bin/sleep", "100000") for number in numbers))
    await asyncio.sleep(2)
    pids = host.shepherds()
    memory = max(uss_mb(pid) for pid in pids[:10])
    idle = cpu_s(pids[0])
    await asyncio.sleep(10)
    idle = cpu_s(pids[0]) - idle
    for _ in range(WARM_UP):
        await host.tasks.measure()
    before = (time.process_time(), cpu_s(host.launcher.pid), sum(map(cpu_s, pids)))
    for _ in range(ROUNDS):
        await host.tasks.measure()
    after = (time.process_time(), cpu_s(host.launcher.pid), sum(map(cpu_s, pids)))
    parts = [(now - then) / (ROUNDS * LOAD_REPORT_S) * 100 for then, now in zip(before, after, strict=True)]
    await host.tasks.end_all(60)
    await host.until_ended(numbers)
    return {
        "shepherd_uss_mb": memory, "shepherd_cpu_s": idle, "watching_percent": sum(parts),
        **dict(zip(("of_execd", "of_launcher", "of_shepherds"), parts, strict=True)),
    }


async def measure(jobs: int, sleepers: int, cgroups: bool) -> dict[str, float]:
    directory = Path(tempfile.mkdtemp(prefix="ge-bench-"))
    directory.chmod(0o755)
    host = ExecHost(directory, cgroups)
    client = asyncio.create_task(host.tasks.launcher.run())
    try:
        figures = await rate(host, jobs)
        return figures | (await watching(host, sleepers) if sleepers else {})
    finally:
        await host.tasks.end_all(10)
        client.cancel()
        host.launcher.terminate()
        host.launcher.wait()
        shutil.rmtree(directory, ignore_errors=True)


def cost_of_cgroups(jobs: int) -> dict[str, float]:
    """Processor time of a job with and without a cgroup, in turns: the medians of several rounds."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(CGROUP_ROUNDS):
        for cgroups, figures in found.items():
            figures.append(asyncio.run(measure(jobs, 0, cgroups))["cpu_ms_per_job"])
    without, together = (statistics.median(figures) for figures in found.values())
    return {"cgroup_ms_per_job": together - without, "cgroup_ratio": together / without}


def main() -> None:
    parser = argparse.ArgumentParser(description="measure an exec host")
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--sleepers", type=int, default=1000)
    options = parser.parse_args()
    figures = asyncio.run(measure(options.jobs, options.sleepers, cgroups=False)) | cost_of_cgroups(options.jobs)
    print(json.dumps({name: round(value, 3) for name, value in (figures | {"load": os.getloadavg()[0]}).items()}, indent=2))


if __name__ == "__main__":
    main()
