"""Duration of pages with 1,000 hosts and 10,000 jobs: whole answers of a web server over loopback, as JSON lines.

    python -m bench.pages [HOSTS] [JOBS]

Each page is requested TIMES times, each time after a submission, which invalidates cached pages: `first_ms`, `median_ms`,
`worst_ms`, `kb` over the wire. Exit status 1 if the median of a page exceeds the limit of 300 ms. Called by `make bench-web`.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

from aiohttp import web

from daemons.runtime.garbage_collection import tune_collection_for_service
from daemons.web.app import build_app
from tests.harness import Cell
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, web_of

TIMES, PROMISED_MS = 20, 300.0
PAGES = """
/
/jobs
/jobs?state=waiting&owner=alice
/jobs?find=7&sort=-name
/jobs/5
/submit
/queues
/queues/all.q
/instances
/hosts
/hosts?view=map
/hosts/h7
/trends
/reservations
/reservations?view=time
/quotas
/config/cluster_queue/all.q
/api/v1/jobs?limit=100
/metrics
""".split()


def filled(directory: Path, hosts: int, jobs: int) -> Followed:
    """A cell in which half of the jobs are held, and half can run nowhere; and some run."""
    cell = Cell(directory, hosts=hosts, slots=4)
    for number in range(jobs):
        options = {"hard": ["arch=nosuch"]} if number % 2 else {"holds": "u"}
        if number % 100 == 0:
            options = {}
        cell.undecided("submit", {"binary": True, "script_file": "/bin/sleep", "name": f"step{number % 50}", **options})
    cell.master.flush()
    cell.place()
    return Followed(cell)


def ask(address: str) -> tuple[float, int]:
    """(ms, bytes over the wire) of one answer."""
    begin = time.perf_counter()
    with urlopen(Request(address, headers={"Accept-Encoding": "gzip"})) as answer:
        size = len(answer.read())
    return (time.perf_counter() - begin) * 1000, size


def main(hosts: int, jobs: int) -> bool:
    """Measure all pages; whether each keeps the promise."""
    directory = Path(tempfile.mkdtemp())
    followed = filled(directory, hosts, jobs)
    followed.take()
    tune_collection_for_service()

    async def make() -> web.Application:
        shared, _ = web_of(followed, directory)
        return build_app(shared, [guard(ROOT)])

    def change() -> None:
        followed.cell.undecided("submit", {"binary": True, "script_file": "/bin/sleep", "name": "more", "holds": "u"})
        followed.cell.master.flush()
        followed.take()

    serving, kept = Serving(make), True
    base = serving.start()
    for page in PAGES:
        took = []
        for _ in range(TIMES):
            serving.call(change)
            ms, size = ask(base + page)
            took.append(ms)
        median = statistics.median(took)
        kept = kept and median <= PROMISED_MS
        figures = {"first_ms": took[0], "median_ms": median, "worst_ms": max(took), "kb": size / 1024}
        print(json.dumps({"page": page} | {name: round(value, 1) for name, value in figures.items()}), flush=True)
    serving.stop()
    return kept


if __name__ == "__main__":
    sys.exit(not main(*(int(argument) for argument in (sys.argv[1:] + ["1000", "10000"][len(sys.argv) - 1 :]))))
