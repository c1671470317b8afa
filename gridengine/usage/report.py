"""A report on a period: usage, waiting times, efficiency and failures by user, project, cluster queue or host.

Owns the figures and their definitions. A task counts in the period in which it started, as for `qacct -b -e`, so that the totals
agree; slot hours are counted within the period only. Pure: lines in, figures out. Called by the process that the web
server starts, and by `gridengine report`. Source: sge_accounting(5), AC-1, QA-5; adr/0305.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gridengine.usage.accounting import FIELDS, AccountingRecord, is_valid_record, parse_line
from gridengine.usage.failed import MIGRATING, RESCHEDULED
from gridengine.usage.periods import Period
from gridengine.usage.requested_memory import requested_memory, requests_of_category
from gridengine.values.gpus import GPUS

BY = {"user": "owner", "project": "project", "queue": "qname", "host": "hostname"}
"""The groups of a report, with the field of a record that names the group."""
MOST_ROWS = 2000
"""Groups with a row of their own, by slot hours. `OTHERS` has the sum of the rest."""
OTHERS = "(others)"
RUNS_AGAIN = (str(MIGRATING), str(RESCHEDULED))
"""Codes of attempts whose task runs again: no tasks and no failures, but usage."""
MASTER = ("NONE", "")
"""The field `pe_taskid` of a record that is no record of a slave task."""


class ReportRow(NamedTuple):
    """The figures of a group, `name`. `tasks`: that started in the period; `wallclock`, `cpu`: s, the sums of qacct.

    `slot_s`: slots × seconds within the period; `work_s`: slots × run time of the tasks, in s; `peak`, `requested`: peak memory
    and memory request in bytes, added up over tasks with a request. `wait_median`, `wait_p90`: s from the submission to
    the start, None without a started task. `failed`: tasks that failed; `lost_s`: their slots × run time, in s.
    `gpu_s`: requested GPUs × seconds within the period.
    """

    name: str
    tasks: int = 0
    wallclock: float = 0.0
    cpu: float = 0.0
    slot_s: float = 0.0
    work_s: float = 0.0
    peak: float = 0.0
    requested: float = 0.0
    wait_median: float | None = None
    wait_p90: float | None = None
    failed: int = 0
    lost_s: float = 0.0
    gpu_s: float = 0.0

    @property
    def cpu_part(self) -> float | None:
        """CPU time over slots × run time."""
        return _part(self.cpu, self.work_s)

    @property
    def memory_part(self) -> float | None:
        """Peak memory over requested memory."""
        return _part(self.peak, self.requested)

    @property
    def failed_part(self) -> float | None:
        return _part(self.failed, self.tasks)


class ReportTable(NamedTuple):
    """The `rows` of a period, the groups with most slot hours first, and their `total`."""

    rows: list[ReportRow]
    total: ReportRow


class Tally:
    """The figures of a group while records are added."""

    __slots__ = ("cpu", "failed", "gpu_s", "lost_s", "peak", "requested", "slot_s", "tasks", "waits", "wallclock", "work_s")

    def __init__(self) -> None:
        self.tasks = self.failed = 0
        self.wallclock = self.cpu = self.slot_s = self.work_s = self.peak = self.requested = self.lost_s = self.gpu_s = 0.0
        self.waits = array("f")

    def add(self, record: AccountingRecord) -> None:
        """Add a valid record of a task that started in the period."""
        self.wallclock += float(record.ru_wallclock)
        self.cpu += float(record.cpu)
        if record.pe_taskid not in MASTER:
            return
        slots, start = int(record.slots), float(record.start_time)
        work = slots * float(record.ru_wallclock)
        self.work_s += work
        memory = requested_bytes(record.category, slots)
        if memory:
            self.requested += memory
            self.peak += float(record.maxvmem)
        if record.failed in RUNS_AGAIN:
            return
        self.tasks += 1
        if start:
            self.waits.append(max(0.0, start - float(record.submission_time)))
        if is_failure(record):
            self.failed += 1
            self.lost_s += work

    def merge(self, other: Tally) -> None:
        """Add the figures of another group."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self, name: str) -> ReportRow:
        waits = sorted(self.waits)
        median, p90 = (quantile(waits, 0.5), quantile(waits, 0.9)) if waits else (None, None)
        return ReportRow(
            name, self.tasks, self.wallclock, self.cpu, self.slot_s, self.work_s, self.peak, self.requested, median, p90,
            self.failed, self.lost_s, self.gpu_s,
        )


