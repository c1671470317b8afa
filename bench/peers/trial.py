"""One trial of a system that is up and empty: its figures, and a sentence for each figure that it does not have."""

from __future__ import annotations

import math
import statistics
import subprocess
import time
from dataclasses import dataclass

from bench.peers import resources
from bench.peers.report import TITLES
from bench.peers.system import System

SHELLS = 4
#: runs of a client without their times, and at most so many that wait for the end
_WARM_UP, _SYNCS = 3, 7
#: daemons that have just started still work, this long, in seconds
_START_S = 10.0
FAILURES = (OSError, ValueError, subprocess.SubprocessError)


@dataclass(frozen=True)
class Sizes:
    """`array`: tasks of the small array, and single jobs; `large`, `tiny`: tasks of these; `runs` of a client; the time with
    nothing asked, and of a whole trial, in seconds."""

    array: int = 1000
    large: int = 10_000
    tiny: int = 100_000
    runs: int = 30
    idle_s: float = 30.0
    limit_s: float = 360.0


def reason_of(error: BaseException) -> str:
    """Why a system has no figure: the last line of what its command said, or the error itself."""
    if isinstance(error, subprocess.CalledProcessError):
        spoken = f"{error.stdout or ''}\n{error.stderr or ''}".strip()
        return spoken.splitlines()[-1].rstrip(".: ") if spoken else f"a command ended with {error.returncode}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"a command had not ended after {error.timeout:.0f} s"
    return str(error)


class Trial:
    """`figures`: those found. `notes`: sentences about figures, why they are missing, or what to know about them."""

    def __init__(self, system: System, sizes: Sizes) -> None:
        self._system, self._sizes = system, sizes
        self._expected = 0
        self._skipped = dict(system.unable)
        self.figures: dict[str, float] = {}
        self.notes: dict[str, str] = {}

    def run(self) -> None:
        """Measure stage by stage, until one fails or the time is over."""
        self._system.deadline = time.monotonic() + self._sizes.limit_s
        reason = ""
        try:
            for stage in (self._idle, self._commands, self._array, self._tiny, self._singles, self._large):
                stage()
        except FAILURES as error:
            late = time.monotonic() >= self._system.deadline
            reason = f"Not measured: {f'the {self._sizes.limit_s:.0f} s of its trial were over' if late else reason_of(error)}."
        finally:
            self._system.deadline = math.inf
        for name in TITLES:
            note = self._system.remarks.get(name) if name in self.figures else self._skipped.get(name, reason)
            if note:
                self.notes[name] = note

    def _idle(self) -> None:
        time.sleep(min(_START_S, self._sizes.idle_s))
        hosts = [self._system.master, *self._system.exec_hosts]
        before = resources.processor_seconds(*hosts)
        time.sleep(self._sizes.idle_s)
        used = resources.spent(before, resources.processor_seconds(*hosts))
        self.figures["idle_percent"] = 100 * used / self._sizes.idle_s

    def _commands(self) -> None:
        submission, runs = self._system.submission(), self._sizes.runs
        self._timed(submission, _WARM_UP)
        self.figures["submit_ms"] = self._timed(submission, runs)
        if "list_ms" not in self._skipped:
            self.figures["list_ms"] = self._timed(self._system.listing, runs)
        self._system.drain()
        syncs = min(_SYNCS, runs)
        self.figures["sync_ms"] = self._timed(self._system.submission(wait=True), syncs)
        self._expect(_WARM_UP + runs + syncs)

    def _array(self) -> None:
        tasks, master = self._sizes.array, self._system.master
        before = resources.processor_seconds(master)
        self.figures["array_per_s"] = self._rate(self._system.submission(tasks), tasks)
        used = resources.spent(before, resources.processor_seconds(master))
        self.figures["master_ms"] = 1000 * used / tasks
        self.figures["master_mb"] = resources.memory_mb(master)
        self._expect(tasks)

    def _tiny(self) -> None:
        tasks = self._sizes.tiny
        line, records = self._system.tiny(tasks)
        if not line:
            self._skipped["tiny_per_s"] = (
                f"It has no task lists; arrays of so many tasks together would take {self._estimate(tasks)}."
            )
        elif records < tasks or self._affords("tiny_per_s", tasks):
            self.figures["tiny_per_s"] = self._rate(line, tasks)
            self._expect(records)

    def _singles(self) -> None:
        jobs = self._sizes.array
        loop = f"(for i in $(seq $s {SHELLS} {jobs}); do {self._system.submission()} >/dev/null || exit; done) &"
        begin = time.monotonic()
        self._system.user(f"for s in $(seq {SHELLS}); do {loop} done; wait")
        self._system.drain()
        self._expect(jobs)
        self.figures["single_per_s"] = jobs / (time.monotonic() - begin)

    def _large(self) -> None:
        tasks = self._sizes.large
        if self._affords("large_per_s", tasks):
            self.figures["large_per_s"] = self._rate(self._system.submission(tasks), tasks)
            self._expect(tasks)

    # --- how ---

    def _timed(self, command: str, count: int) -> float:
        """Median time in ms of so many runs of a command line, timed by a shell on the submit host."""
        loop = f"for i in $(seq {count}); do a=$(date +%s%N); {command} >/dev/null || exit; b=$(date +%s%N); "
        return statistics.median(int(line) for line in self._system.user(f"{loop} echo $(( (b-a)/1000 )); done").split()) / 1000

    def _rate(self, line: str, tasks: int) -> float:
        begin = time.monotonic()
        self._system.user(line)
        self._system.drain()
        return tasks / (time.monotonic() - begin)

    def _expect(self, records: int) -> None:
        self._expected += records
        self.figures["missing"] = self._expected - self._system.await_records(self._expected)

    def _seconds(self, tasks: int) -> float:
        return tasks / self.figures["array_per_s"]

    def _estimate(self, tasks: int) -> str:
        return f"{self._seconds(tasks):,.0f} s at the rate of the array of {self._sizes.array:,}"

    def _affords(self, name: str, tasks: int) -> bool:
        """Whether an array of so many tasks would end within the time that is left; otherwise the figure is skipped."""
        if self._seconds(tasks) < self._system.deadline - time.monotonic():
            return True
        self._skipped[name] = f"Not tried: it would take {self._estimate(tasks)}."
        return False
