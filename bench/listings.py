"""Costs of listings with 10,000 pending jobs and 1,000 queue instances: a qmaster's service in one process, real commands.

Prints a JSON line for each command, medians of RUNS: its whole process from start to end and its processor time (ms), its
memory peak (MB), the longest time that the qmaster's loop served no other client (ms of processor time), and the
size of the output (KB).
Run as `python -m bench.listings [PATTERN]`.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.serve.service import Service
from gridengine.protocols.delivery import Batch, encode
from gridengine.state.jobs import Job
from gridengine.state.machines.job import JobSubmitted
from gridengine.values.ranges import Ranges
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks
from tools.launchers import start_of

JOBS, HOSTS, RUNS = 10_000, 1_000, 5
COMMANDS = """
qstat -u *
qstat -f
qstat -f -u *
qstat -xml -u *
qstat -f -xml -u *
qstat -json -u *
qstat -f -json -u *
qstat -ext -u *
qstat -urg -u *
qstat -r -u *
qstat -g d -u *
qstat -g c
qstat -u nobody
qstat -F -u nobody
qstat -j 7
qhost
qhost -q
qhost -j
qhost -F
qselect
""".strip().splitlines()
#: a command prints its own figure at its end, because the kernel's figure for a child starts with the figure of its parent
_PEAK = "import os; end = os._exit; os._exit = lambda s: (os.write(2, open('/proc/self/status', 'rb').read()), end(s))"


def fill(cell: Cell) -> None:
    """JOBS pending jobs in 100 categories."""
    cell.master.record(Decision(events=[JobSubmitted(_job(number)) for number in range(1, JOBS + 1)]), DAEMON)
    cell.master.flush()


def _job(number: int) -> Job:
    hard = {"h_rt": str(3600 + number % 100), "arch": "lx-amd64"}
    submit_time = 1_800_000_000.0 + number / 1000
    return Job(number, f"job_number_{number}", "alice", 1001, "users", 100, submit_time, hard=hard, pending=Ranges.of([1]))


def command(command_line: list[str], environment: dict[str, str]) -> tuple[float, float, int, int]:
    """(s, processor s, peak in KB, bytes of output) of one process."""
    program = f"{_PEAK}; import sys; sys.path.append({os.getcwd()!r})\n{start_of(f'clients.{command_line[0]}')}"
    arguments = [sys.executable, "-IS", "-c", program, *command_line[1:]]
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    assert process.stdout is not None and process.stderr is not None
    size = 0
    while piece := process.stdout.read(1 << 18):
        size += len(piece)
    status = dict(line.split(b":", 1) for line in process.stderr.read().splitlines() if line.startswith(b"Vm"))
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, int(status[b"VmHWM"].split()[0]), size


class Loop:
    """Longest uninterrupted work of the qmaster's loop, in processor time, measured by a task that wakes up every ms."""

    worst = 0.0

    async def watch(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.worst = max(self.worst, now - last)
            last = now


async def serve(directory: Path, patterns: list[str]) -> None:
    cell = Cell(directory, hosts=HOSTS)
    fill(cell)

    async def deliver(*_: Any) -> bytes:
        return encode(Batch())

    service = Service(cell.master, IdleCallbacks(deliver=deliver))
    await service.start(directory / "run" / "gdi.sock", "master", lambda _: "")
    watch = Loop()
    watcher = asyncio.create_task(watch.watch())
    common = directory / "default" / "common"
    common.mkdir(parents=True)
    (common / "bootstrap").write_text(f"run_dir {directory}/run\n")
    environment = {"PATH": os.environ["PATH"], "SGE_ROOT": str(directory), "SGE_CELL": "default", "HOME": "/nonexistent"}
    for line in COMMANDS:
        if patterns and not any(pattern in line for pattern in patterns):
            continue
        figures, stretches = [], []
        for _ in range(RUNS):
            watch.worst = 0.0
            figures.append(await asyncio.to_thread(command, line.split(), environment))
            stretches.append(watch.worst)
        wall, cpu, peak, size = map(statistics.median, zip(*figures, strict=True))
        found = {"ms": round(wall * 1000), "cpu_ms": round(cpu * 1000), "peak_mb": round(peak / 1024, 1)}
        found |= {"blocked_ms": round(statistics.median(stretches) * 1000), "kb": round(size / 1000)}
        print(json.dumps({"command": line, **found}), flush=True)
    watcher.cancel()
    await service.stop()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(serve(Path(name), sys.argv[1:]))


if __name__ == "__main__":
    main()
