"""cgroup v2 under systemd, on a real machine: `PYTHONPATH=PROJECT python3 -m tests.machines.cgroups`, as root, without libraries.

Starts a launcher in a scope of systemd, as an execd does, and jobs by it; no cell, so that it is quick on an emulated machine.
Each check prints a line; exit status 1 if one fails. Source: adr/0210; EX-6, EX-7, RL-5, TI-2.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemons.execd.cgroups import HostCgroups, find_cgroups, remove_leftovers
from daemons.execd.systemd_scope import SLICE, is_running, scope_name

CELL, ROOT, HOST = f"machine{os.getpid()}", "/opt/gridengine/cells", "m"
PATIENCE_S = 400.0  # an emulated machine is slow
GROW = "x = b'1' * {size}; import time; print('grown', flush=True); time.sleep({seconds})"
FORK = "import os; os.fork() or os.setsid(); "
LIMIT = 64 * 2**20


class Machine:
    """A spool directory with its launcher on this machine."""

    def __init__(self, spool: Path) -> None:
        self.spool = spool
        (spool / "active_jobs").mkdir(parents=True)
        self.launcher: subprocess.Popen[bytes] | None = None
        self.cgroups = HostCgroups()
        self.wrong: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Start a launcher in place of a running launcher."""
        if self.launcher is not None:
            self.launcher.send_signal(signal.SIGTERM)
            self.launcher.wait()
        (self.spool / "launcher.sock").unlink(missing_ok=True)
        self.launcher = subprocess.Popen([sys.executable, "-m", "shepherd.launcher", str(self.spool)])
        wait((self.spool / "launcher.sock").exists)
        self.cgroups = find_cgroups(CELL, ROOT, HOST, self.launcher.pid)

    def ask(self, **request: object) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(self.spool / "launcher.sock"))
            connection.sendall(json.dumps(request).encode() + b"\n")
            for line in connection.makefile():
                answer: dict[str, Any] = json.loads(line)
                if answer["op"] != "exited":
                    return answer
        return {}

    def start(self, name: str, program: str, **config: object) -> Path:
        """Start a task of root's; returns its directory."""
        directory = self.spool / "active_jobs" / name
        directory.mkdir()
        content = {
            "job_id": int(name.split(".")[0]), "owner": "root", "uid": 0, "gid": 0, "groups": [0], "cwd": "/",
            "stdout": str(directory / "out"), "stderr": str(directory / "err"), "environment": {"PATH": "/usr/bin:/bin"},
            "binary": True, "no_shell": True,
            "command": "/usr/bin/python3", "args": ["-S", "-c", program], "cgroups": self.cgroups.directories(), "merge": False,
        } | config  # fmt: skip
        (directory / "config").write_text(json.dumps(content))
        self.ask(op="start", directory=str(directory))
        return directory

    def check(self, what: str, right: bool, seen: object = "") -> None:
        print(f"{'ok  ' if right else 'FAIL'} {what}{f': {seen}' if str(seen) else ''}", flush=True)
        if not right:
            self.wrong.append(what)


def wait(condition: Callable[[], object], limit_s: float = PATIENCE_S) -> bool:
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def end_of(directory: Path) -> dict[str, Any]:
    """The content of `exit`, {} when the task does not end."""
    if not wait((directory / "exit").exists):
        return {}
    end: dict[str, Any] = json.loads((directory / "exit").read_text())
    return end


def has_grown(directory: Path) -> bool:
    return wait(lambda: (directory / "out").exists() and "grown" in (directory / "out").read_text())


def pids_in(cgroup: Path) -> list[str]:
    return [pid for path in cgroup.rglob("cgroup.procs") for pid in path.read_text().split()]


def scope_is_delegated(machine: Machine, scope: Path) -> None:
    machine.check("the launcher is in a delegated scope of its own", machine.cgroups.limit_memory, machine.cgroups.text())
    path = Path(f"/proc/{machine.launcher.pid if machine.launcher else 0}/cgroup").read_text().strip()
    machine.check("in the slice of all jobs", f"/{SLICE}/{scope_name(CELL, ROOT, HOST)}/daemons" in path, path)
    shown = subprocess.run(["systemctl", "show", "-P", "Delegate", scope_name(CELL, ROOT, HOST)], capture_output=True, text=True)
    machine.check("systemd leaves it alone", shown.stdout.strip() == "yes", shown.stdout.strip())


