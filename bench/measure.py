"""Measures the speed of a cell, only through its commands, and prints the figures as JSON.

    measure.py CELL.env [--reference OTHER.env] [--parts qsub,sync,array,singles,idle,pending]

An env file describes a cell by command prefixes (`build/cell.env` is written by `make cell`). With a reference,
the reference cell is measured in the same run, and `ratios` are reference over cell for times and cell over reference
for rates: above 1 the cell is faster. Times on a shared machine drift; ratios of one run hold.

Requirements: the cell is idle, all.q has 150 slots or more, and no load thresholds. Figures: `qsub_ms`, the whole
process of one qsub, median of 30; `sync_ms`, `qsub -sync y` of /bin/true from submission to end, median of 7;
`array_tasks_per_s` of 1,000 tasks until qstat is empty, with the number of accounting records and of failed tasks, and the
processor time of each kind of process of the cell, in ms a task (docs/performance.md);
with `singles`, 400 jobs of /bin/true submitted one by one from four shells: `single_jobs_per_s`, until the end of the last job,
and the processor time of each kind of process, in ms a job (`qsub` includes its shells); with `idle`, 60 s without requests:
the part of a core that each kind of process takes (`idle_percent.*`);
with `pending`, 10,000 jobs: `submit_per_s` from four shells, `qstat_10k_ms` and `drain_jobs_per_s`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import processor_time

PARTS = ("qsub", "sync", "array")
TASKS = 1000
SINGLES, SHELLS = 400, 4
PENDING = 10000
IDLE_S = 60.0

#: After the last task shepherds wait for another one, in seconds, before they end.
DRAIN_PAUSE_S = 30.0
NAME = "bench"
OPTIONS = f"-N {NAME} -b y -o /dev/null -e /dev/null"

#: An accounting record of the last task may come this much later than its end, in seconds.
RECORDS_S = 30.0

#: Jobs that have not ended after this time, in seconds, will not.
DRAIN_S = 900.0

Figures = dict[str, float]


class Cell:
    """A cell that is driven by the command prefixes of its env file."""

    def __init__(self, env_file: Path) -> None:
        script = f'. {shlex.quote(str(env_file))} && printf "%s\\n" "$TARGET" "$MGR" "$ALICE" "$HOSTS"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        if done.returncode != 0 or len(lines) != 4:
            reason = done.stderr.strip() or "it sets no TARGET, MGR, ALICE and HOSTS"
            sys.exit(f"measure: {env_file} does not describe a cell: {reason}")
        self.name = lines[0]
        self._manager, self._user = (shlex.split(line) for line in lines[1:3])
        self._hosts = [self._manager[-1], *lines[3].split()]

    def manager(self, *command: str) -> str:
        """Run a command as a manager and return its output."""
        return _output([*self._manager, *command])

    def user(self, *command: str) -> str:
        """Run a command as an ordinary user and return its output."""
        return _output([*self._user, *command])

    def processor_time(self) -> processor_time.Seconds:
        """Return the processor time of each kind of process on the cell's hosts until now."""
        return processor_time.seconds(self._hosts, lambda host, *command: _output([*self._manager[:-1], host, *command]))

    def repeat(self, command: str, count: int) -> float:
        """Return the median time in ms of `count` runs of a command line, timed by a shell on the submit host."""
        loop = (
            f"for i in $(seq {count}); do a=$(date +%s%N); {command} >/dev/null 2>&1; b=$(date +%s%N); "
            "echo $(( (b-a)/1000 )); done"
        )
        return statistics.median(int(line) for line in self.user("bash", "-c", loop).split()) / 1000

    def drain(self) -> None:
        """Wait until no job of ours is left. TimeoutError: the cell does not run them."""
        deadline = time.monotonic() + DRAIN_S
        while any(line.split()[2:3] == [NAME] for line in self.user("qstat").splitlines()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} has not run the jobs within {DRAIN_S:.0f} s")
            time.sleep(0.05)


def measure_qsub(cell: Cell) -> Figures:
    cell.repeat(f"qsub {OPTIONS} /bin/true", 1)
    figure = cell.repeat(f"qsub {OPTIONS} /bin/true", 30)
    cell.drain()
    return {"qsub_ms": figure}


def measure_sync(cell: Cell) -> Figures:
    return {"sync_ms": cell.repeat(f"qsub -sync y {OPTIONS} /bin/true", 7)}


def measure_array(cell: Cell) -> Figures:
    before, begin = cell.processor_time(), time.monotonic()
    job = cell.user("qsub", "-terse", "-t", f"1-{TASKS}", *OPTIONS.split(), "/bin/true").split(".")[0]
    cell.drain()
    took_s = time.monotonic() - begin
    exits = _exit_statuses(cell, job)
    return {
        "array_tasks_per_s": TASKS / took_s,
        "array_records": len(exits),
        "array_bad": sum(value != "0" for value in exits),
        **processor_time.per_task(before, cell.processor_time(), TASKS),
    }


