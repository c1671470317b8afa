"""`python -m bench.peers PREFIX [options]`: measure this system beside its peers.

Each round brings each system up in turn, measures it and takes it down, so other load of the machine affects all systems. A
system that fails, or takes longer than `--limit`, has empty cells with the reason; the others go on. The figures are medians
over the rounds. Needs root, an installation in PREFIX (make install), a Python with the package hyperqueue, and Debian's packages
of the peers, which it installs.

`submit_ms`, `list_ms`: one whole process of the client, medians of 30 with few jobs. `sync_ms`: a submission that waits
for the end of /bin/true, median of 7. `array_per_s`, `large_per_s`: tasks of /bin/true on 3 hosts with 50 slots each, from
submission until no job is listed; `tiny_per_s`: the same of a task list. `single_per_s`: jobs from four shells, until all are in
the accounting. `master_ms`, `master_mb`: processor time and memory (PSS) of all daemons of the master host, in the small array
and after it. `idle_percent`: processor time of all daemons of all hosts with nothing asked. `missing`: tasks that are not in the
accounting. The table and the plot go into a page of the documentation as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from bench.peers.grid_engine import OwnSystem, RealGridEngine
from bench.peers.hyperqueue import HyperQueue
from bench.peers.report import TITLES, in_page, medians, plot, table
from bench.peers.slurm import Slurm
from bench.peers.system import System, need_packages
from bench.peers.trial import FAILURES, Sizes, Trial, reason_of

CAPTION = (
    "`2.0 ×`: twice as fast, or half as much; below 1 the peer is better. The plot has the same medians on logarithmic axes, "
    "where a missing figure has no bar."
)


def tried(system: System, sizes: Sizes) -> tuple[str, Trial]:
    """One trial of a system, from its start to its removal, and its version. A failure gives a trial without figures."""
    version, trial = "", Trial(system, sizes)
    try:
        system.up()
        version = system.version()
        trial.run()
    except FAILURES as error:
        trial.notes = dict.fromkeys(TITLES, f"It did not start: {reason_of(error)}.")
    finally:
        try:
            system.down()
        except FAILURES as error:
            print(f"bench.peers: {system.label} is not removed: {reason_of(error)}", file=sys.stderr)
    return version, trial


def main() -> int:
    """Exit code 1: this system did not come up, or did not run its jobs."""
    parser = argparse.ArgumentParser(prog="bench.peers", description="Measure this system beside its peers.")
    parser.add_argument("prefix", help="where this system is installed")
    parser.add_argument("--hyperqueue", type=Path, metavar="PYTHON", default=Path("build/hyperqueue/bin/python"))
    for option, default, text in (
        ("--array", Sizes.array, "tasks of the small array, and number of single jobs; the large array has ten times as many"),
        ("--tiny", Sizes.tiny, "tasks of the task list"),
        ("--rounds", 1, "trials of each system"),
        ("--runs", Sizes.runs, "runs of a client in a trial"),
        ("--idle", Sizes.idle_s, "seconds with nothing asked"),
        ("--limit", Sizes.limit_s, "seconds of a trial"),
    ):
        parser.add_argument(option, type=type(default), default=default, help=text)
    parser.add_argument("--json", type=Path, default=Path("build/peers.json"))
    parser.add_argument("--plot", type=Path, default=Path("docs/plots/peers.png"))
    parser.add_argument("--page", type=Path, default=Path("docs/performance.md"), help="where the table goes, with the plot")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("bench.peers: only root makes hosts on this machine: run it as root")
    need_packages("iproute2")
    sizes = Sizes(options.array, 10 * options.array, options.tiny, options.runs, options.idle, options.limit)
    own = OwnSystem(options.prefix)
    systems = (own, RealGridEngine(), Slurm(), HyperQueue(options.hyperqueue))
    versions: dict[str, str] = {}
    trials: dict[str, list[Trial]] = {system.label: [] for system in systems}
    for number in range(options.rounds):
        for system in systems:
            version, trial = tried(system, sizes)
            versions[system.label] = version or versions.get(system.label, "not started")
            trials[system.label].append(trial)
            print(f"round {number + 1}, {system.label}: {trial.figures} {trial.notes}", file=sys.stderr)
    write_report(options, sizes, versions, trials)
    return 0 if all(trial.figures.get("missing") == 0 for trial in trials[own.label]) else 1


def write_report(options: argparse.Namespace, sizes: Sizes, versions: dict[str, str], trials: dict[str, list[Trial]]) -> None:
    """The record in JSON, the plot, and the section of the page."""
    figures, notes = {}, {}
    for label, found in trials.items():
        figures[label], notes[label] = medians([(trial.figures, trial.notes) for trial in found])
    record = {
        "time": time.strftime("%Y-%m-%d %H:%M"),
        "sizes": asdict(sizes),
        "versions": versions,
        "medians": figures,
        "notes": notes,
        "rounds": {label: [trial.figures for trial in found] for label, found in trials.items()},
    }
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(record, indent=2) + "\n")
    plot(figures, asdict(sizes), options.plot)
    rounds = "one round" if options.rounds == 1 else f"medians of {options.rounds} rounds"
    summary = f"{record['time']}, {rounds}; {'; '.join(f'{label}: {version}' for label, version in versions.items())}."
    lines = table(figures, notes, asdict(sizes))
    plot_path = os.path.relpath(options.plot, options.page.parent)
    section = f"{summary}\n\n{lines}\n\n{CAPTION}\n\n![Medians of the systems]({plot_path})"
    options.page.write_text(in_page(options.page.read_text(), section))
    print(lines)


if __name__ == "__main__":
    sys.exit(main())
