"""Cost of named units: 10,000 GPUs on 1,250 hosts for 10,000 jobs, counted (INT), with names (RSMAP), and with names of two
classes of memory, which half of the jobs demand (CLASSES), in one process.

Prints JSON: for each type the CPU seconds of the cycle that places all jobs, and of the qmaster's check of its orders, which
chooses the names; the least of some rounds. Run as `python -m bench.named_units [ROUNDS]`; default 4.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from bench.placements import JOBS, NOW, cluster
from daemons.qmaster.admit import admit
from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.state.apply import apply
from gridengine.state.jobs import Job
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.job import JobSubmitted
from gridengine.state.state import State
from gridengine.values.ranges import Ranges

HOSTS, GPUS = 1250, 8
KINDS = {"INT": f"gpu={GPUS}", "RSMAP": f"gpu={GPUS}(0-{GPUS - 1})", "CLASSES": f"gpu={GPUS}(0-{GPUS - 1})"}


def cell_with_gpus(kind: str) -> State:
    """Pending jobs of 100 categories that ask for a GPU each, and as many GPUs."""
    state = cluster(HOSTS)
    row = {"name": "gpu", "shortcut": "gpu", "type": kind, "relop": "<=", "requestable": "YES", "consumable": "YES"}
    row["type"] = "INT" if kind == "INT" else "RSMAP"
    apply(state, ObjectSet("complex", "gpu", {**row, "default": "0", "urgency": "0"}))
    for host, text in list(state.kind("exec_host").items()):
        if host != "global":
            apply(state, ObjectSet("exec_host", host, {**text, "complex_values": KINDS[kind]}))
    if kind == "CLASSES":
        set_properties(state)
    apply(state, ObjectSet("cluster_queue", "all.q", {**state.kind("cluster_queue")["all.q"], "slots": str(GPUS)}))
    for number in range(JOBS):
        hard = {"gpu": "1", "h_rt": str(3600 + number % 100)}
        if kind == "CLASSES" and number < JOBS // 2:
            hard["gpu_mem"] = "60G"
        task = Ranges.of([1])
        job = Job(state.next_job_id, "job", "alice", 1001, "users", 100, NOW + number / 1000, hard=hard, pending=task)
        apply(state, JobSubmitted(job))
    return state


def set_properties(state: State) -> None:
    """Half of the GPUs of each host have 40G of memory, the others 80G."""
    row = {"name": "gpu_mem", "shortcut": "gpu_mem", "type": "MEMORY", "relop": "<=", "requestable": "YES", "consumable": "NO"}
    apply(state, ObjectSet("complex", "gpu_mem", {**row, "default": "0", "urgency": "0"}))
    for host in list(state.kind("exec_host")):
        memory = ("40G", "80G")
        units = " ".join(f"gpu/{each}(gpu_mem={memory[each % 2]} identifier={host}-{each})" for each in range(GPUS))
        if host != "global":
            apply(state, ObjectSet("host_units", host, {"hostname": host, "units": units}))


def measure(kind: str) -> tuple[float, float]:
    """CPU seconds of the cycle, and of the check of its orders."""
    state = cell_with_gpus(kind)
    view = View(state)
    gc.collect()
    gc.disable()
    begin = time.process_time()
    orders = schedule(view, NOW + 20)
    placed = time.process_time()
    events = admit(state, orders, NOW + 20)
    checked = time.process_time()
    gc.enable()
    assert len(events) > JOBS, "each job has a GPU"
    return placed - begin, checked - placed


def main(rounds: int) -> None:
    """The kinds in turn, the order changed in each round."""
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for number in range(rounds):
        for kind in sorted(KINDS, reverse=number % 2 == 1):
            found[kind].append(measure(kind))
    least = {kind: [round(min(column), 3) for column in zip(*figures, strict=True)] for kind, figures in found.items()}
    print(json.dumps({kind: {"cycle_s": cycle, "check_s": check} for kind, (cycle, check) in least.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
