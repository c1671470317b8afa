"""The cell on the pictures of docs/web.md: six hosts in one process, with jobs, reservations and changes of one morning.

Defines the scene: the events and their order. No daemon runs but the writer of the accounting database, on records of three
months.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.view import Thresholds
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.app import build_app
from daemons.web.shared import Web
from daemons.web.trends.trend_store import CELL, HOST, QUEUE, TrendStore, series_name
from gridengine.protocols.delivery import Ended, Load, OutputTail, UsageReport
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Usage
from gridengine.values.task_key import TaskKey
from tests.harness import Cell
from tests.integration.cells import eventually
from tests.integration.dbwriter.plays import Cell as WriterCell
from tests.integration.dbwriter.plays import Play
from tests.integration.dbwriter.reporting_lines import DAY, acct
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import Followed, web_of

HOSTS = [f"node{number}" for number in range(1, 7)]
#: the visitor of the pages, a manager
VISITOR = Caller("alice", 0, "users", 0, "node1")
#: a Tuesday, 08:00 UTC
_BEGIN = DAY + 56 * 3600.0
_GB, _DAY_S, _REPORT_S = 1e9, 86_400, 40.0
_OUTPUT = "".join(f"step {step:3}: residual {0.8 ** (step / 9):.6f}\n" for step in range(92, 108))
_LOAD = {
    "arch": "lx-amd64", "num_proc": "16", "m_core": "8", "m_socket": "1", "m_thread": "16", "m_topology": "S" + 8 * "CTT",
    "mem_total": "64.000G", "swap_total": "8.000G", "virtual_total": "72.000G", "swap_used": "0.000", "swap_free": "8.000G",
}


class Scene:
    """The cell and its mirror."""

    def __init__(self, directory: Path) -> None:
        self.cell = Cell(directory, HOSTS, slots=8, now=_BEGIN)
        self.followed = Followed(self.cell)

    def pass_time(self, seconds: float) -> None:
        """Let time pass: hosts report, running tasks use processor time and memory, and the scheduler runs."""
        end = self.cell.now + seconds
        while self.cell.now < end:
            self.cell.now += _REPORT_S
            for host in HOSTS:
                tasks = [key for key, where in self.cell.running.items() if where == host]
                usage = [UsageReport(key, self._usage(key)) for key in tasks]
                self.cell.report(host, Load(self.cell.now, self._load(host, len(tasks)), full=True, incarnation="boot1"), *usage)
            self.cell.master.tick()
            self.cell.cycle()
            self.followed.take()

    def _load(self, host: str, tasks: int) -> dict[str, str]:
        load = tasks + 0.1 * (HOSTS.index(host) % 3) + 0.15
        used = 4 + 3.5 * tasks
        return {
            **_LOAD,
            **dict.fromkeys(("load_avg", "load_short", "load_medium", "load_long"), f"{load:.2f}"),
            **{f"np_{name}": f"{load / 16:.3f}" for name in ("load_avg", "load_short", "load_medium", "load_long")},
            "mem_used": f"{used:.3f}G", "mem_free": f"{64 - used:.3f}G", "cpu": f"{min(100.0, load * 6):.1f}",
            "virtual_used": f"{used:.3f}G", "virtual_free": f"{72 - used:.3f}G",
        }

    def _usage(self, key: TaskKey) -> Usage:
        task = self.cell.state.task(*key[:2])
        ran = self.cell.now - task.start_time
        memory = (1.6 + 1.2 * (1 - math.exp(-ran / 1200)) + 0.25 * math.sin(ran / 250)) * _GB
        peak = max(memory, task.usage.maxvmem if task.usage else 0.0)
        cpu = task.slots * (0.93 * ran + 40 * math.sin(ran / 300))
        return Usage(max(0.0, cpu), mem=cpu * memory / _GB, io=ran / 500, vmem=memory, maxvmem=peak)

    def play(self) -> None:
        """The morning of the cell."""
        self._configure()
        self._submit()
        self._reserve()
        self.pass_time(50 * 60)
        self._let_things_happen()
        self.pass_time(10 * 60)

    def _configure(self) -> None:
        cell = self.cell
        for kind, name in (("manager", "alice"), ("project", "weather"), ("project", "climate")):
            cell.add(kind, name)
        cell.add("host_group", "@rack1", hostlist="node1 node2 node3")
        cell.add("host_group", "@rack2", hostlist="node4 node5 node6")
        cell.add("calendar", "nights", year="NONE", week="mon-fri=6-20=off")
        cell.configure("cluster_queue", "all.q", slots="8,[@rack2=12]", priority="0,[node1=5]", seq_no="10")
        cell.add("cluster_queue", "long.q", hostlist="@rack2", slots="4", h_rt="72:00:00", pe_list="mpi", seq_no="20")
        cell.add("cluster_queue", "night.q", hostlist="@rack1", slots="8", calendar="nights", seq_no="30")
        for host in HOSTS:
            cell.configure("exec_host", host, complex_values="h_vmem=64G")
        cell.configure("scheduler", "", weight_tickets_share="10000", halftime="168")
        cell.admin("change_share_tree", verb="add", nodes=["/weather=60", "/climate=40"])
        for name, limit in (("users", "users {*} to slots=40"), ("projects", "projects climate to slots=24")):
            cell.add("resource_quota", name, enabled="TRUE", limit=limit)

    def _submit(self) -> None:
        weather, climate = {"project": "weather"}, {"project": "climate"}
        self.submit("alice", "forecast", **weather, tasks="1-60", task_concurrency=18, hard=["h_vmem=4G"])
        self.submit("bob", "align", **climate, pe="mpi", pe_range="12", hard=["h_rt=4:00:00"])
        self.model = self.submit("alice", "model", **weather, hard=["h_vmem=4G", "h_rt=6:00:00"])
        self.broken = self.submit("bob", "convert")
        self.submit("bob", "resample", **climate, tasks="1-8")
        self.failing = self.submit("bob", "archive")
        self.large = self.submit("alice", "assemble", hard=["h_vmem=96G"])
        self.submit("bob", "publish", hold_jid=[str(self.large)])
        self.submit("alice", "review", holds="u")
        self.staging = self.submit("bob", "stage", hard_queues=["long.q"])
        self.pass_time(120)

    def submit(self, user: str, name: str, **options: Any) -> int:
        """A job that runs a program of its name; the job's number."""
        home, program = f"/home/{user}", f"/opt/weather/bin/{name}"
        files = {"script_file": program, "binary": True, "cwd": home, "home": home, "merge": True}
        answer = self.cell.ask("submit", user, "node1", name=name, **files, **options)
        assert answer.status == 0, answer.answers
        return int(answer.data["job_id"])  # type: ignore[index]

    def _reserve(self) -> None:
        for name, after_h, hours, options in (
            ("lecture", 2, 3, {"pe": "mpi", "pe_range": "16"}),
            ("demo", 6, 4, {"hard_queues": ["long.q"]}),
            ("maintenance", 12, 4, {"pe": "mpi", "pe_range": "8", "hard_queues": ["*@node6"]}),
        ):
            times = {"start_time": self.cell.now + after_h * 3600, "duration": hours * 3600.0}
            answer = self.cell.ask("reserve", "alice", "node1", name=name, **times, **options)
            assert answer.status == 0, answer.answers

    def _let_things_happen(self) -> None:
        cell = self.cell
        self._end(self.broken, exit_status=3)
        self._end(self.failing, failed=26, reason="can't open output file /archive/archive.o6: No such file or directory")
        self._end(self.staging, failed=8, reason="prolog ended with exit status 2", method="prolog")
        cell.admin("change_states", action="disable", what="queue", targets=["long.q@node5"])
        cell.configure("cluster_queue", "long.q", h_rt="96:00:00")
        cell.configure("cluster_queue", "all.q", seq_no="15")
        cell.configure("project", "climate", fshare="50")


    def _end(self, job_id: int, **end: Any) -> None:
        """A host reports the end of a job that began an hour ago."""
        key = next(key for key in self.cell.running if key[0] == job_id)
        task = self.cell.state.task(job_id, 1)
        ran = self.cell.now - task.start_time
        used = {"ru_wallclock": ran, "cpu": 0.9 * ran, "mem": ran, "io": 2.0, "maxvmem": 1.4 * _GB}
        report = Ended(key, start_time=task.start_time, end_time=self.cell.now, usage=used, **end)
        self.cell.report(self.cell.running.pop(key), report)


