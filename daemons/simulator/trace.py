"""Traces: jobs with the moments of their submission and the times that they ran, from a file of the past.

Owns the shape of a trace and its faults. `accounting_trace` and `swf_trace` read files; `replay` runs a trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LATEST = 32_503_680_000.0
"""1 January 3000: calendars end with the year 9999."""
LONGEST_S = 100 * 366 * 86_400.0
_FAR = "jobs that were submitted after the year 2999 or ran for more than 100 years, left out"
MOST_NAMED = 5
"""Places of each fault that are listed."""


@dataclass(slots=True)
class TracedTask:
    """`id`: its number, 0 without an array; `run_s`: its run time; `cpu`, `mem`, `io`: usage in s, GB s and GB.
    `failed`: the task ended without success."""

    id: int
    run_s: float
    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    failed: bool = False


@dataclass(slots=True)
class TracedJob:
    """`number`, `owner`, `group`, `name`: as in the file. `submit_time`: epoch s. `project`: "" for none. `hard`, `soft`: as -l,
    `NAME=VALUE` each. `pe`, `pe_range`: as -pe, "" for none. `queues`, `master_queues`: as -q and -masterq.
    `is_array`: its tasks have numbers. `reserve`: as -R y."""

    number: int
    submit_time: float
    owner: str
    group: str
    project: str = ""
    name: str = "job"
    hard: list[str] = field(default_factory=list)
    soft: list[str] = field(default_factory=list)
    pe: str = ""
    pe_range: str = ""
    queues: tuple[str, ...] = ()
    master_queues: tuple[str, ...] = ()
    is_array: bool = False
    reserve: bool = False
    tasks: list[TracedTask] = field(default_factory=list)


@dataclass(slots=True)
class TraceFaults:
    """Omissions of a trace. `counts`: description -> number; `places`: description -> the first places."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, place: str) -> None:
        """Count a fault. `what`: a plural, such as "lines without a job"; `place`: such as "line 7"."""
        self.counts[what] = self.counts.get(what, 0) + 1
        named = self.places.setdefault(what, [])
        if len(named) < MOST_NAMED:
            named.append(place)

    def sentences(self) -> list[str]:
        """One sentence a fault, with the first places."""
        return [
            f"{what}: {count} ({', '.join(self.places[what])}{', …' if count > len(self.places[what]) else ''})"
            for what, count in self.counts.items()
        ]


@dataclass(slots=True)
class JobTrace:
    """`jobs` in the order of their submission; `faults`: the omitted lines."""

    jobs: list[TracedJob]
    faults: TraceFaults

    @property
    def task_count(self) -> int:
        return sum(len(job.tasks) for job in self.jobs)

    def first(self, most: int) -> JobTrace:
        """The first jobs of the trace, all if `most` is 0."""
        return JobTrace(self.jobs[:most], self.faults) if most else self


def in_order(jobs: list[TracedJob], faults: TraceFaults) -> JobTrace:
    """A trace of these jobs: by submission, then by number, as a qmaster numbers them. Jobs of a far future are left out."""
    for job in jobs:
        if _is_far(job):
            faults.note(_FAR, f"job {job.number}")
    return JobTrace(sorted((job for job in jobs if not _is_far(job)), key=lambda job: (job.submit_time, job.number)), faults)


def _is_far(job: TracedJob) -> bool:
    return job.submit_time > LATEST or any(task.run_s > LONGEST_S for task in job.tasks)
