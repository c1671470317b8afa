"""Many seeds, in sequence in each of some processes, and their results.

Defines the counts and the progress line. Called by `python -m tests.simulation` and by the tests.
"""

from __future__ import annotations

import gc
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from tests.garbage import collect_garbage, collect_garbage_rarely
from tests.simulation.simulation import STEPS, Simulation

CHUNK = 5
"""Seeds of one piece of work of a process."""
PROGRESS_S = 10.0


@dataclass
class Record:
    """The results of a number of seeds."""

    seeds: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def __iadd__(self, other: Record) -> Record:
        self.seeds += other.seeds
        self.counts += other.counts
        self.broken += other.broken
        return self


def run_seed(
    place: Path, seed: int, steps: int = STEPS, cell: type[Simulation] = Simulation
) -> tuple[Simulation, str]:
    """Run one seed of a kind of cell; return the simulation and the broken rule, "" for none."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    simulation = cell(place, seed)
    try:
        simulation.run(steps)
    except AssertionError as breach:
        return simulation, f"seed {seed}, step {simulation.step}: {breach}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return simulation, ""


def _begin_process() -> None:
    """The program's objects stay, and the garbage of seeds is collected after a few of them."""
    collect_garbage()
    collect_garbage_rarely()


class Chunk(NamedTuple):
    """Consecutive seeds; `end`: the seed behind the last. `steps` of each, in a cell of this kind."""

    first: int
    end: int
    steps: int
    cell: type[Simulation]


def run_chunk(chunk: Chunk) -> Record:
    """Run the seeds of a chunk."""
    record, place = Record(), Path(mkdtemp(prefix="simulation-", dir=in_memory()))
    for seed in range(chunk.first, chunk.end):
        simulation, broken = run_seed(place / "cell", seed, chunk.steps, chunk.cell)
        record += Record(1, _counts(simulation), [broken] if broken else [])
    shutil.rmtree(place)
    gc.collect()
    return record


def in_memory() -> str | None:
    """The directory of a file system in memory; None where the machine has none."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _counts(simulation: Simulation) -> Counter[str]:
    promises = simulation.promises
    found = Counter({"steps": simulation.step, "checks": simulation.rules.checks, "tries": len(simulation.rules.begun)})
    found += Counter({"requests acknowledged": promises.acknowledged, "requests refused": promises.refused})
    found += Counter({f"message {what}": count for what, count in simulation.network.broken.items()})
    return found + Counter({"writes": simulation.master.disk.writes}) + simulation.faults


def _chunks(first: int, seeds: int, steps: int, cell: type[Simulation]) -> Iterator[Chunk]:
    for begin in range(first, first + seeds, CHUNK):
        yield Chunk(begin, min(begin + CHUNK, first + seeds), steps, cell)


def run(first: int, seeds: int, steps: int, processes: int, cell: type[Simulation] = Simulation) -> Record:
    """All seeds, with a progress line every PROGRESS_S."""
    record, began = Record(), time.monotonic()
    reported_s = began
    with get_context("spawn").Pool(processes, _begin_process) as pool:
        for part in pool.imap_unordered(run_chunk, _chunks(first, seeds, steps, cell)):
            record += part
            for line in part.broken:
                print(line, flush=True)
            if time.monotonic() > reported_s + PROGRESS_S:
                reported_s = time.monotonic()
                print(f"{record.seeds} of {seeds} seeds in {reported_s - began:.0f} s, {len(record.broken)} broken", flush=True)
    return record
