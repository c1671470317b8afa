"""What happened, put together from what jobs wrote, what accounting says and what the journal holds: plain values.

Owns the reading of these files. Called by `play`; `verdict` judges what is here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.torture.journal import Broken, Said

Task = tuple[int, int]
"""Job and task number; of a job without tasks the task is 1."""


@dataclass(slots=True)
class Try:
    """One try of a task as the job itself saw it. `end` is None for one that was ended from outside."""

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
    """One slave task, from when until when; None for one that was ended from outside."""

    job: int
    host: str
    begin: float
    end: float | None = None


@dataclass(slots=True)
class Evidence:
    """All of it. `wall`: epoch seconds at boot. `left`: what was left over when all was quiet, one line each."""

    said: list[Said]
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
        """Records by task, in the order of accounting; those of slave tasks are left out."""
        found: dict[Task, list[Record]] = defaultdict(list)
        for each in self.records:
            if not each.slave:
                found[each.job, each.task].append(each)
        return found


def read_lines(evidence: Evidence, lines: Iterable[str]) -> None:
    """What jobs wrote. Raises ValueError for a line that is torn."""
    running: dict[tuple[int, int, tuple[str, str]], Try] = {}
    slaves: dict[tuple[int, tuple[str, str]], Slave] = {}
    for line in lines:
        letter, job, task, host, up, process, name, *rest = line.split()
        number, where = int(job), (host, process)
        index = int(task) if task.isdigit() else 1
        if letter == "B":
            facts = dict(word.split("=", 1) for word in rest)
            slots = dict(_places(facts["at"]))
            made = Try(number, index, name, float(up), where, int(facts["lic"]), slots)
            running[number, index, where] = made
            evidence.tries.append(made)
        elif letter == "E":
            running[number, index, where].end = float(up)
        elif letter == "S":
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
