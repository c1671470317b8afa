"""Jobs as pages show them: all rows of the moment, and the part of them that a filter means.

Owns the rows, kept once for all who look and made anew job by job, the filters and the order; they are those of `qstat`
(`daemons.qmaster.views.jobs`). With 100,000 jobs a change costs what it concerns. Called by the pages and the REST API.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple, overload

from daemons.qmaster.views.jobs import finished_row, is_placed, rows_of_job
from daemons.qmaster.views.selection import Listing
from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.job_rows import GRANTS, ID, INSTANCE, LETTERS, NAME, OWNER, PRIORITY, SLOTS, TASKS, TIME
from gridengine.state.machines.job import PrioritiesSet

#: what the tabs are called, and which letters of a row they mean
GROUPS: dict[str, Callable[[str], bool]] = {
    "running": lambda letters: bool(set("rt") & set(letters)) and "q" not in letters,
    "waiting": lambda letters: "q" in letters and not set("hE") & set(letters),
    "held": lambda letters: "q" in letters and "h" in letters and "E" not in letters,
    "error": lambda letters: "E" in letters,
    "suspended": lambda letters: "q" not in letters and bool(set("sST") & set(letters)),
    "finished": lambda letters: letters == "z",
}


class JobRow(NamedTuple):
    """A running task, or tasks of a job that wait for the same. `time`: its start, else its submission, epoch s.

    Of a job that has ended: `end_time`, and `failed`, whether it or a task of it did not succeed.
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
        """What commands call it: `17` or `17.3-5:1`."""
        return f"{self.id}.{self.tasks}" if self.tasks else str(self.id)


class Wanted(NamedTuple):
    """A filter and an order, as the address of the page says them; "" for all. Words may have wildcards."""

    state: str = ""
    find: str = ""
    owner: str = ""
    queue: str = ""
    name: str = ""
    sort: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """What the query of an address asks for; a state that is none means all."""
        said = {name: query.get(name, "").strip() for name in cls._fields}
        return cls(**said | {"state": said["state"] if said["state"] in GROUPS else ""})

    def means(self, row: JobRow) -> bool:
        """Whether a row passes the filter, its state left aside."""
        return (
            (not self.find or _found(self.find, row))
            and (not self.owner or _like(self.owner, row.owner))
            and (not self.name or _like(self.name, row.name))
            and (not self.queue or any(_in_queue(self.queue, place) for place in row.places))
        )


class Chosen(NamedTuple):
    """The rows that are wanted, in their order, and how many there are in each group whatever state is wanted.

    `rows` may be a view, for as long as nobody waits.
    """

    rows: Sequence[JobRow]
    counts: dict[str, int]


Place = tuple[float, ...]
"""Of a row among all: tasks that run, those that run where there is no queue, those that wait by priority."""
Entry = tuple[Place, JobRow]


