"""Measures task lists: lines of /bin/true a second, and the processor time of a line beyond that of the process itself.

    python -m bench.task_lists [--lines 100000] [--rounds 5] [--slots 2] [--hyperqueue PYTHON]

Each round runs the installed `qtasks run` on a list, without a cell, and beside it the floor: a loop that starts as many
processes of /bin/true by posix_spawn, as many at a time, and does nothing else. With a Python that has the package hyperqueue,
HyperQueue's server with one worker does a tenth of the lines, without output. Figures are medians of the rounds. Processor time
is that of the runner and of all its processes, as wait4(2) reports it; its start and end count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.hyperqueue import COMMAND, command_of
from gridengine.task_lists.list_script import ListOptions, script_of

_FLOOR = """
import os, sys
count, slots = int(sys.argv[1]), int(sys.argv[2])
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)]
begun = ended = 0
while ended < count:
    while begun < count and begun - ended < slots:
        os.posix_spawn(sys.argv[3], [sys.argv[3]], os.environ, file_actions=actions)
        begun += 1
    os.wait()
    ended += 1
"""


def seconds_of(
    command: list[str], environment: dict[str, str], directory: Path, stderr: int | None = None
) -> tuple[float, float]:
    """Duration and processor time of a process with all its children. `stderr`: as in subprocess."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=directory, stdout=subprocess.DEVNULL, stderr=stderr)
    _, status, usage = os.wait4(process.pid, 0)
    duration = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return duration, usage.ru_utime + usage.ru_stime


def round_of(lines: int, slots: int, number: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """(duration, processor time) of the list, and of the floor, in s."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        script = directory / "script"
        script.write_text(script_of(f"{COMMAND}\n" * lines, ListOptions(), "list"))
        environment = {**os.environ, "JOB_ID": str(number), "JOB_NAME": "bench", "NSLOTS": str(slots), "TMPDIR": name}
        qtasks = str(Path(sys.prefix) / "bin" / "qtasks")
        listed = seconds_of([qtasks, "run", str(script)], environment, directory)
        floor = seconds_of([sys.executable, "-ISc", _FLOOR, str(lines), str(slots), COMMAND], environment, directory)
        return listed, floor


def hyperqueue_of(python: str, lines: int, slots: int) -> tuple[float, float]:
    """Lines a second, and ms of processor time a line, of HyperQueue."""
    with tempfile.TemporaryDirectory() as name:
        run = command_of(python, "run", slots, lines)
        duration, spent = seconds_of(run, dict(os.environ), Path(name), subprocess.DEVNULL)  # a progress bar
    return lines / duration, spent / lines * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hyperqueue", metavar="PYTHON")
    for option, default in (("--lines", 100_000), ("--rounds", 5), ("--slots", 2)):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    rows, others = [], []
    for number in range(1, given.rounds + 1):
        listed, floor = round_of(given.lines, given.slots, number)
        rate, floor_rate = given.lines / listed[0], given.lines / floor[0]
        spent, floor_spent = (each[1] / given.lines * 1000 for each in (listed, floor))
        rows.append((rate, floor_rate, spent, floor_spent, spent - floor_spent, (listed[0] - floor[0]) / given.lines * 1000))
        print("round {}: {:7.0f} lines/s, floor {:7.0f}; processor {:.3f} ms a line, floor {:.3f}".format(number, *rows[-1][:4]))
        if given.hyperqueue:
            others.append(hyperqueue_of(given.hyperqueue, max(1, given.lines // 10), given.slots))
            print("         HyperQueue {:.0f} lines/s; processor {:.3f} ms a line".format(*others[-1]))
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    form = "medians: {:.0f} lines/s, floor {:.0f}; processor {:.3f} ms a line, floor {:.3f}, beyond {:.3f}; by the clock {:.3f}"
    print(form.format(*medians))
    if others:
        medians = [statistics.median(column) for column in zip(*others, strict=True)]
        print("HyperQueue: {:.0f} lines/s; processor {:.3f} ms a line".format(*medians))


if __name__ == "__main__":
    main()
