"""How often jobs start in the range of their forecast: `python -m bench.forecasts --jobs 30000 --seed 1`.

A made trace (bench.traces) is replayed in a virtual cell, which gives the true starts. The cell learns run times from tasks that
have ended, and its calibration from starts that have happened, of the few forecasts that the qmaster would have remembered. Jobs
count whose forecast was made after the first --warm jobs have ended: nothing was learned from their starts before.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from datetime import UTC
from statistics import median

import msgspec

from bench import traces
from daemons.forecast.answers import SAMPLED, drawn_forecasts
from daemons.forecast.calibration import CLASSES_S, Calibration, Remembered, class_of
from daemons.forecast.copies import fork_for
from daemons.forecast.run_times import EndedTask, RunTimes
from daemons.forecast.start import ForecastBasis
from daemons.qmaster.notifications.accounting import category
from daemons.simulator.replay import Replay
from daemons.simulator.swf_trace import trace_of_swf
from daemons.simulator.virtual_cell import VirtualCell
from daemons.simulator.virtual_master import Started
from gridengine.placement.expected_start import run_time_limit
from gridengine.protocols.delivery import Ended
from gridengine.state.parts import pack_jobs, pack_state, whole_state
from tests.default_cell import default_objects

NEWEST = 10_000
Moment = tuple[float, list[bytes], int]
"""Time, parts of the state, number of tasks that have ended."""
EndedRow = tuple[str, str, str, float, float]
"""The fields of an `EndedTask`."""


class WatchedCell(VirtualCell):
    """A cell that keeps its state at `moments`, each `every` seconds while jobs wait; `ended` tasks, and `starts` of jobs."""

    every = 3600.0

    def watch(self, every: float) -> None:
        self.every, self._next_moment = every, self.now
        self.moments: list[Moment] = []
        self.ended: list[EndedRow] = []
        self.starts: dict[int, float] = {}

    def end(self, ended: Ended) -> None:
        job = self.state.jobs[ended.key.job]
        limit = run_time_limit(self.state, job, job.tasks[ended.key.task])
        self.ended.append((job.owner, job.name, category(job), limit, ended.end_time - ended.start_time))
        super().end(ended)

    def cycle(self) -> list[Started]:
        started = super().cycle()
        for job, _ in started:
            self.starts.setdefault(job.id, self.now)
        if self.now >= self._next_moment and any(job.waits for job in self.state.jobs.values()):
            parts = [pack_state(self.state), pack_jobs(list(self.state.jobs.values()))]
            self.moments.append((self.now, parts, len(self.ended)))
            self._next_moment = self.now + self.every
        return started


def replayed(jobs: int, seed: int, hosts: int, slots: int, load: float, every: float) -> WatchedCell:
    """The cell after the replay of a made trace."""
    made = traces.jobs(jobs, seed, slots=hosts * slots, load=load)
    trace = trace_of_swf([line.encode() for line in traces.swf_lines(made)], "mpi")
    objects: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for kind, name, text in default_objects([f"h{number}" for number in range(1, hosts + 1)], slots):
        objects[kind][name] = {**text, "pe_list": "mpi"} if (kind, name) == ("cluster_queue", "all.q") else dict(text)
    cell = WatchedCell(objects, trace.jobs[0].submit_time, UTC)
    cell.watch(every)
    Replay(cell, trace).run()
    return cell


def forecasts(moments: list[Moment], ended: list[EndedRow], starts: dict[int, float], count: int) -> list[Remembered]:
    """Up to `count` forecasts at each of these moments, with their ranges by the starts before. SAMPLED of each moment are
    learned from, as in a cell."""
    calibration, made, busy = Calibration([]), list[Remembered](), time.process_time()
    for now, parts, tasks in moments:
        state = whole_state(parts)
        calibration.note_starts({job: [start] for job, start in starts.items() if start <= now}, state.jobs, now)
        run_times = RunTimes([EndedTask(*task[:5]) for task in ended[max(0, tasks - NEWEST) : tasks]])
        drawn = drawn_forecasts(state, fork_for(state), ForecastBasis(run_times, calibration, now, UTC), count)
        calibration.note(drawn[:SAMPLED])
        made += drawn
    print(f"{len(moments)} moments, {(time.process_time() - busy) / max(1, len(moments)):.2f} s each without the runs")
    return [msgspec.structs.replace(each, started=starts[each.job]) for each in made if each.job in starts]


def report(found: list[Remembered]) -> None:
    """Print a line for each class of expected waits, and one for all."""
    groups = [[each for each in found if class_of(each.expected) == number] for number in range(len(CLASSES_S))]
    for label, group in [*zip([f"up to {end / 3600:g} h" for end in CLASSES_S], groups, strict=True), ("all", found)]:
        ranged = [each for each in group if each.high >= 0]
        if not ranged:
            continue
        early = sum(each.wait < each.low - 1 for each in ranged) / len(ranged)
        late = sum(each.wait > each.high + 1 for each in ranged) / len(ranged)
        error = median(abs(each.wait - each.expected) for each in ranged)
        print(
            f"{label:<14} {len(group):6} forecasts, {len(ranged):6} with a range: {1 - early - late:.1%} within, "
            f"{early:.1%} early, {late:.1%} late; medians: width {median(each.high - each.low for each in ranged):.0f} s, "
            f"wait {median(each.wait for each in ranged):.0f} s, error {error:.0f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm", type=int, default=5000, help="jobs whose time is only learned from")
    parser.add_argument("--hosts", type=int, default=32)
    parser.add_argument("--slots", type=int, default=32, help="of each host")
    parser.add_argument("--load", type=float, default=0.85)
    parser.add_argument("--every", type=float, default=1800.0, help="seconds between forecasts")
    parser.add_argument("--forecasts", type=int, default=20, help=f"at each moment; {SAMPLED} of them are learned from")
    given = parser.parse_args()
    cell = replayed(given.jobs, given.seed, given.hosts, given.slots, given.load, given.every)
    print(f"{len(cell.starts)} jobs started, {len(cell.moments)} moments with pending jobs")
    moments = [moment for moment in cell.moments if moment[2] >= 500]
    counted_from = next((now for now, _, count in moments if count >= given.warm), 0.0)
    report([each for each in forecasts(moments, cell.ended, cell.starts, given.forecasts) if each.asked >= counted_from])


if __name__ == "__main__":
    main()
