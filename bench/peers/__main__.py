"""`python -m bench.peers PREFIX [--rounds 3] [--json FILE] [--plot FILE] [--page FILE]`: measure this system beside its peers.

Each round brings each system up in turn, measures it and takes it down, so other load of the machine affects all systems.
The figures are medians over the rounds. Needs root, an installation in PREFIX (make install), and Debian's packages of the
peers, which it installs.

`submit_ms`, `list_ms`: one whole process of the client, medians of 30 with few jobs. `sync_ms`: a submission that waits
for the end of /bin/true, median of 7. `array_per_s`: 1,000 tasks of /bin/true on 3 hosts with 50 slots each, from submission
until no job is listed. `single_per_s`: 1,000 jobs from four shells, until all are in the accounting. `missing`: tasks that are
not in the accounting. The table and the plot go into a page of the documentation as well.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

from bench.peers.grid_engine import OwnSystem, RealGridEngine
from bench.peers.report import in_page, plot, table
from bench.peers.slurm import Slurm
from bench.peers.system import System, need_packages

TASKS = 1000
SHELLS = 4
Figures = dict[str, float]

CAPTION = (
    "The plot has the same medians on logarithmic axes: times on the left (shorter is better), "
    "rates on the right (longer is better)."
)


def timed(system: System, command: str, count: int) -> float:
    """Median time in ms of so many runs of a command line, timed by a shell on the submit host."""
    loop = (
        f"for i in $(seq {count}); do a=$(date +%s%N); {command} >/dev/null 2>&1; b=$(date +%s%N); "
        "echo $(( (b-a)/1000 )); done"
    )
    return statistics.median(int(line) for line in system.alice(loop).split()) / 1000


def measure(system: System) -> Figures:
    """All figures of a system that is up and empty."""
    figures: Figures = {}
    timed(system, system.submission(), 3)
    figures["submit_ms"] = timed(system, system.submission(), 30)
    figures["list_ms"] = timed(system, system.listing, 30)
    system.drain()
    figures["sync_ms"] = timed(system, system.submission(wait=True), 7)
    ended = system.await_records(3 + 30 + 7)
    begin = time.monotonic()
    system.alice(system.submission(tasks=TASKS))
    system.drain()
    figures["array_per_s"] = TASKS / (time.monotonic() - begin)
    ended = system.await_records(ended + TASKS)
    begin = time.monotonic()
    loop = f"(for i in $(seq {TASKS // SHELLS}); do {system.submission()} >/dev/null; done) &"
    system.alice(f"for s in $(seq {SHELLS}); do {loop} done; wait")
    system.drain()
    found = system.await_records(ended + TASKS)
    figures["single_per_s"] = TASKS / (time.monotonic() - begin)
    figures["missing"] = 3 + 30 + 7 + 2 * TASKS - found
    return figures


def main() -> int:
    """Exit code 1: a system did not come up, or did not run its jobs."""
    parser = argparse.ArgumentParser(prog="bench.peers", description="Measure this system beside Grid Engine 8.1.9 and Slurm.")
    parser.add_argument("prefix", help="where this system is installed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("build/peers.json"))
    parser.add_argument("--plot", type=Path, default=Path("docs/plots/peers.png"))
    parser.add_argument("--page", type=Path, default=Path("docs/performance.md"), help="where the table goes, with the plot")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("bench.peers: only root makes hosts on this machine: run it as root")
    need_packages("iproute2")
    systems = (OwnSystem(options.prefix), RealGridEngine(), Slurm())
    versions: dict[str, str] = {}
    rounds: dict[str, list[Figures]] = {system.label: [] for system in systems}
    for number in range(options.rounds):
        for system in systems:
            try:
                system.up()
                versions[system.label] = system.version()
                rounds[system.label].append(measure(system))
            finally:
                system.down()
            print(f"round {number + 1}, {system.label}: {rounds[system.label][-1]}", file=sys.stderr)
    figures = {
        label: {name: statistics.median(each[name] for each in found) for name in found[0]} for label, found in rounds.items()
    }
    options.json.parent.mkdir(exist_ok=True)
    record = {"time": time.strftime("%Y-%m-%d %H:%M"), "versions": versions, "medians": figures, "rounds": rounds}
    options.json.write_text(json.dumps(record, indent=2) + "\n")
    plot(figures, options.plot)
    summary = f"{record['time']}, medians of {options.rounds} rounds; {'; '.join(f'{k}: {v}' for k, v in versions.items())}."
    plot_path = os.path.relpath(options.plot, options.page.parent)
    found = f"{summary}\n\n{table(figures)}\n\n{CAPTION}\n\n![Medians of the three systems]({plot_path})"
    options.page.write_text(in_page(options.page.read_text(), found))
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
