"""Measures the Python interface and DRMAA with a separate cell: importing, submitting, and functions in the cell.

Run by `make bench-api`. The figures of one run belong together: an array of /bin/true is measured beside the executor, because a
task of a function can never cost less than /bin/true.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from gridengine.api import Cell, GridExecutor
from tests.integration.cells import ROOT, DemoCell

HELD, QUIET = "-h", "-o /dev/null -j y"
TASKS, SUBMISSIONS, ITEMS = 1000, 500, 100_000


def import_ms(names: str) -> float:
    """Processor time of the import in a new interpreter, the median of nine."""
    code = f"import time; begin = time.process_time(); {names}; print((time.process_time() - begin) * 1000)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(9)]
    return statistics.median(map(float, runs))


def seconds(act: Callable[[], object]) -> float:
    """Duration of a call."""
    begin = time.monotonic()
    act()
    return time.monotonic() - begin


def submit_ms(cell: Cell) -> tuple[float, float]:
    """Median time of a submission on one connection, and the CPU time of this program for it."""
    own, times, jobs = time.process_time(), [], []
    for _ in range(SUBMISSIONS):
        begin = time.monotonic()
        jobs.append(cell.submit("/bin/true", binary=True, holds="u", stdout="/dev/null", merge=True).id)
        times.append(time.monotonic() - begin)
    spent = time.process_time() - own
    cell.delete(jobs)
    return statistics.median(times) * 1000, spent / SUBMISSIONS * 1000


def array_of_true(cell: Cell) -> None:
    """An array that does nothing, from submission to end."""
    cell.wait(cell.submit("/bin/true", binary=True, no_shell=True, tasks=f"1-{TASKS}", stdout="/dev/null", merge=True).id)


def by_drmaa(demo_cell: DemoCell, native: str) -> int:
    """Submissions a second of a C program: one session, one connection, one job after the other."""
    library, program = demo_cell.place / "drmaa", demo_cell.place / "submissions"
    sources = ROOT / "clients" / "drmaa"
    if not program.exists():
        subprocess.run(["make", "--silent", "-C", str(sources), f"BUILD={library}"], check=True)
        linked = [f"-L{library}", "-ldrmaa", f"-Wl,-rpath,{library}"]
        source = ROOT / "bench" / "submissions.c"
        subprocess.run(["cc", "-O2", f"-I{sources}", "-o", str(program), str(source), *linked], check=True)
    command = [str(program), str(SUBMISSIONS), native]
    return int(subprocess.run(command, env=demo_cell.environment, capture_output=True, text=True, check=True).stdout)


def report(demo_cell: DemoCell) -> None:
    """Print all figures."""
    print(f"import gridengine.api               {import_ms('import gridengine.api'):8.1f} ms of the processor")
    print(f"from gridengine.api import Cell     {import_ms('from gridengine.api import Cell'):8.1f} ms of the processor")
    where: dict[str, Any] = {"root": str(demo_cell.place), "cell": "test"}
    with Cell(**where) as cell:
        median, own = submit_ms(cell)
        print(f"submit, one connection              {median:8.2f} ms a job, {own:.2f} of them this program's processor time")
        print(f"the same by DRMAA, held jobs        {by_drmaa(demo_cell, HELD):8} jobs a second")
        print(f"the same while they run             {by_drmaa(demo_cell, QUIET):8} jobs a second")
        plain = seconds(lambda: array_of_true(cell))
        print(f"array of {TASKS} times /bin/true        {plain / TASKS * 1000:8.2f} ms a task")
    with GridExecutor(directory=demo_cell.work / "calls", cell=where) as ex:
        round_trip = statistics.median(seconds(lambda: ex.submit(abs, -1).result()) for _ in range(15))
        print(f"one call, there and back            {round_trip * 1000:8.1f} ms")
        named = seconds(lambda: list(ex.map(abs, range(TASKS), chunksize=1)))
        print(f"map, {TASKS} tasks of a library function{named / TASKS * 1000:7.2f} ms a task")
        own_function = seconds(lambda: list(ex.map(lambda number: number + 1, range(TASKS), chunksize=1)))
        print(f"map, {TASKS} tasks of a lambda          {own_function / TASKS * 1000:8.2f} ms a task")
        shared = seconds(lambda: list(ex.map(abs, range(TASKS))))
        print(f"the same without chunksize          {shared / TASKS * 1000:8.2f} ms a call")
        shared = seconds(lambda: list(ex.map(lambda number: number + 1, range(TASKS))))
        print(f"the same of the lambda              {shared / TASKS * 1000:8.2f} ms a call")
        many = seconds(lambda: list(ex.map(abs, range(ITEMS))))
        print(f"map, {ITEMS} items in {TASKS} chunks   {many / ITEMS * 1000:8.3f} ms an item")


def main() -> None:
    demo_cell = DemoCell(slots=8)
    try:
        demo_cell.start()
        report(demo_cell)
    finally:
        demo_cell.remove()


if __name__ == "__main__":
    main()
