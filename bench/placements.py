"""Speed of placement in the scheduler: 10,000 pending jobs in 100 categories, slots for 8,000 jobs, in one process.

Prints JSON: for each number of hosts the CPU seconds of the cycle that places, of the next cycle, which finds
nothing, and of a cycle after a few jobs have ended; for 1,000 hosts also with load adjustments, with parallel jobs, and with
10,000 jobs of one category that cannot run.
Run as `python -m bench.placements [HOSTS ...]`; default 100 1000 10000.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.config import KINDS
from gridengine.config.sample_cell import read_cell
from gridengine.placement.charges import charges
from gridengine.protocols.orders import Orders
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.host import HostHeard
from gridengine.state.machines.job import JobSubmitted, PrioritiesSet
from gridengine.state.machines.task import TaskDispatched, TaskEnded
from gridengine.state.state import State
from gridengine.values.ranges import Ranges
from tests.default_cell import shipped_texts

JOBS = 10_000
CAPACITY = 8_000
CATEGORIES = 100
NOW = 1_800_000_000.0
GIBI = 2**30


def cluster(hosts: int, adjustments: str = "NONE") -> State:
    """Hosts with slots for ROOM jobs together, a memory consumable on each, load that differs."""
    state = State()
    names = [f"n{number}" for number in range(hosts)]
    slots = max(1, CAPACITY // hosts)
    objects = {(kind, model.object_name): model.attributes() for kind, model in read_cell(shipped_texts())}
    text = objects["complex", "h_vmem"]
    objects["complex", "h_vmem"] = {**text, "consumable": "YES", "default": "0"}
    plain = KINDS["exec_host"].template().attributes()
    memory = {"complex_values": f"h_vmem={slots * 4}G"}
    objects["exec_host", "global"] = {**plain, "hostname": "global"}
    for name in names:
        objects["exec_host", name] = {**plain, "hostname": name, **memory}
    objects["host_group", "@allhosts"] = {"group_name": "@allhosts", "hostlist": " ".join(names)}
    objects["cluster_queue", "all.q"] = {**objects["cluster_queue", "all.q"], "slots": str(slots)}
    objects["scheduler", ""] = {**objects["scheduler", ""], "job_load_adjustments": adjustments}
    queue = objects.pop(("cluster_queue", "all.q"))
    for (kind, name), attributes in objects.items():
        apply(state, ObjectSet(kind, name, attributes))
    apply(state, ObjectSet("cluster_queue", "all.q", queue))
    for index, name in enumerate(names):
        load = {"arch": "lx-amd64", "num_proc": "8", "np_load_avg": f"{index % 97 / 100:.6f}"}
        apply(state, HostHeard(name, NOW, load))
    return state


def submit(state: State, pe: str = "") -> None:
    """JOBS single jobs, half of the categories asking for memory too; with `pe` a fourth of that with 4 slots each."""
    for number in range(JOBS // 4 if pe else JOBS):
        kind = number % CATEGORIES
        hard = {"h_rt": str(3600 + kind)}
        if kind % 2:
            hard["h_vmem"] = f"{1 + kind % 4}G"
        job_id = state.next_job_id
        job = Job(job_id, "job", "alice", 1001, "users", 100, NOW + number / 1000, hard=hard, pending=Ranges.of([1]))
        job.pe, job.pe_range = (pe, "4") if pe else ("", "")
        apply(state, JobSubmitted(job))


def carry_out(state: State, view: View, orders: Orders) -> None:
    """Apply orders as the qmaster does."""
    for start in orders.starts:
        resources = charges(state, state.jobs[start.job_id])
        feed(state, view, TaskDispatched(start.job_id, 1, 1, start.granted, NOW, start.pe, resources))
    feed(state, view, PrioritiesSet(orders.priorities))


def feed(state: State, view: View, event: AnyEvent) -> None:
    affected = Affected.by(state, event)
    apply(state, event)
    view.observe(affected)


def timed(view: View) -> tuple[float, Orders]:
    """CPU seconds of a cycle and its orders; a look for garbage, which the schedd seldom takes, is not among them."""
    gc.collect()
    gc.disable()
    begin = time.process_time()
    orders = schedule(view, NOW + 20)
    seconds = time.process_time() - begin
    gc.enable()
    return round(seconds, 4), orders


def measure(hosts: int) -> dict[str, float]:
    """Figures for a number of hosts, in seconds but for the counts."""
    state = cluster(hosts)
    submit(state)
    begin = time.process_time()
    view = View(state)
    derived = time.process_time() - begin
    placing, orders = timed(view)
    placed = len(orders.starts)
    carry_out(state, view, orders)
    after, _ = timed(view)
    nothing, orders = timed(view)
    assert not orders.starts
    for start in sorted(state.jobs)[:20]:
        feed(state, view, TaskEnded(start, 1, 1, NOW))
    few, orders = timed(view)
    return {
        "hosts": hosts,
        "placements": placed,
        "derive_s": round(derived, 4),
        "place_s": placing,
        "after_s": after,
        "nothing_s": nothing,
        "twenty_ended_s": few,
        "twenty_ended_placed": len(orders.starts),
    }


def measure_other(hosts: int) -> dict[str, float]:
    """The cycle that places with the shipped load adjustments, and with parallel jobs by allocation rule."""
    figures: dict[str, float] = {"hosts": hosts}
    for name, adjustments, pe in (
        ("adjusted", "np_load_avg=0.50", ""),
        ("fill_up", "NONE", "mpi"),
        ("round_robin", "NONE", "make"),
        ("pe_slots", "NONE", "smp"),
    ):
        state = cluster(hosts, adjustments)
        submit(state, pe)
        seconds, orders = timed(View(state))
        figures[f"{name}_s"] = seconds
        figures[f"{name}_slots"] = sum(grant.slots for start in orders.starts for grant in start.granted)
    return figures


def measure_waiting(hosts: int) -> dict[str, float]:
    """A cycle in which no job of one category can run: the first look at them, and the next, for one job and for JOBS.

    The requirement (CX-65): hosts are checked once for the category; a job costs only its position in the order.
    """
    figures: dict[str, float] = {"hosts": hosts}
    for jobs in (1, JOBS):
        state = cluster(hosts)
        view = View(state)
        for number in range(jobs):
            job_id = state.next_job_id
            hard = {"h_vmem": "1000G"}
            job = Job(job_id, "job", "alice", 1001, "users", 100, NOW + number / 1000, hard=hard, pending=Ranges.of([1]))
            feed(state, view, JobSubmitted(job))
        figures[f"first_{jobs}_s"], orders = timed(view)
        assert not orders.starts
        feed(state, view, PrioritiesSet(orders.priorities))
        feed(state, view, HostHeard("n1", NOW, {"np_load_avg": "0.5"}))
        figures[f"next_{jobs}_s"], _ = timed(view)
    return figures


def main(arguments: list[str]) -> int:
    sizes = [int(argument) for argument in arguments] or [100, 1000, 10_000]
    figures = {
        "placements": [measure(hosts) for hosts in sizes],
        "other": measure_other(1000),
        "waiting": measure_waiting(1000),
    }
    print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
