"""Metrics of the cell by topic: jobs, users and projects, resources, hosts, and the files of the qmaster.

Owns the meaning of each metric, its labels and their bounds. A scrape computes all metrics from the mirror's state and the
spool's directory; the qmaster is not involved. Called by `daemons.web.metrics`. Source: docs/web.md.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from daemons.qmaster.queries.queues import cluster_queues
from daemons.qmaster.queries.selection import Listing
from daemons.qmaster.queries.totals import TASK_STATES, tasks_of
from daemons.runtime.cell import Cell, CellError
from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.values import EXCLUSIVE, reported_value
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.bookings import CLUSTER, GLOBAL
from gridengine.state.jobs import Job
from gridengine.state.machines.task import TaskEnded
from gridengine.state.state import State
from gridengine.values.ranges import parse_slot_ranges

ANONYMOUS = Caller("", -1, "", -1, "")
MAX_NAMES = 50
"""Maximum number of users, and of projects, with their own label: by number of slots. `OTHERS` has the sum of the rest."""
OTHERS = "(others)"
"""An impossible name for users and projects."""
_QUEUE_USES = ("used", "resv", "available", "total", "temporary", "manual")
_SLOT_STATES = ("used", "pending")
_HOST_LOAD = {
    "load_avg": ("host_load_average", "Load average of five minutes (load_avg)."),
    "num_proc": ("host_processors", "Processors (num_proc)."),
    "mem_used": ("host_memory_used_bytes", "Memory in use (mem_used)."),
    "mem_total": ("host_memory_total_bytes", "Memory (mem_total)."),
}


def gauge(name: str, text: str, value: float | None = None, labels: Sequence[str] = ()) -> GaugeMetricFamily:
    """A gauge; a gauge without labels gets its value here."""
    return GaugeMetricFamily(f"gridengine_{name}", text, value, labels or None)


class EndCounts:
    """Counts of finished tasks by `failed` code, since the start of the web server.

    Tasks that ended while the mirror was disconnected are not counted.
    """

    def __init__(self, mirror: StateMirror) -> None:
        self._counts: Counter[int] = Counter({0: 0})
        mirror.followers.append(self._note)

    def family(self) -> Metric:
        """The counter, by code."""
        family = CounterMetricFamily("gridengine_tasks_ended", "Tasks that ended, by failed code (0: none).", labels=["failed"])
        for code, count in sorted(self._counts.items()):
            family.add_metric([str(code)], count)
        return family

    def _note(self, change: MirroredChange) -> None:
        for event in change.events:
            if isinstance(event, TaskEnded):
                self._counts[event.failed] += 1


def jobs(state: State, now: float) -> Iterator[Metric]:
    """Tasks by state, jobs, the age of the oldest pending task, and slots by user and project; one pass over all jobs."""
    tasks = dict.fromkeys(TASK_STATES, 0)
    users, projects = _SlotSums(), _SlotSums()
    oldest = now
    for job in state.jobs.values():
        pending = 0
        for name, count in tasks_of(state, job):
            tasks[name] += count
            pending += count if name == "pending" else 0
        used = sum(task.slots for task in job.placed)
        if pending:
            oldest = min(oldest, max(job.submit_time, job.start_after))
        waiting = pending * _min_slots(job)
        users.add(job.owner, used, waiting)
        projects.add(job.project or "NONE", used, waiting)
    family = gauge("tasks", "Tasks of jobs by state.", labels=["state"])
    for name in TASK_STATES:
        family.add_metric([name], tasks[name])
    yield family
    yield gauge("jobs", "Unfinished jobs.", len(state.jobs))
    yield gauge("oldest_pending_task_age_seconds", "Waiting time of the oldest pending task; 0 for none.", now - oldest)
    yield users.family("user_slots", "Slots of tasks on hosts, and minimum requests of pending tasks, by user.", "user")
    yield projects.family("project_slots", "The same by project, NONE for jobs without one.", "project")


def _min_slots(job: Job) -> int:
    return _min_of_ranges(job.pe_range) if job.pe_range else 1


@lru_cache(maxsize=1024)
def _min_of_ranges(slot_ranges: str) -> int:
    return parse_slot_ranges(slot_ranges)[0][0]


class _SlotSums:
    """Slots in use and pending by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[int]] = {}

    def add(self, name: str, used: int, pending: int) -> None:
        sums = self._by_name.setdefault(name, [0, 0])
        sums[0] += used
        sums[1] += pending

    def family(self, metric: str, text: str, label: str) -> Metric:
        """The family, with at most `MAX_NAMES` labelled names."""
        order = sorted(self._by_name.items(), key=lambda row: (-row[1][0], -row[1][1], row[0]))
        shown = order[:MAX_NAMES]
        if rest := order[MAX_NAMES:]:
            shown.append((OTHERS, [sum(column) for column in zip(*(sums for _, sums in rest), strict=True)]))
        family = gauge(metric, text, labels=[label, "state"])
        for name, sums in shown:
            for state, slots in zip(_SLOT_STATES, sums, strict=True):
                family.add_metric([name, state], slots)
        return family


