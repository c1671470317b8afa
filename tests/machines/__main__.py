"""`make machines`: install the Debian package on two virtual machines, and treat them as an administrator does.

`python -m tests.machines [STEP...]` runs these steps, by default all. Exit code 1: a step failed; the machines stay up to look
at, until the step `down`. Needs root, Debian 12 and some 5 GB of memory; an hour where the processor only emulates machines.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress

from tests.machines.bed import FailedStepError
from tests.machines.cell import clear
from tests.machines.steps import STEPS


def main(chosen: list[str]) -> int:
    """Run the steps; stop at the first that fails if others need it."""
    if unknown := [name for name in chosen if name not in STEPS]:
        print(f"no step {' '.join(unknown)}: {' '.join(STEPS)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    for name in chosen or list(STEPS):
        if failed and not chosen and (name == "down" or failed[0] in ("up", "init", "join")):
            break
        begin = time.monotonic()
        print(f"{name}: {(STEPS[name].__doc__ or '').splitlines()[0]}", flush=True)
        try:
            STEPS[name]()
        except (FailedStepError, subprocess.TimeoutExpired) as fault:
            failed.append(name)
            print(f"{name}: FAILED after {time.monotonic() - begin:.0f} s: {fault}", flush=True)
            with suppress(FailedStepError, subprocess.TimeoutExpired):
                clear()
        else:
            print(f"{name}: ok, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"failed: {' '.join(failed)}" if failed else "all steps passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
