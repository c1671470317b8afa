"""Run the simulation: `python -m tests.simulation --seeds 1000 --from 0`, or one seed with all its steps: `... 17 --trace`.

Exit code 1 if a rule was broken; the seed, the step and the rule are printed, and the same seed shows it again. Called by
`make simulate`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import mkdtemp

from tests.simulation.racks import RackSimulation
from tests.simulation.seeds import in_memory, run, run_seed
from tests.simulation.simulation import STEPS, Simulation


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", nargs="?", type=int, help="only this seed")
    parser.add_argument("--trace", action="store_true", help="print all steps")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rack", action="store_true", help="the hosts of a cell are one rack")
    options = parser.parse_args()
    cell = RackSimulation if options.rack else Simulation
    if options.seed is not None:
        place = Path(mkdtemp(prefix="simulation-", dir=in_memory())) / "cell"
        simulation, broken = run_seed(place, options.seed, options.steps, cell)
        if options.trace:
            print("\n".join(simulation.trace))
        print(broken or f"seed {options.seed}: no rule is broken")
        return bool(broken)
    record = run(options.first, options.seeds, options.steps, options.processes, cell)
    for what, count in sorted(record.counts.items()):
        print(f"{count:12,} {what}")
    print(f"{record.seeds:12,} seeds from {options.first}: {len(record.broken)} broken")
    if record.broken:
        print(f"the first: {min(record.broken, key=lambda line: int(line.split()[1].rstrip(',')))}")
    return bool(record.broken)


if __name__ == "__main__":
    sys.exit(main())