def queues(state: State, now: float) -> Iterator[Metric]:
    """Slots of cluster queues."""
    slots = gauge("queue_slots", "Slots of cluster queues, as qstat -g c has them.", labels=["queue", "use"])
    for row in cluster_queues(Listing(state), {}, ANONYMOUS, now):
        for use in _QUEUE_USES:
            slots.add_metric([row["name"], use], row[use])
    yield slots


def consumables(state: State) -> Iterator[Metric]:
    """Usage and capacity of each consumable: of the cell if the cell defines it, else of all hosts."""
    config_snapshot = PlacementConfig.of(state)
    used = gauge("consumable_used", "Consumable resources in use, in bytes, seconds or numbers.", labels=["resource"])
    capacity = gauge("consumable_capacity", "Capacity of the cell, or else the sum of its hosts.", labels=["resource"])
    hosts = [config_snapshot.host(name).consumables for name in state.kind("exec_host") if name not in (GLOBAL, "template")]
    of_cell = config_snapshot.host(GLOBAL).consumables
    for name, entry in sorted(config_snapshot.entries.items()):
        if not entry.is_consumable or entry.relop == EXCLUSIVE or name == "slots":
            continue
        of_hosts = [amounts[name] for amounts in hosts if name in amounts]
        taken = state.bookings.of(CLUSTER, name)
        if taken or name in of_cell or of_hosts:
            used.add_metric([name], taken)
        if name in of_cell or of_hosts:
            capacity.add_metric([name], of_cell.get(name, sum(of_hosts)))
    yield used
    yield capacity


def hosts(state: State, now: float) -> Iterator[Metric]:
    """Reachability of exec hosts, and load and memory of the reachable hosts."""
    up = gauge("host_up", "1 for a reachable exec host.", labels=["host"])
    age = gauge("host_report_age_seconds", "Seconds since the last load report.", labels=["host"])
    loads = {name: gauge(metric, text, labels=["host"]) for name, (metric, text) in _HOST_LOAD.items()}
    for name, host in sorted(state.hosts.items()):
        up.add_metric([name], float(host.up))
        if host.last_heard:
            age.add_metric([name], max(0.0, now - host.last_heard))
        for value, family in loads.items():
            if value in host.load and value in state.complexes:
                number = reported_value(state.complexes[value].type, host.load[value])
                if isinstance(number, float):
                    family.add_metric([name], number)
    yield from (up, age, *loads.values())


def reservations(state: State) -> Iterator[Metric]:
    """Advance reservations by state."""
    family = gauge("reservations", "Advance reservations by state (w r W E d).", labels=["state"])
    counts = Counter(dict.fromkeys("wrWEd", 0))
    counts.update(one.state for one in state.reservations.values())
    for state_code, count in sorted(counts.items()):
        family.add_metric([state_code], count)
    yield family


def alarms(counts: Mapping[tuple[str, str], int], rules: Iterable[str], severities: Iterable[str]) -> Metric:
    """Active alarms: `counts` by rule and severity, else 0."""
    family = gauge("alarms", "Active alarms by rule and severity.", labels=["rule", "severity"])
    for rule, severity in product(rules, severities):
        family.add_metric([rule, severity], counts.get((rule, severity), 0))
    return family


class SpoolFigures(NamedTuple):
    """The disk of the qmaster's spool (`free` bytes of `size`), and when the last daily backup was made (`backup`, epoch s, 0 for
    none)."""

    free: int
    size: int
    backup: float


def spool_figures(cell: Cell) -> SpoolFigures | None:
    """The figures of the spool's disk; None on other hosts than the master, and without permission."""
    try:
        if cell.master_host() != cell.own_name():
            return None
        disk = shutil.disk_usage(cell.qmaster_spool_dir)
        return SpoolFigures(disk.free, disk.total, max((path.stat().st_mtime for path in cell.daily_backups()), default=0.0))
    except (OSError, CellError):
        return None


def spool(figures: SpoolFigures) -> Iterator[Metric]:
    """The disk space of the qmaster, and its backups."""
    yield gauge("spool_free_bytes", "Free space on the file system of the qmaster's spool.", figures.free)
    yield gauge("spool_size_bytes", "Size of that file system.", figures.size)
    yield gauge("last_backup_timestamp_seconds", "Time of the last daily backup, epoch; 0 for none.", figures.backup)
