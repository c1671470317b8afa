"""Builders: a state made of events, for tests of placement and of the scheduler.

Owns the shortest way from a few words to a state that `apply` has made: the shipped default cell, changed as a test
needs it. Events make the whole state, so that a test can feed the same events to a scheduler's view.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from daemons.schedd.view import View
from gridengine.config import KINDS
from gridengine.placement.charges import charges
from gridengine.placement.verify import explain
from gridengine.protocols.orders import Orders
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.job import JobSubmitted, PendingTasksDeleted, PrioritiesSet
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.machines.task import TaskDispatched, TaskEnded, TaskStarted
from gridengine.state.parts import pack_jobs, pack_state
from gridengine.state.state import State
from gridengine.values.ranges import Ranges
from tests.default_cell import default_objects

NOW = 1_800_000_000.0
LOAD = {
    "arch": "lx-amd64", "num_proc": "4", "load_avg": "0.400000", "np_load_avg": "0.100000",
    "mem_free": "8000.000000M", "mem_total": "16000.000000M",
}


@lru_cache
def _defaults(hosts: tuple[str, ...], slots: int) -> list[tuple[str, str, dict[str, str]]]:
    return default_objects(list(hosts), slots)


class Cluster:
    """A cluster of hosts h1 … hN, `slots` slots each in all.q, all up with equal load. `view` follows every event."""

    def __init__(self, hosts: int = 3, slots: int = 4, cached: bool = True) -> None:
        self.state = State()
        self.now = NOW
        self.view: View | None = None
        self.hosts = [f"h{number}" for number in range(1, hosts + 1)]
        for kind, name, text in _defaults(tuple(self.hosts), slots):
            self.apply(ObjectSet(kind, name, dict(text)))
        self.change("scheduler", "", job_load_adjustments="NONE")
        for host in self.hosts:
            self.heard(host, **LOAD)
        self.view = View(self.state, cached)

    def apply(self, event: AnyEvent) -> None:
        if self.view is not None:
            self.view.observe(Affected.by(self.state, event))
        apply(self.state, event)
        self.state.revision += 1

    # --- configuration -----------------------------------------------------------------------------------

    def change(self, kind: str, name: str, **attributes: str) -> None:
        """Change attributes of an object that is there."""
        text = self.state.objects[kind][name]
        unknown = attributes.keys() - text.keys()
        assert not unknown, unknown
        self.apply(ObjectSet(kind, name, {**text, **attributes}))

    def add(self, kind: str, name: str, **attributes: str) -> None:
        """Add an object: the template of its kind with these attributes."""
        template = KINDS[kind].template(name).attributes()
        assert attributes.keys() <= template.keys(), attributes.keys() - template.keys()
        self.apply(ObjectSet(kind, name, {**template, **attributes}))

    def queue(self, name: str = "all.q", **attributes: str) -> None:
        """Change a cluster queue, or add it on all hosts, without load thresholds."""
        if self.state.has("cluster_queue", name):
            self.change("cluster_queue", name, **attributes)
        else:
            plain = {"hostlist": "@allhosts", "load_thresholds": "NONE", "slots": "4"}
            self.add("cluster_queue", name, **{**plain, **attributes})

    def complex(self, line: str) -> None:
        """A complex attribute from its eight columns, the shortcut left out (it is the name)."""
        name, kind, relop, requestable, consumable, default, urgency = line.split()
        columns = (kind, relop, requestable, consumable, default, urgency)
        names = ("type", "relop", "requestable", "consumable", "default", "urgency")
        text = {"name": name, "shortcut": name, **dict(zip(names, columns, strict=True))}
        self.apply(ObjectSet("complex", name, text))

    def pe(self, name: str, rule: str, slots: int = 999, **attributes: str) -> None:
        self.add("parallel_environment", name, allocation_rule=rule, slots=str(slots), **attributes)

    def values(self, host: str, text: str) -> None:
        """complex_values of a host, or of the cluster ("global")."""
        self.change("exec_host", host, complex_values=text)

    # --- what happens ------------------------------------------------------------------------------------

    def heard(self, host: str, **load: str) -> None:
        self.apply(HostHeard(host, self.now, load))

    def job(self, **fields: Any) -> Job:
        """A job that is not submitted. `hard` is a dict; `array` a text such as 1-5."""
        number = self.state.next_job_id
        array = Ranges.parse(fields.pop("array")) if "array" in fields else None
        plain: dict[str, Any] = {"name": "job", "owner": "alice", "uid": 1001, "group": "users", "gid": 100}
        plain |= {"submit_time": self.now + number / 1000, "array": array, "pending": array or Ranges.of([1])}
        return Job(number, **(plain | fields))

    def submit(self, **fields: Any) -> int:
        job = self.job(**fields)
        self.apply(JobSubmitted(job))
        return job.id

    def cycle(self, now: float | None = None) -> Orders:
        """One scheduler cycle; the orders are carried out as the qmaster would."""
        from daemons.schedd.cycle import schedule

        assert self.view is not None
        self.now = now if now is not None else self.now
        orders = schedule(self.view, self.now)
        for start in orders.starts:
            job = self.state.jobs[start.job_id]
            resources = charges(self.state, job)
            self.apply(
                TaskDispatched(job.id, start.task_id, start.attempt, start.granted, self.now, start.pe, resources)
            )
            self.apply(TaskStarted(job.id, start.task_id, start.attempt, self.now))
        if orders.priorities or orders.tickets:
            self.apply(PrioritiesSet(orders.priorities, orders.tickets))
        if orders.job_reservations != self.state.job_reservations:
            self.apply(JobReservationsSet(orders.job_reservations))
        return orders

    def apply_deletion(self, job_id: int) -> None:
        """qdel of the tasks of a job that have no place."""
        if waiting := self.state.jobs[job_id].waiting:
            self.apply(PendingTasksDeleted(job_id, waiting, "alice", self.now))

    def end(self, job_id: int, task_id: int = 1) -> None:
        task = self.state.jobs[job_id].tasks[task_id]
        self.apply(TaskEnded(job_id, task_id, task.attempt, self.now))

    def parts(self) -> list[bytes]:
        """The state as a scheduler is sent it."""
        return [pack_state(self.state), *(pack_jobs([job]) for job in self.state.jobs.values())]

    # --- looking -----------------------------------------------------------------------------------------

    def spread(self, job_id: int, task_id: int = 1) -> dict[str, int]:
        """Instance -> slots of a running task, the master's first; empty while it is pending."""
        job = self.state.jobs[job_id]
        task = job.tasks.get(task_id)
        return {grant.instance: grant.slots for grant in task.granted} if task is not None else {}

    def runs(self, job_id: int) -> bool:
        return bool(self.spread(job_id))


def started(orders: Orders) -> list[tuple[int, int, str]]:
    """(job, task, instance of the master) of each start, in order."""
    return [(start.job_id, start.task_id, start.granted[0].instance) for start in orders.starts]


def why(cluster: Cluster, job_id: int) -> str:
    """The reasons of a waiting job, one line each."""
    return "\n".join(reason.text for reason in explain(cluster.state, cluster.state.jobs[job_id], NOW))
