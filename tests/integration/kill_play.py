"""The play of the kills: sixty short tasks, and a process of the cell that dies just when they start, end or are acknowledged.

Defines one act and its rules: every task started once and ended once, whatever `-r` is, and has one record. Tests play an act
or two; `python -m tests.integration.kill_play MINUTES SEED` (`make kills`) goes on until the time is up, with a cell of its
own; the seed gives the same victims and moments, though not the same schedule of the machine.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.integration.cells import DemoCell, eventually
from tests.integration.victims import VICTIMS, is_daemon, kill

TASKS = 60
SLOTS = 50
SPREAD_S = 0.2
"""The kill comes within this time after its trigger."""
MOMENTS = ("submitted", "began", "ended", "acknowledged")


class KillPlay:
    """Acts on one cell."""

    def __init__(self, cell: DemoCell, seed: int) -> None:
        self._cell, self._random = cell, random.Random(seed)

    def act(self, role: str = "", moment: str = "", rerun: str = "") -> str:
        """One kill, by default of any process at any moment; returns a description. AssertionError when a task did not run
        once."""
        chance = self._random
        role, moment = role or chance.choice(sorted(VICTIMS)), moment or chance.choice(MOMENTS)
        rerun, nth, delay_s = rerun or chance.choice("ny"), chance.randint(1, TASKS), chance.uniform(0, SPREAD_S)
        script, notes = self._script(chance.choice((0, 0.05, 0.3)))
        before = self._records()
        job = self._cell.must("qsub", "-terse", "-r", rerun, "-t", f"1-{TASKS}", str(script)).partition(".")[0].strip()
        seen = {
            "submitted": lambda: True,
            "began": lambda: len(_lines(notes, "B")) >= nth,
            "ended": lambda: len(_lines(notes, "E")) >= nth,
            "acknowledged": lambda: self._records() - before >= nth,
        }[moment]
        _watch(seen)
        time.sleep(delay_s)
        output = f"{role} killed {delay_s * 1000:.0f} ms after task {nth} of job {job} (-r {rerun}) {moment}"
        kill(self._cell, role)
        if is_daemon(role):
            self._cell.must("gridengine", "start", "--host-name", self._cell.host)
        eventually(f"all tasks are over; {output}", self._all_over)
        self._check(job, notes, output)
        return output

    def _script(self, seconds: float) -> tuple[Path, Path]:
        """A script that notes its begin and its end, and the file of its notes."""
        place = Path(tempfile.mkdtemp(prefix="once.", dir=self._cell.work))
        script, notes = place / "once.sh", place / "notes"
        script.write_text(
            "#!/bin/sh\n#$ -S /bin/sh -j y -o /dev/null\n"
            f"echo B $SGE_TASK_ID >> {notes}\n" + (f"sleep {seconds}\n" if seconds else "") + f"echo E $SGE_TASK_ID >> {notes}\n"
        )
        return script, notes

    def _records(self) -> int:
        try:
            return (self._cell.common / "accounting").read_bytes().count(b"\n")
        except OSError:
            return 0

    def _all_over(self) -> bool:
        done = self._cell.command("qstat", "-u", "*")
        return done.returncode == 0 and not done.stdout

    def _check(self, job: str, notes: Path, output: str) -> None:
        expected = Counter(map(str, range(1, TASKS + 1)))
        for kind in "BE":
            found = Counter(_lines(notes, kind))
            assert found == expected, f"{output}: {kind} {found - expected} too often, {expected - found} missing"
        records = self._cell.must("qacct", "-j", job)
        assert records.count("jobnumber ") == TASKS, f"{output}: {records.count('jobnumber ')} records"
        wrong = [line for line in records.splitlines() if line.split()[:1] == ["failed"] and line.split()[1] != "0"]
        assert not wrong, f"{output}: {wrong}"


def _lines(notes: Path, kind: str) -> list[str]:
    """The tasks that noted this letter."""
    if not notes.exists():
        return []
    notes_ = [line.split() for line in notes.read_text().splitlines()]
    return [note[1] for note in notes_ if note[0] == kind]


def _watch(seen: Callable[[], bool]) -> None:
    """Look often, for a while: a moment that does not come is as good as any."""
    until = time.monotonic() + 20
    while not seen() and time.monotonic() < until:
        time.sleep(0.005)


def main(minutes: float, seed: int) -> int:
    """Play until the time is up. 0: every task of every act ran once."""
    cell = DemoCell(slots=SLOTS)
    until = time.monotonic() + minutes * 60
    acts = 0
    try:
        cell.start()
        play = KillPlay(cell, seed)
        while time.monotonic() < until:
            print(play.act(), flush=True)
            acts += 1
    except AssertionError as error:
        print(f"after {acts} acts of seed {seed}: {error}", file=sys.stderr)
        return 1
    finally:
        cell.remove()
    print(f"{acts} acts, {acts * TASKS} tasks, each of them once")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
