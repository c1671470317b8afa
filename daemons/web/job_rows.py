"""Rows of jobs for the pages: all present rows, and the selection of a filter.

Owns the rows, which all visitors share and which are rebuilt job by job, the filters and the order. Rows and order are those of
`qstat` (`daemons.qmaster.queries.jobs`). The cost of a change depends on the affected jobs only, also with 100,000 jobs.
Called by the pages and the REST API.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple, overload

from daemons.qmaster.queries.jobs import finished_row, is_placed, rows_of_job
from daemons.qmaster.queries.selection import Listing
from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.job_rows import GRANTS, ID, INSTANCE, NAME, OWNER, PRIORITY, SLOTS, STATE_CODES, TASKS, TIME
from gridengine.state.conditions import SUSPENSION_CODES
from gridengine.state.machines.job import PrioritiesSet

#: the names of the tabs, with the test for the state codes of their rows
GROUPS: dict[str, Callable[[str], bool]] = {
    "running": lambda state_codes: bool(set("rt") & set(state_codes)) and "q" not in state_codes,
    "waiting": lambda state_codes: "q" in state_codes and not set("hE") & set(state_codes),
    "held": lambda state_codes: "q" in state_codes and "h" in state_codes and "E" not in state_codes,
    "error": lambda state_codes: "E" in state_codes,
    "suspended": lambda state_codes: "q" not in state_codes and not SUSPENSION_CODES.isdisjoint(state_codes),
    "finished": lambda state_codes: state_codes == "z",
}
ENDED = ("finished", "failed")
"""The groups of ended jobs: all jobs, and failed jobs."""
STATES = (*GROUPS, "failed")
"""The names of all tabs. A row that failed is in `finished`, too: its state codes are the same."""


class JobRow(NamedTuple):
    """A running task, or pending tasks of a job with the same reason. `id`: number of the job; `state`: state codes; `places`:
    queue instances. `time`: start, else submission, epoch s.

    A finished job has `end_time`, and `failed`: whether the job or one of its tasks failed.
    """

    id: int
    tasks: str
    priority: float
    name: str
    owner: str
    state: str
    time: float
    places: tuple[str, ...]
    slots: int
    end_time: float = 0.0
    failed: bool = False

    @property
    def target(self) -> str:
        """The name in commands: `17` or `17.3-5:1`."""
        return f"{self.id}.{self.tasks}" if self.tasks else str(self.id)


class JobFilter(NamedTuple):
    """A filter and an order, from the address of the page; "" for all. Values may have wildcards. `state`: a name of `STATES`;
    `find`: a text to search for; `sort`: a column of `JobRow`, with `-` in front in reverse order."""

    state: str = ""
    find: str = ""
    owner: str = ""
    queue: str = ""
    name: str = ""
    sort: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> JobFilter:
        """The filter in the query of an address; an unknown state means all states."""
        values = {name: query.get(name, "").strip() for name in cls._fields}
        return cls(**values | {"state": values["state"] if values["state"] in STATES else ""})

    def matches(self, row: JobRow) -> bool:
        """Whether a row passes the filter, regardless of its state."""
        return (
            (not self.find or _matches_search(self.find, row))
            and (not self.owner or _matches_pattern(self.owner, row.owner))
            and (not self.name or _matches_pattern(self.name, row.name))
            and (not self.queue or any(_in_queue(self.queue, instance) for instance in row.places))
        )


class SelectedRows(NamedTuple):
    """The selected rows, in order, and the number of rows in each group (`counts`), regardless of the selected state.

    `rows` may be a view, which is valid until the next await.
    """

    rows: Sequence[JobRow]
    counts: dict[str, int]


SortKey = tuple[float, ...]
"""The order of all rows: running tasks, then running tasks without a queue, then pending tasks by priority."""
Entry = tuple[SortKey, JobRow]


class EntryRows(Sequence[JobRow]):
    """The rows of entries, as a view: the cost of a slice depends on its length only."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> JobRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[JobRow]: ...
    def __getitem__(self, index: int | slice) -> JobRow | list[JobRow]:
        return [row for _, row in self._entries[index]] if isinstance(index, slice) else self._entries[index][1]

    def __iter__(self) -> Iterator[JobRow]:
        return iter(self[:])