def _accounting_lines(now: int) -> Iterator[str]:
    """Records of the jobs of three users in three months, the later the more."""
    for job in range(1, 241):
        owner, project = (("alice", "weather"), ("bob", "climate"), ("carol", "weather"))[job % 3]
        start = now - int((240 - job) * 90 / 240 * _DAY_S) - 3600
        factor = {"alice": 2 + job // 80, "bob": 1 + job // 60, "carol": 4}[owner]
        run = 600 + job * 97 % 5000
        used = {"cpu": run * factor, "ru_utime": run, "mem": run * 3.5, "io": run / 100, "maxvmem": 2e9, "slots": 4}
        yield acct(job, start, start + run, owner=owner, project=project, **used)


async def _look_back(shared: Web) -> None:
    """Trends of a day in waves, and the alarms of the present."""
    shared.alarms, shared.trends = AlarmBook(hold_s=0.0), TrendStore(shared.cell.common / "trends.db")
    await AlarmWatch(shared, AlarmSettings(Thresholds())).evaluate(shared.mirror.now)
    for minutes in range(1430, -1, -1):
        wave = 0.5 + 0.3 * math.sin(minutes / 190) + 0.15 * math.sin(minutes / 41)
        used, down = round(64 * wave), 32 if minutes < 60 else 24
        series = {series_name(CELL): (used, 4 * (minutes % 400 < 90), 96 - used - down, down, 30 + minutes // 30, used, wave)}
        series |= {series_name(HOST, host): (wave, 0.2 + 0.5 * wave, round(12 * wave)) for host in HOSTS}
        await shared.trends.add(shared.mirror.now - 60 * minutes, series | {series_name(QUEUE, "all.q"): (used, 60)})


@contextmanager
def pictured_cell(directory: Path) -> Iterator[str]:
    """The address of the web server of the cell; the database has all records."""
    database = f"duckdb:{directory / 'arco.duckdb'}"
    writer_cell = WriterCell(directory, database)
    Play(writer_cell.common, database).append(_accounting_lines(int(time.time())))
    writer_cell.writer("--once").communicate()
    scene = Scene(directory / "cell")

    async def make() -> web.Application:
        shared, link = web_of(scene.followed, writer_cell.socket.parent)
        link.host = VISITOR.host
        link.tail = OutputTail("/home/alice/model.o3", len(_OUTPUT), 0, _OUTPUT)
        scene.play()
        await _look_back(shared)
        return build_app(shared, [guard(VISITOR)])

    writer = writer_cell.writer()
    serving = Serving(make)
    try:
        eventually("the writer answers", writer_cell.socket.exists)
        yield serving.start()
        serving.stop()
    finally:
        writer.terminate()
        writer.communicate()