class Tables:
    """The tables of several periods, filled line by line. `by`: a name of `BY`; `faults`: number of lines that are no records."""

    def __init__(self, by: str, periods: Sequence[Period]) -> None:
        self._key = FIELDS.index(BY[by])
        self._periods = periods
        self._tallies: list[dict[str, Tally]] = [{} for _ in periods]
        self._begin = min(period.begin for period in periods)
        self.faults = 0

    def add_lines(self, lines: Iterable[bytes]) -> None:
        """Add lines of an accounting file."""
        for line in lines:
            record = record_of(line)
            if record is not None:
                if float(record.end_time) >= self._begin:
                    self._add(record)
            elif line[:1] != b"#" and line.strip():
                self.faults += 1

    def _add(self, record: AccountingRecord) -> None:
        name, start, end = record[self._key], float(record.start_time), float(record.end_time)
        began, is_master = start or end, record.pe_taskid in MASTER
        for period, tallies in zip(self._periods, self._tallies, strict=True):
            is_in = period.begin <= began < period.end
            shared_s = min(end, period.end) - max(start, period.begin) if start and is_master else 0.0
            if is_in or shared_s > 0:
                tally = tallies.get(name)
                if tally is None:
                    tally = tallies[name] = Tally()
                if shared_s > 0:
                    tally.slot_s += shared_s * int(record.slots)
                    tally.gpu_s += shared_s * requested_gpus(record.category, int(record.slots))
                if is_in:
                    tally.add(record)

    def tables(self) -> list[ReportTable]:
        """A table for each period, in their order."""
        return [_table(tallies) for tallies in self._tallies]


def record_of(line: bytes) -> AccountingRecord | None:
    """The record of a line of the file; None for any other line."""
    record = parse_line(line.decode(errors="replace"))
    return record if record is not None and is_valid_record(record) else None


def is_failure(record: AccountingRecord) -> bool:
    """Whether a task failed for good: a code of failure or an exit status, and it does not run again."""
    return not record.failed == record.exit_status == "0" and record.failed not in RUNS_AGAIN


@lru_cache(65_536)
def requested_bytes(category: str, slots: int) -> float:
    """The memory that a task requests for all its slots, 0 for none."""
    return requested_memory(requests_of_category(category), slots)[1]


@lru_cache(65_536)
def requested_gpus(category: str, slots: int) -> int:
    """The GPUs that a task requests for all its slots. A line does not say whether `gpu` counts for each slot: it is taken to, as
    `gridengine devices --apply` configures it."""
    text = requests_of_category(category).get(GPUS, "")
    return int(text) * slots if text.isdecimal() else 0


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value below which this part of the ordered values lies, interpolated between neighbours."""
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def change(now: float | None, before: float | None) -> float | None:
    """The difference to the period before, in percent; None if one of the two is unknown or there was nothing before."""
    return 100 * (now - before) / before if now is not None and before else None


def as_rows(table: Any) -> ReportTable:
    """A table that came as JSON."""
    rows, total = table
    return ReportTable([ReportRow(*row) for row in rows], ReportRow(*total))


def _table(tallies: dict[str, Tally]) -> ReportTable:
    order = sorted(tallies, key=lambda name: (-tallies[name].slot_s, -tallies[name].tasks, name))
    total, rest = Tally(), Tally()
    for name in order:
        total.merge(tallies[name])
    rows = [tallies[name].row(name) for name in order[:MOST_ROWS]]
    for name in order[MOST_ROWS:]:
        rest.merge(tallies[name])
    return ReportTable(rows + ([rest.row(OTHERS)] if order[MOST_ROWS:] else []), total.row("total"))


def _part(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
