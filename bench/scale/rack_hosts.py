"""Real exec hosts behind few Ray nodes: `python -m bench.scale.rack_hosts [HOSTS] [RACKS]`.

Each host has all its daemons on this machine, at a loopback address of its own. Prints a line of JSON for each figure: the time
until all hosts report, memory of a host (PSS) and of all processes, processor time with nothing asked, an array on all hosts, and
the loss of a rack's node under jobs: the time until another host is the node, and the tasks that were lost or ran twice.
Results: docs/scale.md.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil

from tests.integration.cells import eventually
from tests.integration.rack_cell import RackCell

WATCHED_S = 60.0
RUN_S = 60
"""Run time of the tasks that run while a node is lost."""
MOST_AT_A_TIME = 100
"""Tasks of the array that run at a time: a shepherd takes 3 MB, and this machine has the memory of all hosts."""


def racks(hosts: int, count: int) -> dict[str, list[str]]:
    """So many hosts in racks of the same size, or one more."""
    names = [f"node{number}" for number in range(1, hosts + 1)]
    return {f"r{number + 1}": names[number * hosts // count : (number + 1) * hosts // count] for number in range(count)}


def processes(cell: RackCell) -> dict[str, list[psutil.Process]]:
    """Kind -> processes of the cell: `host` for those that each host has, else the name."""
    kinds: dict[str, list[psutil.Process]] = {}
    for pid in cell.processes():
        try:
            process = psutil.Process(pid)
            command = " ".join(process.cmdline())
        except psutil.Error:
            continue
        is_host = any(text in command for text in ("rack_member", "sge_execd", "sge_launcher"))
        kinds.setdefault("host" if is_host else command.split()[0].rpartition("/")[2], []).append(process)
    return kinds


def memory_mb(found: list[psutil.Process]) -> float:
    """Proportional set size: memory that processes share counts once."""
    return round(sum(process.memory_full_info().pss for process in found) / 1e6, 1)


def processor_s(found: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in found)


def note(name: str, value: Any) -> None:
    """Print a figure at once: the run is long."""
    print(json.dumps({name: value}), flush=True)


def bring_up(cell: RackCell) -> None:
    """Start the master, and the daemons of hosts, four at a time."""
    began = time.monotonic()
    cell.start_master()
    with ThreadPoolExecutor(4) as starters:
        list(starters.map(cell.start_host, cell.hosts))
    eventually("all hosts report", lambda: cell.ready() == set(cell.hosts))
    note("all_report_s", round(time.monotonic() - began, 1))


def rest(cell: RackCell) -> None:
    """Memory, and processor time with nothing asked."""
    kinds = processes(cell)
    note("memory_of_a_host_mb", round(memory_mb(kinds["host"]) / len(cell.hosts), 1))
    note("memory_of_all_mb", memory_mb([each for found in kinds.values() for each in found]))
    before = {kind: processor_s(found) for kind, found in kinds.items()}
    time.sleep(WATCHED_S)
    used = {kind: processor_s(found) - before[kind] for kind, found in kinds.items()}
    note("processor_of_a_host_percent", round(100 * used["host"] / WATCHED_S / len(cell.hosts), 3))
    note("processor_percent", {kind: round(100 * seconds / WATCHED_S, 1) for kind, seconds in used.items()})


def array(cell: RackCell, tasks: int, *command: str) -> str:
    """Submit an array; its number."""
    quiet = ("-o", "/dev/null", "-j", "y")
    return cell.must("qsub", "-terse", "-b", "y", *quiet, "-t", f"1-{tasks}", *command).partition(".")[0].strip()


def outcome(cell: RackCell, job: str, tasks: int) -> dict[str, int]:
    """Wait until an array has ended; the tasks without a record, with more than one, and that failed."""
    eventually("the array has ended", lambda: not cell.must("qstat", "-s", "prs"))
    lines = [line.split(":") for line in (cell.common / "accounting").read_text().splitlines() if not line.startswith("#")]
    records = [fields for fields in lines if fields[5] == job]
    ended = Counter(fields[35] for fields in records)
    hosts = len({fields[1] for fields in records})
    failed = sum(fields[11] != "0" or fields[12] != "0" for fields in records)
    return {"hosts": hosts, "missing": tasks - len(ended), "twice": sum(count > 1 for count in ended.values()), "failed": failed}


def work(cell: RackCell) -> None:
    """An array with four tasks a host."""
    tasks, began = 4 * len(cell.hosts), time.monotonic()
    found = outcome(cell, array(cell, tasks, "-tc", str(MOST_AT_A_TIME), "/bin/true"), tasks)
    note("array", {"tasks": tasks, "seconds": round(time.monotonic() - began, 1), **found})


def lose_node(cell: RackCell) -> None:
    """Kill the node of the first rack while the other hosts run a task each."""
    rack = next(iter(cell.racks))
    first = cell.node(rack)
    others = [host for host in cell.hosts if host != first]
    job = array(cell, len(others), "-q", ",".join(f"all.q@{host}" for host in others), "sleep", str(RUN_S))
    eventually("all tasks run", lambda: cell.must("qstat", "-s", "r").count(" r ") == len(others))
    began = time.monotonic()
    cell.kill(cell.pid(first))
    eventually("another host is the node", lambda: cell.node(rack) not in ("", first))
    taken = time.monotonic() - began
    eventually("its hosts are connected", lambda: cell.ready() == set(others))
    connected = time.monotonic() - began
    found = outcome(cell, job, len(others))
    times = {"another_is_node_s": round(taken, 1), "all_connected_s": round(connected, 1)}
    note("lost_node", {**times, "tasks": len(others), **found})


def main() -> int:
    hosts, count = (int(text) for text in (sys.argv[1:] + ["300", "8"][len(sys.argv) - 1 :]))
    cell = RackCell(racks(hosts, count))
    try:
        bring_up(cell)
        rest(cell)
        work(cell)
        lose_node(cell)
    finally:
        cell.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
