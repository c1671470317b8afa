"""Speed of loading and querying the usage database: N jobs of a year, on DuckDB and on PostgreSQL.

Prints a JSON line for the load of each database (jobs/s), and for each stored query the median of RUNS (s) and its rows.
Exit code 1: a figure exceeds its limit. Run as `python -m bench.arco [JOBS]`; PostgreSQL is started for it.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from daemons.dbwriter import query_process
from daemons.dbwriter.database import Database
from daemons.dbwriter.opening import open_database
from daemons.dbwriter.queries import BUILT_IN_DIRECTORY, Query, read_queries
from daemons.dbwriter.settings import Settings
from daemons.dbwriter.writer import Writer
from tests.integration.dbwriter.conftest import PostgresqlServer
from tests.integration.dbwriter.reporting_lines import acct, job_log, new_job, reservation

JOBS, RUNS = 1_000_000, 3
#: what is promised: jobs/s into each database, and s for each query
LOAD, ANSWER_S = 5000, 2.0
HOSTS, RESERVATIONS, PROJECTS = 50, 2000, 8
YEAR_S, DAY_S, HOUR_S = 365 * 86_400, 86_400, 3600
#: values of the fields of stored queries that have no default
VALUES = {"ar_number": "7", "ar_owner": "alice", "job_number": "10"}


def lines(jobs: int, now: int) -> Iterator[str]:
    """The reporting file of a year: jobs, every tenth with its log, reservations, slots of queues, load of hosts."""
    dice = random.Random(1)
    for number in range(1, RESERVATIONS + 1):
        begin = now - YEAR_S + number * (YEAR_S // RESERVATIONS) - DAY_S
        yield from reservation(number, begin - 600, begin, begin + 4 * HOUR_S, dice.choice(("alice", "bob")))
    for begin in range(now - YEAR_S, now, 2 * HOUR_S):
        for host in range(HOSTS):
            yield f"{begin}:queue_consumable:all.q:h{host}:{begin}::slots={dice.randrange(9):f}=8.000000"
    for begin in range(now - 40 * DAY_S, now, HOUR_S):
        for host in range(HOSTS):
            load = dice.random()
            yield f"{begin}:host:h{host}:{begin}:X:np_load_avg={load:f},cpu={90 * load:f},mem_used={load * 64:.3f}G"
    for number in range(1, jobs + 1):
        submitted = now - YEAR_S + number * (YEAR_S - DAY_S) // jobs
        start = submitted + dice.randrange(2000)
        yield from _job(number, submitted, start, start + dice.randrange(1, 20_000), dice)


def _job(number: int, submitted: int, start: int, end: int, dice: random.Random) -> Iterator[str]:
    owner, project = f"user{dice.randrange(200)}", f"p{dice.randrange(PROJECTS)}"
    yield new_job(number, submitted, owner, project)
    if number % 10 == 0:
        for event in ("pending", "sent", "delivered", "finished"):
            yield job_log(number, submitted, event, submitted=submitted)
    yield acct(
        number,
        start,
        end,
        submission_time=submitted,
        owner=owner,
        project=project,
        job_name=f"step{number % 100}",
        hostname=f"h{dice.randrange(HOSTS)}",
        cpu=(end - start) * 0.9,
        mem=1.5,
        io=0.2,
        maxvmem=dice.randrange(2**30),
        category=f"-u {owner} -l h_vmem={dice.randrange(1, 9)}G,h_rt=86400",
        arid=number % RESERVATIONS if number % 7 == 0 else 0,
        failed=0 if dice.random() < 0.98 else dice.choice((1, 7, 100)),
    )


def load(file: Path, address: str, jobs: int) -> float:
    """Write the file into an empty database; jobs a second, derived values not counted."""
    writer = Writer(Settings(address, "", file, 0), lambda: open_database(address), lambda: now)
    now = 0.0  # before all hours of the file: nothing is derived yet
    begin = time.perf_counter()
    writer.run(once=True)
    rate = jobs / (time.perf_counter() - begin)
    now = time.time()
    writer.run(once=True)
    return rate


def ask(database: Database, query: Query) -> tuple[float, int]:
    """Seconds and rows of an answer."""
    begin = time.perf_counter()
    given = {one.name: VALUES[one.name] for one in query.fields if one.default is None}
    answer = query_process.ask(database, *query.bind(given))
    return time.perf_counter() - begin, len(json.loads(answer)["rows"])


def measure(file: Path, address: str, jobs: int) -> bool:
    """Print the figures of a database; whether all are as promised."""
    name = address.partition(":")[0]
    rate = load(file, address, jobs)
    print(json.dumps({"database": name, "jobs": jobs, "jobs_per_s": round(rate)}), flush=True)
    kept = rate >= LOAD
    database = open_database(address)
    for query in read_queries(BUILT_IN_DIRECTORY)[0].values():
        runs = [ask(database, query) for _ in range(RUNS)]
        seconds = statistics.median(taken for taken, _ in runs)
        print(json.dumps({"database": name, "query": query.name, "s": round(seconds, 3), "rows": runs[0][1]}), flush=True)
        kept = kept and seconds <= ANSWER_S
    database.close()
    return kept


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    server = PostgresqlServer()
    try:
        server.create()
        with tempfile.TemporaryDirectory(prefix="ge-arco-") as directory:
            file = Path(directory) / "reporting"
            with file.open("w") as written:
                written.writelines(f"{line}\n" for line in lines(jobs, int(time.time())))
            addresses = (f"duckdb:{directory}/arco.duckdb", server.new_database())
            kept = [measure(file, address, jobs) for address in addresses]
    finally:
        server.remove()
    raise SystemExit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
