"""Every stored query on both databases, with the figures of a known day of jobs and reservations. DB-15 … DB-21, DB-23."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from daemons.dbwriter.database import Database, QueryLimits
from daemons.dbwriter.duckdb_database import DuckdbDatabase
from daemons.dbwriter.queries import BUILT_IN_DIRECTORY, read_queries
from tests.integration.dbwriter.plays import Play
from tests.integration.dbwriter.reporting_lines import acct, job_log, reservation, unit_usage

HOUR, DAY = 3600, 86_400
NOW = int(time.time())
THIS_HOUR = NOW - NOW % HOUR
BEGIN = THIS_HOUR - DAY - 2 * HOUR
"""When the known day begins. Queries look back from now, so it is the most recent past day."""
QUERIES, _ = read_queries(BUILT_IN_DIRECTORY)

Rows = list[tuple[Any, ...]]


class Found(NamedTuple):
    columns: list[str]
    rows: Rows


@dataclass(frozen=True)
class Job:
    """A job of the known day; times in s from BEGIN."""

    number: int
    submitted: int
    start: int
    end: int
    owner: str = "alice"
    project: str = "NONE"
    department: str = "physics"
    host: str = "h1"
    ar: int = 0
    slots: int = 1
    failed: int = 0
    asked: str = ""
    used: float = 0.0
    ended: bool = True

    def line(self) -> str:
        """Its record. The usage follows from its number, so that all sums differ."""
        return acct(
            self.number,
            BEGIN + self.start,
            BEGIN + self.end,
            submission_time=BEGIN + self.submitted,
            owner=self.owner,
            project=self.project,
            department=self.department,
            hostname=self.host,
            job_name=f"job{self.number % 3}",
            arid=self.ar,
            slots=self.slots,
            failed=self.failed,
            exit_status=0 if self.ended else -1,
            category=f"-l {self.asked}" if self.asked else "NONE",
            maxvmem=self.used,
            **dict(zip(("cpu", "mem", "io"), self.usage, strict=True)),
        )

    @property
    def usage(self) -> tuple[float, float, float]:
        return self.number * 10.5, self.number * 0.25, self.number * 0.125


JOBS = [
    Job(1, 0, 5, 605, project="p1", asked="h_vmem=1G", used=2.0**29),
    Job(2, 0, 45, 1000, "bob", "p1", asked="h_vmem=512M", used=1e6),
    Job(3, 10, 400, 2000, "bob", "p2", "math", "h2", failed=7, asked="h_vmem=INFINITY"),
    Job(4, 10, 1500, 9000, "carol", "p2", "math", "h2", failed=7),
    Job(5, 0, 3600, 5400, ar=7, slots=2, asked="h_vmem=1.5g,h_rt=60", used=4e8),
    Job(6, 0, 3700, 4700, "bob", ar=7),
    Job(7, 100, 5000, 7000, "bob", ar=8, failed=1),
    Job(8, 0, DAY + 7000, DAY + HOUR + 5000, "carol", "p1", failed=100, asked="h_vmem=100", used=50.0),
    # it ran over midnight, and is recorded in two parts: its first is no end, its second no start
    Job(9, 50, 100, 20_000, project="p2", ended=False),
    Job(9, 50, 20_000, 30_000, project="p2"),
]
ENDED = [job for job in JOBS if job.ended]
BY_NUMBER = {job.number: job for job in JOBS}
#: number -> owner, start, end (s from BEGIN); two slots each
RESERVATIONS = {7: ("alice", 3600, 7200), 8: ("bob", 4000, 8000), 9: ("alice", 9000, 10_000)}
LOADS = [(0, "h1", 1.0), (600, "h1", 3.0), (HOUR, "h2", 6.0), (THIS_HOUR - BEGIN, "h1", 8.0)]
#: s from BEGIN, host, slots in use of four
SLOTS = [
    *[(THIS_HOUR - BEGIN - 3 * HOUR, host, used) for host, used in [("h1", 4), ("h2", 0)]],
    (THIS_HOUR - BEGIN - 2 * HOUR - HOUR // 2, "h1", 2),
    (THIS_HOUR - BEGIN - 2 * HOUR, "h1", 0),
    (THIS_HOUR - BEGIN, "h1", 1),
]


#: job, unit, seconds, measured seconds, utilisation, bytes, J, whether shared: "" for unknown
GPUS: list[Any] = [
    (1, "0", 600, 590, 0.9, 2.0**31, 3.6e6, 0),
    (1, "1", 600, 590, 0.02, 2.0**30, 7.2e6, 0),
    (2, "0", 955, 900, 0.05, 2.0**29, "", 1),
    (4, "0", 7500, 0, "", "", "", 0),
    (8, "0", 1600, 1600, 0.08, 2.0**30, 1.8e6, 0),
    (8, "1", 1600, 400, 0.0, 0, 0, 0),
]


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database into which the known day was written."""
    place = tmp_path_factory.mktemp("day")
    duckdb = request.param == "duckdb"
    address = f"duckdb:{place / 'arco.duckdb'}" if duckdb else request.getfixturevalue("postgresql").new_database()
    yield from _written(place, address)


