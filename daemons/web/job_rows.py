"""Jobs as pages show them: all rows of the moment, and the part of them that a filter means.

Owns the rows, kept once for all who look, the filters and the order; they are those of `qstat` (`daemons.qmaster.views.jobs`).
Called by the pages of jobs and the overview.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from daemons.qmaster.views.jobs import jobs
from daemons.qmaster.views.selection import Listing
from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.gdi.requests import Caller
from gridengine.job_rows import GRANTS, ID, INSTANCE, LETTERS, NAME, OWNER, PRIORITY, SLOTS, TASKS, TIME
from gridengine.state.machines.job import PrioritiesSet

EVERYBODY = Caller("", -1, "", -1, "")

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
    """A running task, or tasks of a job that wait for the same. `time`: its start, else its submission, epoch s."""

    id: int
    tasks: str
    priority: float
    name: str
    owner: str
    state: str
    time: float
    places: tuple[str, ...]
    slots: int

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
    """The rows that are wanted, in their order, and how many there are in each group whatever state is wanted."""

    rows: list[JobRow]
    counts: dict[str, int]


class JobRows:
    """All rows of a mirror, made anew when somebody looks after a change that concerns them."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror, self._stale = mirror, True
        self._rows: list[JobRow] = []
        mirror.followers.append(self._note)

    def _note(self, change: MirroredChange) -> None:
        self._stale = self._stale or concerns_jobs(change)

    @property
    def all(self) -> list[JobRow]:
        """Running rows first, then those that wait, by priority, then what has just ended."""
        if self._stale:
            self._stale, mirror = False, self._mirror
            listed = jobs(Listing(mirror.state), {"users": ["*"], "states": ["p", "r", "s", "z"]}, EVERYBODY, mirror.now)
            self._rows = [_row(row) for phase in ("running", "inconsistent", "pending", "finished") for row in listed[phase]]
        return self._rows



def concerns_jobs(change: MirroredChange) -> bool:
    """Whether a change may alter a row: jobs, tasks, or instances whose state stops tasks."""
    touched = change.touched
    told = any(isinstance(event, PrioritiesSet) for event in change.events)
    return change.whole or told or bool(touched.jobs or touched.instances or touched.kinds)


def chosen(rows: Iterable[JobRow], wanted: Wanted) -> Chosen:
    """The rows that a filter means."""
    counts: Counter[str] = Counter(dict.fromkeys(GROUPS, 0))
    found: list[JobRow] = []
    of_group = {letters: next(name for name, has in GROUPS.items() if has(letters)) for letters in {row.state for row in rows}}
    for row in rows:
        if not wanted.means(row):
            continue
        group = of_group[row.state]
        counts[group] += 1
        if wanted.state in ("", group) and (group != "finished" or wanted.state):
            found.append(row)
    column = wanted.sort.lstrip("-")
    if column in JobRow._fields:
        found.sort(key=lambda row: getattr(row, column), reverse=wanted.sort.startswith("-"))
    return Chosen(found, dict(counts))


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
