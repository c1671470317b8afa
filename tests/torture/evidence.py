"""The evidence of a run, from the notes of jobs, the accounting records and the journal: plain values.

Owns the reading of these files. `play` calls this module; `verdict` judges the evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.torture.journal import Broken, Request

Task = tuple[int, int]
"""Job and task number; of a job without tasks the task is 1."""


@dataclass(slots=True)
class Try:
    """One try of a task as the job itself saw it. `end` is None for an attempt that was ended from outside."""

    job: int
    task: int
    name: str
    begin: float
    process: tuple[str, str]
    licences: int
    slots: dict[str, int]
    end: float | None = None


@dataclass(slots=True)
class Record:
    """One line of accounting. Times in seconds since boot, 0 where there are none."""

    job: int
    task: int
    host: str
    account: str
    failed: int
    exit_status: int
    slave: bool


@dataclass(slots=True)
class Slave:
    """One slave task, with its start and end; None for a task that was ended from outside."""

    job: int
    host: str
    begin: float
    end: float | None = None


@dataclass(slots=True)
class Evidence:
    """All of it. `wall`: epoch seconds at boot. `left`: leftovers when all was quiet, one line each."""

    requests: list[Request]
    broken: list[Broken]
    tries: list[Try] = field(default_factory=list)
    slaves: list[Slave] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    queue: dict[str, str] = field(default_factory=dict)
    wall: float = 0.0

    def tries_of(self) -> dict[Task, list[Try]]:
        """Tries by task, in the order of their begin."""
        found: dict[Task, list[Try]] = defaultdict(list)
        for each in sorted(self.tries, key=lambda one: one.begin):
            found[each.job, each.task].append(each)
        return found

    def records_of(self) -> dict[Task, list[Record]]:
        """Records by task, in the order of accounting, without records of slave tasks."""
        found: dict[Task, list[Record]] = defaultdict(list)
        for each in self.records:
            if not each.slave:
                found[each.job, each.task].append(each)
        return found


def read_lines(evidence: Evidence, lines: Iterable[str]) -> None:
    """The notes of jobs. Raises ValueError for a line that is torn."""
    running: dict[tuple[int, int, tuple[str, str]], Try] = {}
    slaves: dict[tuple[int, tuple[str, str]], Slave] = {}
    for line in lines:
        kind, job, task, host, up, process, name, *rest = line.split()
        number, where = int(job), (host, process)
        index = int(task) if task.isdigit() else 1
        if kind == "B":
            facts = dict(part.split("=", 1) for part in rest)
            slots = dict(_places(facts["at"]))
            made = Try(number, index, name, float(up), where, int(facts["lic"]), slots)
            running[number, index, where] = made
            evidence.tries.append(made)
        elif kind == "E":
            running[number, index, where].end = float(up)
        elif kind == "S":
            slaves[number, where] = slave = Slave(number, host, float(up))
            evidence.slaves.append(slave)
        else:
            slaves[number, where].end = float(up)


def _places(text: str) -> Iterable[tuple[str, int]]:
    for place in text.strip(",").split(","):
        host, _, slots = place.rpartition(":")
        yield host, int(slots)


def read_accounting(evidence: Evidence, lines: Iterable[str]) -> None:
    """The text records of the cell."""
    for line in lines:
        if line.startswith("#"):
            continue
        fields = line.rstrip("\n").split(":")
        evidence.records.append(
            Record(
                job=int(fields[5]),
                task=int(fields[35]) or 1,
                host=fields[1],
                account=fields[6],
                failed=int(fields[11]),
                exit_status=int(fields[12]),
                slave=fields[41] != "NONE",
            )
        )