def _written(place: Path, address: str) -> Iterator[Database]:
    play = Play(place, address)
    play.now = THIS_HOUR + 120.0
    for number, (owner, start, end) in RESERVATIONS.items():
        play.append(reservation(number, BEGIN, BEGIN + start, BEGIN + end, owner, f"name{number}"))
    play.append(job.line() for job in JOBS)
    for number, *figures in GPUS:
        job, names = BY_NUMBER[number], {"owner": BY_NUMBER[number].owner, "submitted": BEGIN + BY_NUMBER[number].submitted}
        play.append([unit_usage(number, BEGIN + job.start, BEGIN + job.end, *figures, **names)])
    states = ((0, "pending"), (45, "sent"), (1000, "finished"))
    play.append(job_log(2, BEGIN + at, event, submitted=BEGIN) for at, event in states)
    play.append(f"{BEGIN + at}:host:{host}:{BEGIN + at}:X:np_load_avg={load:f}" for at, host, load in LOADS)
    play.append(f"{BEGIN + at}:queue_consumable:all.q:{host}:{BEGIN + at}::slots={used:f}=4.0" for at, host, used in SLOTS)
    play.write()
    database = play.open()
    yield database
    database.close()


def run(database: Database, name: str, **values: str | Callable[[], str]) -> Found:
    given = {field: value if isinstance(value, str) else value() for field, value in values.items()}
    question, parameters = QUERIES[name].bind(given)
    if isinstance(database, DuckdbDatabase):  # in this process, for values that are more than JSON
        asked = database._connection.cursor().execute(question, parameters)
        return Found([column for column, *_ in asked.description or ()], asked.fetchall())
    result = database.ask(question, parameters, QueryLimits(2**30, 2**30, 60))
    return Found(result.columns, list(result.rows))


def when(seconds: float) -> datetime:
    return datetime.fromtimestamp(BEGIN + seconds).astimezone()


def day(seconds: float) -> date:
    return when(seconds).date()


def month(seconds: float) -> date:
    return day(seconds).replace(day=1)


def accounted(key: str) -> Rows:
    """The figures of each month for each value of an attribute."""
    sums: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for job in JOBS:
        group = (month(job.start), getattr(job, key))
        sums[group] = [before + more for before, more in zip(sums[group], job.usage, strict=True)]
    return [(*group, *found) for group, found in sorted(sums.items()) if group[1] != 0]


def averaged(values: list[tuple[date, float]]) -> Rows:
    groups: dict[date, list[float]] = defaultdict(list)
    for group, value in values:
        groups[group].append(value)
    return [(group, timedelta(seconds=sum(found) / len(found))) for group, found in sorted(groups.items())]


def counted(keys: list[Any]) -> Rows:
    return [(*key, number) for key, number in sorted(Counter(keys).items())]


def gpu_usage() -> Rows:
    sums: dict[Any, list[Any]] = defaultdict(lambda: [0.0, 0.0, 0.0, None])
    for number, _, seconds, measured, utilisation, _, energy, _ in GPUS:
        group = sums[month(BY_NUMBER[number].end), BY_NUMBER[number].owner]
        group[:3] = group[0] + seconds / HOUR, group[1] + measured, group[2] + measured * (utilisation or 0)
        group[3] = group[3] if energy == "" else (group[3] or 0) + energy / 3.6e6
    return [(*key, hours, round(100 * busy / all_, 1), kwh) for key, (hours, all_, busy, kwh) in sorted(sums.items())]


def used(number: int, slots: bool) -> float:
    return sum((job.end - job.start) * (job.slots if slots else 1) for job in JOBS if job.ar == number)


def time_usage() -> Rows:
    lengths = {number: (used(number, False), end - start) for number, (_, start, end) in RESERVATIONS.items()}
    return [(number, *(timedelta(seconds=s) for s in (ran, held, held - ran))) for number, (ran, held) in lengths.items()]


def reservation_usage() -> Rows:
    found = []
    for number, (owner, start, end) in RESERVATIONS.items():
        held, ran = 2.0 * (end - start), used(number, True)
        found.append((number, owner, when(start), 2, held, ran, max(held - ran, 0), round(100 * ran / held, 1)))
    return sorted(found, key=lambda row: row[2], reverse=True)