def memory_is_limited(machine: Machine, scope: Path) -> None:
    limited: dict[str, object] = {"limits": {"h_vmem": LIMIT}, "memory_by_cgroup": True}
    neighbour = machine.start("1.1", GROW.format(size=LIMIT // 4, seconds=600), **limited)
    has_grown(neighbour)
    end = end_of(machine.start("2.1", FORK + GROW.format(size=4 * LIMIT, seconds=600), **limited))
    reason = str(end.get("reason", ""))
    machine.check("a job beyond its memory ends with 37", (end.get("failed"), end.get("exit_status")) == (37, 137), reason)
    machine.check("and is told at how much of how much", "killed at 64.0M of 64M" in reason)
    machine.check("its neighbour goes on", not (neighbour / "exit").exists() and len(pids_in(scope / "1.1")) == 1)
    machine.check("its cgroup is removed", wait(lambda: not (scope / "2.1").exists()))
    short = end_of(machine.start("3.1", GROW.format(size=LIMIT // 2, seconds=0), **limited))
    peak = short["usage"]["maxvmem"]
    machine.check("the peak of a short job is known", LIMIT // 2 < peak < LIMIT, f"{peak / 2**20:.1f}M")
    soft = machine.start("4.1", GROW.format(size=1, seconds=600), **limited | {"limits": {"s_vmem": LIMIT}})
    has_grown(soft)
    machine.check("s_vmem is memory.high", (scope / "4.1" / "memory.high").read_text().strip() == str(LIMIT))


def everything_is_limited(machine: Machine, scope: Path) -> None:
    task = machine.start(
        "5.1", "import os; os.sched_setaffinity(0, range(os.cpu_count())); print(os.sched_getaffinity(0), 'grown', flush=True)\n"
        "import time; time.sleep(600)", processors=[0], slots=2, processor_quota=True, io_by_slots=True,
        limits={"h_maxproc": 50}, processes_by_cgroup=True,
    )  # fmt: skip
    has_grown(task)
    machine.check("a job cannot leave its processors", (task / "out").read_text().startswith("{0}"), (task / "out").read_text())
    seen = {name: (scope / "5.1" / name).read_text().strip() for name in ("cpuset.cpus", "cpu.max", "cpu.weight", "pids.max")}
    expected = {"cpuset.cpus": "0", "cpu.max": "200000 100000", "cpu.weight": "200", "pids.max": "50"}
    machine.check("processors, their time and processes are limited", seen == expected, seen)


def tasks_of_a_job_share_its_memory(machine: Machine, scope: Path) -> None:
    limited: dict[str, object] = {"limits": {"h_vmem": LIMIT // 2}, "slots": 2, "memory_by_cgroup": True, "cgroup_of_job": True}
    first = machine.start("6.1", GROW.format(size=LIMIT // 2, seconds=600), **limited)
    has_grown(first)
    second = machine.start("6.1.1", GROW.format(size=LIMIT, seconds=600), slave=1, **limited)
    ends = [end_of(each) for each in (first, second)]
    machine.check("tasks of a parallel job share its memory", [end.get("failed") for end in ends] == [37, 37],
                  [end.get("reason") for end in ends])  # fmt: skip
    machine.check("the cgroup of the job is removed with the last", wait(lambda: not (scope / "6.1").exists()))


def all_processes_end(machine: Machine, scope: Path) -> None:
    task = machine.start("7.1", "import os, time\nfor _ in range(3): os.fork() or os.setsid()\n"
                         "print('grown', flush=True); time.sleep(600)")  # fmt: skip
    wait(lambda: len(pids_in(scope / "7.1")) == 8)
    machine.ask(op="signal", directory=str(task), command="kill")
    machine.check("all processes of a job end with it", end_of(task).get("exit_status") == 137 and not pids_in(scope / "7.1"))


def jobs_survive_the_daemon(machine: Machine, scope: Path) -> None:
    before = pids_in(scope / "1.1")
    machine.restart()
    path = Path(f"/proc/{machine.launcher.pid if machine.launcher else 0}/cgroup").read_text()
    scope_path = f"{scope_name(CELL, ROOT, HOST)}/daemons"
    machine.check("another launcher joins the scope of running jobs", scope_path in path, path.strip())
    machine.check("they go on", before == pids_in(scope / "1.1") != [])
    shepherd = int((machine.spool / "active_jobs" / "1.1" / "pid").read_text().split()[0])
    os.kill(shepherd, signal.SIGKILL)
    end = end_of(machine.spool / "active_jobs" / "1.1")
    gone = wait(lambda: not (scope / "1.1").exists())
    machine.check("the job of a killed shepherd ends, its cgroup goes", end.get("failed") == 100 and gone, end.get("reason", ""))
    (scope / "99.1").mkdir()
    remove_leftovers(machine.cgroups, {"4.1", "5.1"})
    machine.check("what a task has left is removed", not (scope / "99.1").exists() and (scope / "5.1").exists())


def scope_ends_with_its_last_process(machine: Machine, scope: Path) -> None:
    for name in ("4.1", "5.1"):
        machine.ask(op="signal", directory=str(machine.spool / "active_jobs" / name), command="kill")
        end_of(machine.spool / "active_jobs" / name)
    if machine.launcher is not None:
        machine.launcher.terminate()
        machine.launcher.wait()
    machine.check("the scope ends with its last process", wait(lambda: not scope.exists()))
    command = ["systemctl", "--failed", "--quiet", "--no-legend", "list-units", "sge_jobs*"]
    failed = subprocess.run(command, capture_output=True, text=True).stdout
    machine.check("no unit has failed", not failed.strip(), failed.strip())


CHECKS = (
    scope_is_delegated, memory_is_limited, everything_is_limited, tasks_of_a_job_share_its_memory, all_processes_end,
    jobs_survive_the_daemon, scope_ends_with_its_last_process,
)  # fmt: skip


def main() -> int:
    if os.geteuid() != 0 or not is_running():
        print("needs root on a machine whose init is systemd", file=sys.stderr)
        return 2
    directory = Path(tempfile.mkdtemp(prefix="ge-machine-"))
    machine = Machine(directory / "spool")
    try:
        scope = Path(machine.cgroups.parents.get("memory", "/nowhere"))
        for check in CHECKS:
            check(machine, scope)
    finally:
        subprocess.run(["systemctl", "kill", "-s", "KILL", scope_name(CELL, ROOT, HOST)], capture_output=True)
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if machine.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
