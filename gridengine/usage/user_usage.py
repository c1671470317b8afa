"""The usage of one user in the last 7 and 30 days, their failed tasks, and hints on requests that are larger than needed.

Owns the hints and their limits. Pure: lines in, figures out. Reports have the same figures. Called by the process of reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.usage.accounting import AccountingRecord
from gridengine.usage.report import MASTER, ReportRow, Tally, is_failure, record_of
from gridengine.usage.requested_memory import PER_SLOT, requests_of_category
from gridengine.values.quantities import clock_text
from gridengine.values.units import parse_memory, parse_time

DAYS = (7, 30)
"""The spans of the figures; the failed tasks and the hints are of the longest."""
MOST_FAILURES = 10
MIN_TASKS = 3
"""Tasks of a name that a hint needs."""
MOST_NAMES = 1000
MOST_HINTS = 6
_DAY_S = 86_400.0
_SPARE = 2.0
"""A hint proposes twice the largest use."""
_WORTH = 2.0
"""A request is worth a hint if it is this many times the proposal."""
_LEAST_BYTES, _LEAST_S = 64 << 20, 600.0


class FailedTask(NamedTuple):
    """A failed task: `job` and `task` number, 0 for a job that is not an array; `end_time`: epoch s; codes as in its record."""

    job: int
    task: int
    name: str
    failed: int
    exit_status: int
    end_time: float


class Hint(NamedTuple):
    """A hint for jobs of a `name` (digits as `*`). `text`: their request and their use; `option`: a sufficient option of qsub."""

    name: str
    text: str
    option: str


class UserUsage(NamedTuple):
    """`rows`: the figures of the last 7 and 30 days. `failures`: the last failed tasks, the newest first. `hints`: the
    largest saving first."""

    rows: list[ReportRow]
    failures: list[FailedTask]
    hints: list[Hint]


class _Jobs:
    """The usage of the successful tasks of a name with the same requests."""

    __slots__ = ("busy_s", "category", "longest_s", "pe", "peak", "slots", "tasks", "work_s")

    def __init__(self, record: AccountingRecord) -> None:
        self.category, self.slots, self.pe = record.category, int(record.slots), record.granted_pe
        self.tasks = 0
        self.peak = self.longest_s = self.busy_s = self.work_s = 0.0

    def add(self, record: AccountingRecord) -> None:
        self.busy_s += float(record.cpu)
        if record.pe_taskid in MASTER:
            self.tasks += 1
            self.peak = max(self.peak, float(record.maxvmem))
            self.longest_s = max(self.longest_s, float(record.ru_wallclock))
            self.work_s += float(record.ru_wallclock) * self.slots


def user_usage(lines: Iterable[bytes], user: str, now: float) -> UserUsage:
    """The usage of a user at the time `now` (epoch s), from lines of an accounting file."""
    tallies = [Tally() for _ in DAYS]
    failures: list[FailedTask] = []
    jobs: dict[tuple[str, str, str], _Jobs] = {}
    mark = f":{user}:".encode()
    for line in lines:
        record = record_of(line) if mark in line else None
        if record is None or record.owner != user:
            continue
        began = float(record.start_time) or float(record.end_time)
        for days, tally in zip(DAYS, tallies, strict=True):
            if now - days * _DAY_S <= began < now:
                tally.add(record)
                if record.pe_taskid in MASTER:
                    tally.slot_s += int(record.slots) * float(record.ru_wallclock)
        if began >= now - DAYS[-1] * _DAY_S:
            _note(record, failures, jobs)
    failures.sort(key=lambda each: -each.end_time)
    rows = [tally.row(f"{days}d") for days, tally in zip(DAYS, tallies, strict=True)]
    return UserUsage(rows, failures[:MOST_FAILURES], _hints(jobs))


def _note(record: AccountingRecord, failures: list[FailedTask], jobs: dict[tuple[str, str, str], _Jobs]) -> None:
    if is_failure(record):
        if record.pe_taskid in MASTER:
            job, task, failed, status = map(int, (record.job_number, record.task_number, record.failed, record.exit_status))
            failures.append(FailedTask(job, task, record.job_name, failed, status, float(record.end_time)))
            if len(failures) > 100 * MOST_FAILURES:
                failures.sort(key=lambda each: -each.end_time)
                del failures[MOST_FAILURES:]
        return
    key = (re.sub("[0-9]+", "*", record.job_name), record.category, record.slots)
    if key in jobs or len(jobs) < MOST_NAMES:
        jobs.setdefault(key, _Jobs(record)).add(record)


def usage_of(data: Any) -> UserUsage:
    """The usage that came as JSON."""
    rows, failures, hints = data
    return UserUsage([ReportRow(*row) for row in rows], [FailedTask(*each) for each in failures], [Hint(*each) for each in hints])


def _hints(jobs: dict[tuple[str, str, str], _Jobs]) -> list[Hint]:
    found: list[tuple[float, Hint]] = []
    for (name, _, _), used in jobs.items():
        if used.tasks >= MIN_TASKS and used.work_s > 0:
            requests = requests_of_category(used.category)
            found += [(used.work_s * saved, Hint(name, text, option)) for saved, text, option in _advice(used, requests)]
    return [hint for _, hint in sorted(found, key=lambda each: -each[0])[:MOST_HINTS]]


def _advice(used: _Jobs, requests: dict[str, str]) -> Iterable[tuple[float, str, str]]:
    """(unused part of the request, text, option) for each request that is larger than needed."""
    in_tasks = f"in {used.tasks} of {used.tasks} tasks of the last {DAYS[-1]} days"
    resource = next((name for name in PER_SLOT if name in requests), "")
    request = _amount(parse_memory, requests.get(resource, ""))
    peak = used.peak / max(1, used.slots)
    enough = max(_LEAST_BYTES, _SPARE * peak)
    if used.peak and request >= _WORTH * enough:
        each = " a slot" if used.slots > 1 else ""
        text = f"asked for {readable_size(request)}{each}, used {readable_size(peak)} at most, {in_tasks}"
        yield 1 - enough / request, text, f"-l {resource}={round_size(enough)}"
    limit, run_s = _amount(parse_time, requests.get("h_rt", "")), max(_LEAST_S, _SPARE * used.longest_s)
    if limit >= _WORTH * run_s:
        text = f"asked for {clock_text(limit)} of run time, ran {clock_text(used.longest_s)} at most, {in_tasks}"
        yield 0.0, text, f"-l h_rt={clock_text(-(-run_s // 60) * 60)}"
    busy = used.slots * used.busy_s / used.work_s
    fewer = max(1, -int(-busy // 1))
    if used.slots >= _WORTH * fewer and used.pe not in MASTER:
        text = f"asked for {used.slots} slots, kept {busy:.1f} of them busy on average, {in_tasks}"
        yield 1 - fewer / used.slots, text, f"-pe {used.pe} {fewer}"


def _amount(parse: Any, text: str) -> float:
    """The value of a request, 0 for none, for an invalid text, and for infinity."""
    try:
        value = float(parse(text)) if text else 0.0
    except InvalidValueError:
        return 0.0
    return value if value != float("inf") else 0.0


def round_size(size: float) -> str:
    """A size for -l, rounded up to two digits, in M or G: `400M`, `1.5G`."""
    for suffix, unit in (("G", 1 << 30), ("M", 1 << 20)):
        if size >= unit:
            amount = size / unit
            step = 10.0 ** (len(str(int(amount))) - 2)
            return f"{-(-amount // step) * step:.10g}{suffix}"
    return "1M"


def readable_size(size: float) -> str:
    """`8 G`, `200 M`, `1.5 G`, for people."""
    for suffix, unit in (("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= unit:
            return f"{size / unit:.3g} {suffix}"
    return f"{size:.0f} bytes"