def requested() -> Rows:
    asked = {1: 2**30, 2: 512 * 2**20, 5: 1.5e9, 8: 100}
    found = [(job.number, 0, job.owner, when(job.end), asked[job.number], job.used) for job in JOBS if job.number in asked]
    return sorted(found, key=lambda row: row[3], reverse=True)


def waits() -> Rows:
    """Of the first record of each job."""
    seconds = [job.start - job.submitted for job in {job.number: job for job in reversed(JOBS)}.values()]
    bounds = {"< 10 s": 10, "< 1 min": 60, "< 5 min": 300, "< 15 min": 900, "< 1 h": HOUR, "< 4 h": 4 * HOUR}
    bounds |= {"< 12 h": 12 * HOUR, "< 1 day": DAY, "< 1 week": 7 * DAY, "longer": 10**12}
    return [
        (name, sum(at_least <= one < below for one in seconds))
        for (name, below), at_least in zip(bounds.items(), [0, *bounds.values()], strict=False)
    ]


def consumables() -> Rows:
    return sorted((("all.q", host, when(at), used, 4) for at, host, used in SLOTS), key=lambda row: (row[2], row[1]))


def wait_times() -> Rows:
    return averaged([(day(job.start), job.start - job.submitted) for job in {job.number: job for job in reversed(JOBS)}.values()])


def hours_since_the_first() -> str:
    """Hours from now back to the end of the first hour of the known day."""
    return f"{(time.time() - BEGIN) / HOUR - 1}"


def wallclock_since_the_first_hour() -> Rows:
    sums: Counter[str] = Counter()
    for job in ENDED:
        if job.end > HOUR + 60:  # the question is asked a moment after its hours are counted
            sums[f"job{job.number % 3}"] += job.end - job.start
    return [(seconds, name) for name, seconds in sums.most_common()]


#: name -> columns, values of its fields, rows
EXPECTED: dict[str, tuple[str, dict[str, str | Callable[[], str]], Callable[[], Rows]]] = {
    "Accounting per AR": ("time ar_number cpu mem io", {}, lambda: accounted("ar")),
    "Accounting per Department": ("time department cpu mem io", {}, lambda: accounted("department")),
    "Accounting per Project": ("time project cpu mem io", {}, lambda: accounted("project")),
    "Accounting per User": ("time username cpu mem io", {}, lambda: accounted("owner")),
    "Advanced Reservation Attributes": (
        "ar_number owner submission_time name account start_time end_time granted_pe",
        {"ar_number": "8"},
        lambda: [(8, "bob", when(0), "name8", "sge", when(4000), when(8000), "mpi")],
    ),
    "Advanced Reservation Log": (
        "ar_number time event state message",
        {"ar_number": "7"},
        lambda: [
            (7, when(0), "CREATED", "w", "made"),
            (7, when(3600), "START TIME REACHED", "r", "the start time has come"),
            (7, when(7200), "TERMINATED", "x", "over"),
        ],
    ),
    "Advanced Reservation Time Usage": ("ar_number job_duration ar_duration unused_time", {}, time_usage),
    "Advanced Reservation by User": (
        "ar_number submission_time",
        {"ar_owner": "alice"},
        lambda: [(7, when(0)), (9, when(0))],
    ),
    "Average Job Turnaround Time": (
        "day turnaround_time",
        {},
        lambda: averaged([(day(job.end), job.end - job.submitted) for job in ENDED]),
    ),
    "Average Job Wait Time": ("day wait_time", {}, wait_times),
    "Failures by Host": ("hostname failed jobs", {}, lambda: counted([(job.host, job.failed) for job in JOBS if job.failed])),
    "GPU Usage": ("time username gpu_hours utilisation energy", {}, gpu_usage),
    "Idle GPUs": (
        "job_number task_number username project end_time gpus gpu_hours utilisation memory_gb",
        {},
        lambda: [
            (8, 0, "carol", "p1", when(DAY + HOUR + 5000), 2, 3200 / HOUR, 6.4, 1),
            (2, 0, "bob", "p1", when(1000), 1, 955 / HOUR, 5, 0.5),
        ],
    ),
    "Host Load": (
        "time hostname load",
        {},
        lambda: [(when(0), "h1", 2.0), (when(HOUR), "h2", 6.0), (when(THIS_HOUR - BEGIN), "h1", 8.0)],
    ),
    "Job Log": (
        "job_number task_number pe_taskid time event state initiator host message",
        {"job_number": "2"},
        lambda: [
            (2, 0, "NONE", when(at), event, "r", "alice", "h1", "a message: with a colon")
            for at, event in [(0, "pending"), (45, "sent"), (1000, "finished")]
        ],
    ),
    "Number of Jobs Completed per AR": (
        "ar_number day jobs",
        {},
        lambda: [(ar, at, jobs) for at, ar, jobs in counted([(day(job.start), job.ar) for job in ENDED if job.ar])],
    ),
    "Number of Jobs completed": ("day jobs", {}, lambda: counted([(day(job.end),) for job in ENDED])),
    "Queue Consumables": ("qname hostname time_start used available", {}, consumables),
    "Queue Utilisation": (
        "time qname utilised",
        {},
        lambda: [(when(SLOTS[0][0] + number * HOUR), "all.q", share) for number, share in enumerate([37.5, 0, 0, 12.5])],
    ),
    "Requested and Used Memory": ("job_number task_number username end_time requested used", {}, requested),
    "Reservation Usage": ("ar_number owner start_time slots reserved used idle used_percent", {}, reservation_usage),
    "Waiting Time Distribution": ("waited jobs", {}, waits),
    "Wallclock time": (
        "sum_wallclock_time name",
        {"hours": hours_since_the_first},
        wallclock_since_the_first_hour,
    ),
}