class EntryRows(Sequence[JobRow]):
    """The rows of entries: a page of them costs what is on it."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, place: int) -> JobRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[JobRow]: ...
    def __getitem__(self, place: int | slice) -> JobRow | list[JobRow]:
        return [row for _, row in self._entries[place]] if isinstance(place, slice) else self._entries[place][1]

    def __iter__(self) -> Iterator[JobRow]:
        return iter(self[:])


class JobRows:
    """All rows of a mirror. Those of a job are made anew when somebody looks after a change that concerns it."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._stale_jobs: set[int] = set()
        self._all_stale = True
        self._of_job: dict[int, list[Entry]] = {}
        #: in their order: all but those that have ended, and each group
        self._entries: list[Entry] = []
        self._groups: dict[str, list[Entry]] = {name: [] for name in GROUPS}
        #: job -> jobs that may wait for it
        self._successors: defaultdict[int, set[int]] = defaultdict(set)
        mirror.followers.append(self._note)

    @property
    def all(self) -> list[JobRow]:
        """Running rows first, then those that wait, by priority, then what has just ended."""
        self._refresh()
        return [*EntryRows(self._entries), *self._finished()]

    def of_job(self, number: int) -> list[JobRow]:
        """The rows of a job that has not ended."""
        self._refresh()
        return EntryRows(self._of_job.get(number, ()))[:]

    def choose(self, wanted: Wanted) -> Chosen:
        """The rows that a filter means."""
        self._refresh()
        finished = self._finished()
        if wanted._replace(state="", sort="") == Wanted():
            counts = {name: len(entries) for name, entries in self._groups.items()} | {"finished": len(finished)}
            of = self._groups[wanted.state] if wanted.state else self._entries
            found: Sequence[JobRow] = finished if wanted.state == "finished" else EntryRows(of)
        else:
            kept = [row for row in EntryRows(self._entries) if wanted.means(row)]
            ended = [row for row in finished if wanted.means(row)]
            tally = Counter(_group(row.state) for row in kept)
            counts = {name: tally[name] for name in GROUPS} | {"finished": len(ended)}
            found = ended if wanted.state == "finished" else [row for row in kept if wanted.state in ("", _group(row.state))]
        column = wanted.sort.lstrip("-")
        if column in JobRow._fields:
            found = sorted(found, key=lambda row: getattr(row, column), reverse=wanted.sort.startswith("-"))
        return Chosen(found, counts)

    def _finished(self) -> list[JobRow]:
        ended = self._mirror.state.finished
        return [_row(finished_row(job))._replace(end_time=job.end_time, failed=job.unsuccessful) for job in ended]

    def _note(self, change: MirroredChange) -> None:
        """Remember whose rows may be others."""
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
        """Make the rows anew that may be others."""
        state = self._mirror.state
        for number in list(self._stale_jobs):
            self._stale_jobs |= self._successors[number] if number in state.jobs else self._successors.pop(number, set())
        if self._all_stale or len(self._stale_jobs) > len(self._of_job) // 8:
            self._make_all()
        elif self._stale_jobs:
            listing = Listing(state)
            for number in self._stale_jobs:
                self._take_out(self._of_job.pop(number, ()))
                self._put_in(number, self._made(listing, number))
        self._stale_jobs.clear()
        self._all_stale = False

    def _make_all(self) -> None:
        state = self._mirror.state
        listing = Listing(state)
        self._successors.clear()
        self._of_job = {number: entries for number in state.jobs if (entries := self._made(listing, number))}
        self._entries = sorted(entry for entries in self._of_job.values() for entry in entries)
        self._groups = {name: [] for name in GROUPS}
        for entry in self._entries:
            self._groups[_group(entry[1].state)].append(entry)

    def _made(self, listing: Listing, number: int) -> list[Entry]:
        """The rows of a job as it is now; none for one that is gone."""
        state = listing.state
        job = state.jobs.get(number)
        if job is None:
            return []
        for other in (*job.predecessors, *job.array_predecessors):
            self._successors[other].add(number)
        running, pending = rows_of_job(listing, job, self._mirror.now)
        found: list[Entry] = []
        for row in running:
            shown, phase = _row(row), 0 if is_placed(state, row) else 1
            found.append(((phase, number, int(shown.tasks or 0)), shown))
        for ordinal, row in enumerate(pending):
            shown = _row(row)
            found.append(((2, -shown.priority, shown.time, number, ordinal), shown))
        return found

    def _put_in(self, number: int, entries: list[Entry]) -> None:
        if entries:
            self._of_job[number] = entries
        for entry in entries:
            for ordered in (self._entries, self._groups[_group(entry[1].state)]):
                insort(ordered, entry)

    def _take_out(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            for ordered in (self._entries, self._groups[_group(entry[1].state)]):
                del ordered[bisect_left(ordered, entry)]


def concerns_jobs(change: MirroredChange) -> bool:
    """Whether a change may alter a row: jobs, tasks, instances whose state stops tasks, or hosts that are lost or return."""
    affected = change.affected
    told = any(isinstance(event, PrioritiesSet) for event in change.events)
    hosts = affected.lost or affected.returned
    return change.whole or told or bool(affected.jobs or affected.instances or affected.kinds or hosts)


@cache
def _group(letters: str) -> str:
    return next(name for name, has in GROUPS.items() if has(letters))


def _row(row: Any) -> JobRow:
    places = tuple(grant[INSTANCE] for grant in row[GRANTS])
    return JobRow(
        *(row[ID], str(row[TASKS]), row[PRIORITY], row[NAME], row[OWNER], row[LETTERS], row[TIME], places, row[SLOTS])
    )


def _found(text: str, row: JobRow) -> bool:
    """Whether what was typed into the search is the number of a job, or is in its name or owner."""
    if text.isdecimal():
        return str(row.id) == text or text in row.name
    return text.lower() in row.name.lower() or text == row.owner


def _like(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern)


def _in_queue(pattern: str, instance: str) -> bool:
    return _like(pattern, instance) or _like(pattern, instance.partition("@")[0])
