"""Costs of some hundred open pages, and of as many polling programs, in a cell with many jobs: figures as JSON.

    web.py CELL.env [--jobs 10000] [--rounds 3] [--seconds 20]

An env file as `make cell` writes it. The web server of the master host is started, and jobs are held in the cell. In turns,
without visitors (`calm`), with open pages (`pages`) and with programs (`pollers`), bob submits all the time: `qsub_ms` is the
median of the whole process, `cpu` the part of one core that the web server took. Exit status 1 beyond the limits: 10 % of a core
for the pages, and 10 % more than calm for a submission. Called by `make bench-web`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.siege import Cell

VISITORS, SHARE, SLOWER = 96, 0.10, 1.10
"""Visitors: as many streams as three users may have open; limits of the CPU share, and of the time of a submission."""
PLAY = Path(__file__).with_name("web_play.py")
_QSUB = (
    "end=$((SECONDS + {seconds})); while [ $SECONDS -lt $end ]; do a=$(date +%s%N); "
    "qsub -h -b y -N bench /bin/true >/dev/null 2>&1; "
    's=$?; b=$(date +%s%N); echo "$s $(( (b-a)/1000 ))"; sleep 0.2; done'
)
_CLOCK = (
    "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q '[p]ython.*bin/sge_web'; "
    "then awk '{print ($14 + $15) / '$(getconf CLK_TCK)'}' $p/stat; break; fi; done"
)
Figures = dict[str, Any]


class Visited:
    """A cell with its web server, and a token of each visitor."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        cell.run(cell.manager, "gridengine", "web")
        users = (cell.manager, cell.alice["master"], cell.bob["master"])
        self.tokens = [cell.run(user, "gridengine", "web", "--token").split()[-1] for user in users]
        link = cell.run(cell.manager, "gridengine", "web", "--login").split()[-1]
        self.base = link.split("/login/")[0]

    def start(self, play: str, count: int, seconds: float) -> subprocess.Popen[str]:
        """Send visitors."""
        arguments = ["python3", "-", play, self.base, str(count), str(seconds), *self.tokens]
        with PLAY.open() as program:
            return subprocess.Popen([*self.cell.manager, *arguments], stdin=program, stdout=subprocess.PIPE, text=True)

    def processor_s(self) -> float:
        """Seconds of a processor that the web server has taken."""
        return float(self.cell.run(self.cell.manager, "bash", "-c", _CLOCK))


def turn(visited: Visited, play: str, seconds: float) -> Figures:
    """One turn; "" without visitors."""
    figures: Figures = {}
    visitors = visited.start(play, VISITORS, seconds + 4) if play else None
    time.sleep(2)  # until all have come
    begin, taken = time.monotonic(), visited.processor_s()
    output = visited.cell.run(visited.cell.bob["exec"], "bash", "-c", _QSUB.format(seconds=int(seconds)))
    figures["cpu"] = (visited.processor_s() - taken) / (time.monotonic() - begin)
    answers = [line.split() for line in output.splitlines()]
    took = [int(each) / 1000 for status, each in answers if status == "0"]
    figures |= {"qsub_ms": statistics.median(took), "submitted": len(took), "failed": len(answers) - len(took)}
    if visitors is not None:
        figures["visitors"] = json.loads(visitors.communicate()[0])
    return figures


def main() -> None:
    """Print the figures; exit 1 if a figure exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cell", type=Path)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    visited = Visited(Cell(options.cell))
    filled = json.loads(visited.start("fill", options.jobs, 600).communicate()[0])
    turns: dict[str, list[Figures]] = {"calm": [], "pages": [], "pollers": []}
    for _ in range(options.rounds):
        for name, found in turns.items():
            found.append(turn(visited, "" if name == "calm" else name, options.seconds))
    medians = {
        name: {figure: round(statistics.median(each[figure] for each in found), 3) for figure in ("qsub_ms", "cpu")}
        for name, found in turns.items()
    }
    print(json.dumps({"filled": filled, "medians": medians, "turns": turns}, indent=1))
    slower = {name: each["qsub_ms"] / medians["calm"]["qsub_ms"] for name, each in medians.items()}
    if medians["pages"]["cpu"] > SHARE or max(slower.values()) > SLOWER:
        sys.exit(f"web: beyond the limits: pages take {medians['pages']['cpu']:.1%} of a core, submissions {slower}")


if __name__ == "__main__":
    main()
