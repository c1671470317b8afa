"""`make fuzz MINUTES= SEED=`: both fuzzers for a while, in this process and on the sockets of a demo cell.

Prints the findings, with the seed that repeats them; exit status 1 if there are findings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from daemons.runtime.garbage_collection import tune_collection_for_service
from tests.fuzz.in_process import Findings, Fuzzer
from tests.fuzz.sockets import SocketFuzzer

SLOW_S = 0.1


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--minutes", type=float, default=2.0, help="for both together, half for each")
    parser.add_argument("--requests", type=int, default=0, help="so many to each, however long it takes")
    parser.add_argument("--seed", type=int, default=0, help="0: another one every time")
    parser.add_argument("--only", choices=("process", "sockets"), default="")
    options = parser.parse_args()
    seed = options.seed or int(time.time())
    found = 0
    if options.only != "sockets":
        tune_collection_for_service()  # as the qmaster, in which a look through all of pytest would be no request's fault
        # the spools of its cells are no matter for a disk
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
            found += _report("in process", Fuzzer(Path(place), seed, SLOW_S).run, options, seed)
    if options.only != "process":
        found += _on_sockets(options, seed)
    return 1 if found else 0


def _on_sockets(options: argparse.Namespace, seed: int) -> int:
    from tests.integration.cells import BIN, DemoCell
    from tools.launchers import write_launchers

    write_launchers(BIN, sys.executable)
    cell = DemoCell()
    try:
        cell.start()
        sockets = [cell.place / "run" / name for name in ("gdi.sock", "gateway.sock")]
        found = _report("on the sockets", SocketFuzzer(sockets, seed, SLOW_S).run, options, seed)
        return found + tracebacks(cell.place / "spool")
    finally:
        cell.remove()


def tracebacks(spool: Path) -> int:
    """The number of tracebacks in the logs of a cell, which are printed."""
    found = 0
    for path in spool.rglob("messages"):
        text = path.read_text(errors="replace")
        if "Traceback" in text:
            found += text.count("Traceback")
            print(f"{path}:\n{text[text.index('Traceback') - 300 :][:3000]}")
    return found


def _report(where: str, run: Callable[[Callable[[int], bool]], Findings], options: argparse.Namespace, seed: int) -> int:
    """Run a fuzzer, print its findings, and return the number of kinds of findings."""
    begun = time.monotonic()
    end = begun + options.minutes * 30
    limit: Callable[[int], bool] = (
        (lambda asked: asked < options.requests) if options.requests else (lambda asked: time.monotonic() < end)
    )
    findings = run(limit)
    rate = findings.requests / (time.monotonic() - begun)
    print(f"{where}, seed {seed}: {findings.requests} requests, {findings.accepted} accepted, {rate:.0f} a second; found:")
    print(findings)
    print(f"the longest took {findings.slowest_s * 1000:.0f} ms: {findings.slowest[:300]}", flush=True)
    return len(findings.counts)


if __name__ == "__main__":
    sys.exit(main())
