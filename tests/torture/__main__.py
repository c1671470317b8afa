"""`python -m tests.torture MINUTES SEED [shadow] [rack]`: torture a cell of the test bed, and check all promises."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

from tests.needs import why_no_testbed
from tests.torture.cell import TorturedCell
from tests.torture.play import play


def main(minutes: float, seed: int, shadowed: bool, racked: bool) -> int:
    """Exit code 0: every rule held; 1: a breach; 2: there can be no test bed here."""
    if reason := why_no_testbed():
        print(reason, file=sys.stderr)
        return 2
    cell = TorturedCell()
    with Path("/run/lock/gridengine-torture").open("w") as one_session:
        fcntl.flock(one_session, fcntl.LOCK_EX)
        try:
            cell.install()
            cell.up()
            outcome = play(cell, seed, minutes * 60, shadowed, racked)
        finally:
            cell.remove()
    print(f"seed {seed}, {minutes:g} minutes\n{outcome}")
    if outcome.breaches:
        print(f"evidence: {outcome.evidence}")
    return 1 if outcome.breaches else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]), "shadow" in sys.argv[3:], "rack" in sys.argv[3:]))
