"""Costs of a Ray node for the head: real raylets on this machine, in steps: `python -m bench.scale.ray_nodes [NODES]`.

Nodes as a cell has them (`daemons.runtime.ray_process`, its settings) but without TLS and token, on the loopback address. Prints
a line of JSON for each step: processor of the control store and of the head's raylet in percent of a core without requests,
their memory, and seconds that the last nodes took to join. Results: docs/scale.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from daemons.runtime.daemon import module_environment
from daemons.runtime.ray_node import RAY_SETTINGS

PORTS = 27_000
WATCHED_S = 20.0
_TICK = os.sysconf("SC_CLK_TCK")


def spec(directory: Path, number: int, head: str) -> dict[str, Any]:
    """The description from which `ray_process` starts node `number`; 0 is the head. Each node has ten ports."""
    first = PORTS + 10 * number
    path = directory / f"n{number}"
    path.mkdir()
    return {
        "directory": str(path), "address": "127.0.0.1", "name": f"n{number}", "resources": {f"host-n{number}": 1.0},
        "head": head, "port": first, "node_manager": first + 1, "object_manager": first + 2,
        "workers": list(range(first + 3, first + 10)),
    }


def start(directory: Path, number: int, head: str) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """A node, when it is up."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    settings = {name: value for name, value in RAY_SETTINGS.items() if name not in ("RAY_AUTH_MODE", "RAY_USE_TLS")}
    arguments = [sys.executable, "-m", "daemons.runtime.ray_process", str(os.getpid()), json.dumps(spec(directory, number, head))]
    environment = module_environment(clean) | settings
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def children(parent: int, name: str) -> int:
    """The process of this name whose parent that is."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            text, command = (path / "stat").read_text(), (path / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == parent and Path(command.decode()).name.startswith(name):
            return int(path.name)
    raise LookupError(f"{name} is not there")


def used(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def memory_mb(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def watched(pids: dict[str, int]) -> dict[str, Any]:
    before = {name: used(pid) for name, pid in pids.items()}
    time.sleep(WATCHED_S)
    found: dict[str, Any] = {}
    for name, pid in pids.items():
        found[f"{name}_percent"] = round(100 * (used(pid) - before[name]) / WATCHED_S, 2)
        found[f"{name}_mb"] = memory_mb(pid)
    return found


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    processes = []
    with tempfile.TemporaryDirectory(prefix="ge-nodes-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        try:
            head, facts = start(directory, 0, "")
            processes.append(head)
            pids = {"control_store": children(head.pid, "gcs_server"), "head_raylet": children(head.pid, "raylet")}
            print(json.dumps({"nodes": 0, **watched(pids)}), flush=True)
            for step in (nodes // 4, nodes // 2, nodes):
                began, before = time.perf_counter(), len(processes)
                while len(processes) <= step:
                    processes.append(start(directory, len(processes), facts["head"])[0])
                joining = (time.perf_counter() - began) / max(1, len(processes) - before)
                print(json.dumps({"nodes": step, "seconds_a_node": round(joining, 2), **watched(pids)}), flush=True)
            print(json.dumps({"raylet_of_a_host_mb": memory_mb(children(processes[-1].pid, "raylet"))}), flush=True)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait()


if __name__ == "__main__":
    main()