def same(one: object, other: object) -> bool:
    """Whether values of a database and of Python are the same number, or the same."""
    if isinstance(one, (int, float, Decimal)) and isinstance(other, (int, float)):
        return float(one) == pytest.approx(float(other))
    return one == other


@pytest.mark.statement("DB-15", "DB-16", "DB-17", "DB-18", "DB-19", "DB-20", "DB-21", "X-11")
@pytest.mark.parametrize("name", EXPECTED)
def test_figures_are_those_of_the_jobs(database: Database, name: str) -> None:
    columns, values, expected = EXPECTED[name]
    found = run(database, name, **values)
    figures = expected()
    assert found.columns == columns.split()
    assert len(found.rows) == len(figures), found.rows
    for row, right in zip(found.rows, figures, strict=True):
        assert [same(*pair) for pair in zip(row, right, strict=True)] == [True] * len(right), (row, right)


@pytest.mark.statement("DB-21")
def test_statistics_count_the_rows_of_each_table(database: Database) -> None:
    found = run(database, "Statistics")
    counts = dict(zip(found.columns, found.rows[0], strict=True))
    jobs = {(job.number, job.submitted) for job in JOBS}
    asked = sum(len(job.asked.split(",")) for job in JOBS if job.asked)
    right = {"sge_job": len(jobs), "sge_job_usage": len(JOBS), "sge_job_log": 3, "sge_share_log": 0}
    right |= {"sge_job_request": asked, "sge_unit_usage": len(GPUS), "sge_ar": 3, "sge_ar_attribute": 3, "sge_group": 1}
    right |= dict.fromkeys(["sge_ar_usage", "sge_ar_resource_usage"], 6) | {"sge_user": 3, "sge_ar_log": 9}
    right |= dict.fromkeys(["sge_host", "sge_queue", "sge_project", "sge_department"], 2)
    assert {name: counts[name] for name in right} == right
    assert counts.keys() - right.keys() == {f"sge_{name}_values" for name in "host queue user group project department".split()}


@pytest.mark.statement("DB-21")
def test_the_writer_records_its_own_work(database: Database) -> None:
    found = run(database, "DBWriter Performance")
    assert found.columns == ["time_end", "variable", "num_value"]
    assert {row[1] for row in found.rows} == {"lines_per_second", "derived_value_time", "deletion_time"}
    assert all(row[2] >= 0 for row in found.rows)


def test_no_query_is_left_out() -> None:
    assert EXPECTED.keys() | {"Statistics", "DBWriter Performance"} == QUERIES.keys()


def test_the_names_in_plots_and_pivots_are_columns_of_the_answer(database: Database) -> None:
    """The columns that `plot` and `pivot` of a query name are in its answer."""
    for name, query in QUERIES.items():
        named = {value for key, value in query.plot.items() if key in ("x", "series", "panels")}
        named |= {*_list(query.plot.get("y", [])), *_list(query.pivot.get("values", []))}
        named |= {query.pivot[key] for key in ("rows", "columns") if key in query.pivot}
        if named:
            values = EXPECTED[name][1] if name in EXPECTED else {}
            assert named <= set(run(database, name, **values).columns), name
        assert query.view != "pivot" or query.pivot, name
        assert query.view != "graphic" or query.plot, name


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.mark.statement("DB-23")
@pytest.mark.parametrize("value", ["'; DROP TABLE sge_job; --", "alice' OR '1' = '1", "$1", '"'])
def test_sql_in_a_value_is_text_that_is_not_found(database: Database, value: str) -> None:
    before = database.rows("SELECT count(*) FROM sge_job")
    assert run(database, "Advanced Reservation by User", ar_owner=value).rows == []
    assert run(database, "Requested and Used Memory", resource=value).rows == []
    assert database.rows("SELECT count(*) FROM sge_job") == before