class JobRows:
    """All rows of a mirror. The rows of a job are rebuilt at the first access after a change that affects the job."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._stale_jobs: set[int] = set()
        self._all_stale = True
        self._entries_by_job: dict[int, list[Entry]] = {}
        #: in order: all unfinished jobs, and each group
        self._entries: list[Entry] = []
        self._groups: dict[str, list[Entry]] = {name: [] for name in GROUPS}
        #: job -> jobs that depend on it
        self._successors: defaultdict[int, set[int]] = defaultdict(set)
        mirror.followers.append(self._note)

    @property
    def all(self) -> list[JobRow]:
        """Running rows, then pending rows by priority, then rows of recently finished jobs, as qstat lists them."""
        self._refresh()
        return [*EntryRows(self._entries), *reversed(self._finished())]

    def of_job(self, number: int) -> list[JobRow]:
        """The rows of an unfinished job."""
        self._refresh()
        return EntryRows(self._entries_by_job.get(number, ()))[:]

    def select_rows(self, job_filter: JobFilter) -> SelectedRows:
        """The rows that pass a filter."""
        self._refresh()
        ended = [row for row in self._finished() if job_filter.matches(row)]
        selected: Sequence[JobRow]
        if job_filter._replace(state="", sort="") == JobFilter():
            counts = {name: len(entries) for name, entries in self._groups.items()}
            selected = EntryRows(self._groups.get(job_filter.state, self._entries))
        else:
            kept = [row for row in EntryRows(self._entries) if job_filter.matches(row)]
            tally = Counter(group_of(row.state) for row in kept)
            counts = {name: tally[name] for name in GROUPS}
            selected = [row for row in kept if job_filter.state in ("", group_of(row.state))]
        failed = [row for row in ended if row.failed]
        counts |= {"finished": len(ended), "failed": len(failed)}
        if job_filter.state in ENDED:
            selected = ended if job_filter.state == "finished" else failed
        column = job_filter.sort.lstrip("-")
        if column in JobRow._fields:
            selected = sorted(selected, key=lambda row: getattr(row, column), reverse=job_filter.sort.startswith("-"))
        return SelectedRows(selected, counts)

    def matching(self, find: str) -> Iterator[JobRow]:
        """The rows of unfinished jobs, then of ended jobs, with a text that is searched for; valid until the next await."""
        self._refresh()
        for _, row in self._entries:
            if _matches_search(find, row):
                yield row
        yield from (row for row in self._finished() if _matches_search(find, row))

    def _finished(self) -> list[JobRow]:
        """The rows of recently finished jobs, the last to end first."""
        ended = reversed(self._mirror.state.finished)
        return [_row(finished_row(job))._replace(end_time=job.end_time, failed=job.unsuccessful) for job in ended]

    def _note(self, change: MirroredChange) -> None:
        """Mark the jobs whose rows may have changed."""
        affected = change.affected
        self._all_stale = self._all_stale or change.whole or bool(affected.objects)
        if self._all_stale:
            return
        self._stale_jobs |= affected.jobs
        self._stale_jobs.update(number for number, _ in affected.tasks)
        for instance in affected.instances:
            self._stale_jobs.update(number for number, _ in self._mirror.state.tasks_in.get(instance, ()))
        for event in change.events:
            if isinstance(event, PrioritiesSet):
                self._stale_jobs.update(event.priorities)

    def _refresh(self) -> None:
        """Rebuild the rows that may have changed."""
        state = self._mirror.state
        for number in list(self._stale_jobs):
            self._stale_jobs |= self._successors[number] if number in state.jobs else self._successors.pop(number, set())
        if self._all_stale or len(self._stale_jobs) > len(self._entries_by_job) // 8:
            self._rebuild()
        elif self._stale_jobs:
            listing = Listing(state)
            for number in self._stale_jobs:
                self._remove(self._entries_by_job.pop(number, ()))
                self._insert(number, self._entries_of_job(listing, number))
        self._stale_jobs.clear()
        self._all_stale = False

    def _rebuild(self) -> None:
        state = self._mirror.state
        listing = Listing(state)
        self._successors.clear()
        self._entries_by_job = {number: entries for number in state.jobs if (entries := self._entries_of_job(listing, number))}
        self._entries = sorted(entry for entries in self._entries_by_job.values() for entry in entries)
        self._groups = {name: [] for name in GROUPS}
        for entry in self._entries:
            self._groups[group_of(entry[1].state)].append(entry)

    def _entries_of_job(self, listing: Listing, number: int) -> list[Entry]:
        """The present rows of a job; none for a removed job."""
        state = listing.state
        job = state.jobs.get(number)
        if job is None:
            return []
        for other in (*job.predecessors, *job.array_predecessors):
            self._successors[other].add(number)
        running, pending = rows_of_job(listing, job, self._mirror.now)
        entries: list[Entry] = []
        for row in running:
            shown, phase = _row(row), 0 if is_placed(state, row) else 1
            entries.append(((phase, number, int(shown.tasks or 0)), shown))
        for ordinal, row in enumerate(pending):
            shown = _row(row)
            entries.append(((2, -shown.priority, shown.time, number, ordinal), shown))
        return entries

    def _insert(self, number: int, entries: list[Entry]) -> None:
        if entries:
            self._entries_by_job[number] = entries
        for entry in entries:
            for ordered in (self._entries, self._groups[group_of(entry[1].state)]):
                insort(ordered, entry)

    def _remove(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            for ordered in (self._entries, self._groups[group_of(entry[1].state)]):
                del ordered[bisect_left(ordered, entry)]


def affects_jobs(change: MirroredChange) -> bool:
    """Whether a change may alter a row: by jobs, tasks, states of instances that stop tasks, or hosts that are lost or return."""
    affected = change.affected
    priorities_changed = any(isinstance(event, PrioritiesSet) for event in change.events)
    hosts = affected.lost or affected.returned
    return change.whole or priorities_changed or bool(affected.jobs or affected.instances or affected.kinds or hosts)


@cache
def group_of(state_codes: str) -> str:
    """The group of a row by its state codes."""
    return next(name for name, has in GROUPS.items() if has(state_codes))


def _row(row: Any) -> JobRow:
    places = tuple(grant[INSTANCE] for grant in row[GRANTS])
    return JobRow(
        id=row[ID], tasks=str(row[TASKS]), priority=row[PRIORITY], name=row[NAME], owner=row[OWNER],
        state=row[STATE_CODES], time=row[TIME], places=places, slots=row[SLOTS],
    )


def _matches_search(text: str, row: JobRow) -> bool:
    """Whether the search text is the number or the owner of a job, or a part of its name."""
    if text.isdecimal():
        return str(row.id) == text or text in row.name
    return text.lower() in row.name.lower() or text == row.owner


def _matches_pattern(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern)


def _in_queue(pattern: str, instance: str) -> bool:
    return _matches_pattern(pattern, instance) or _matches_pattern(pattern, instance.partition("@")[0])