def _from_four_shells(cell: Cell, jobs: int) -> str:
    """Submit jobs one by one; returns the shell's report of the processor time of itself and its children."""
    loop = f"(for i in $(seq {jobs // SHELLS}); do qsub {OPTIONS} /bin/true >/dev/null; done) &"
    return cell.user("bash", "-c", f"for s in $(seq {SHELLS}); do {loop} done; wait; times")


def measure_singles(cell: Cell) -> Figures:
    before, begin = cell.processor_time(), time.monotonic()
    spoken = _from_four_shells(cell, SINGLES)
    cell.drain()
    took_s = time.monotonic() - begin
    figures = processor_time.per_task(before, cell.processor_time(), SINGLES)
    figures["processor_ms.qsub"] = processor_time.of_shell(spoken) * 1000 / SINGLES
    figures["processor_ms.together"] += figures["processor_ms.qsub"]
    return {"single_jobs_per_s": SINGLES / took_s, **{name.replace(".", ".single.", 1): ms for name, ms in figures.items()}}


def measure_idle(cell: Cell) -> Figures:
    cell.drain()
    time.sleep(DRAIN_PAUSE_S)
    before = cell.processor_time()
    time.sleep(IDLE_S)
    spent = {role: after - before[role] for role, after in cell.processor_time().items()}
    return {f"idle_percent.{role}": 100 * s / IDLE_S for role, s in {**spent, "together": sum(spent.values())}.items()}


def measure_pending(cell: Cell) -> Figures:
    cell.manager("qmod", "-d", "*")
    try:
        begin = time.monotonic()
        _from_four_shells(cell, PENDING)
        submit_s = time.monotonic() - begin
        qstat_ms = cell.repeat("qstat", 9)
    finally:
        begin = time.monotonic()
        cell.manager("qmod", "-e", "*")
    cell.drain()
    return {
        "submit_per_s": PENDING / submit_s,
        "qstat_10k_ms": qstat_ms,
        "drain_jobs_per_s": PENDING / (time.monotonic() - begin),
    }


MEASUREMENTS: dict[str, Callable[[Cell], Figures]] = {
    "qsub": measure_qsub,
    "sync": measure_sync,
    "array": measure_array,
    "singles": measure_singles,
    "idle": measure_idle,
    "pending": measure_pending,
}


def ratios(cell: Figures, reference: Figures) -> Figures:
    """Return how many times quicker `cell` is, for the figures that are times (`_ms`) and rates (`_per_s`)."""
    result = {}
    for name, value in cell.items():
        other = reference[name]
        if name.endswith("_ms") and value:
            result[name] = round(other / value, 2)
        elif name.endswith("_per_s") and other:
            result[name] = round(value / other, 2)
    return result


def _exit_statuses(cell: Cell, job: str) -> list[str]:
    """Return the exit statuses in the accounting of `job`, all of them or the existing records after RECORDS_S."""
    deadline = time.monotonic() + RECORDS_S
    while True:
        lines = cell.user("qacct", "-j", job).splitlines()
        exits = [line.split()[1] for line in lines if line.startswith("exit_status")]
        if len(exits) >= TASKS or time.monotonic() > deadline:
            return exits
        time.sleep(0.5)


def _output(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def main() -> None:
    """Measure the cells of the command line."""
    parser = argparse.ArgumentParser(description="Measure how fast a cell is, through its commands.")
    parser.add_argument("cell", type=Path, help="env file of the cell (make cell writes build/cell.env)")
    parser.add_argument("--reference", type=Path, help="env file of a cell to compare with")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(MEASUREMENTS)}; default: %(default)s")
    options = parser.parse_args()
    parts = options.parts.split(",")
    for part in parts:
        if part not in MEASUREMENTS:
            parser.error(f"there is no part {part}")
    for path in filter(None, (options.cell, options.reference)):
        if not path.is_file():
            sys.exit(f"measure: {path} is not there (make cell brings a cell up and writes build/cell.env)")
    report: dict[str, Figures] = {}
    for env_file in filter(None, (options.cell, options.reference)):
        cell = Cell(env_file.resolve())
        figures: Figures = {}
        for part in parts:
            try:
                figures.update(MEASUREMENTS[part](cell))
            except (TimeoutError, statistics.StatisticsError) as error:
                sys.exit(f"measure: {part}: {error}")
        report[cell.name] = {name: round(value, 1) for name, value in figures.items()}
    if options.reference:
        measured, reference = report.values()
        report["ratios"] = ratios(measured, reference)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
