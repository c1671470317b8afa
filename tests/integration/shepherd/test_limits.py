"""Jobs that really exceed their limits (QC-39, RL-2 to RL-10)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import needs
from tests.integration.shepherd.cell import Cell, cgroups, wait_for
from tests.integration.shepherd.test_signals import TRAPS

BURN = "import os\nfor _ in range({forks}): os.fork()\nwhile True: pass\n"
GROW = "import os, time\nfor _ in range({forks}): os.fork()\nx = bytearray(100_000_000)\ntime.sleep(1000)\n"


@pytest.mark.statement("RL-2")
def test_h_rt(cell: Cell) -> None:
    task = cell.run("sleep 1000\n", limits={"h_rt": 0.3, "s_rt": None})
    assert (task.exit["failed"], task.exit["exit_status"]) == (37, 137)
    assert "limit h_rt of 0.3 s exceeded" in task.exit["reason"]
    assert task.exit["usage"]["ru_wallclock"] >= 0.3


@pytest.mark.statement("RL-2", "QC-29")
def test_h_rt_with_notification(cell: Cell) -> None:
    task = cell.run("sleep 1000\n", limits={"h_rt": 0.3}, notify_s=1000)
    assert task.exit["exit_status"] == 140  # SIGUSR2
    task = cell.run("sleep 1000\n", limits={"h_rt": 0.3}, notify_s=0.3, notify_kill="SIGURG")  # which ends no process
    assert task.exit["exit_status"] == 137
    assert re.search("signal 23 to [1-9].*limit h_rt of 0.3 s exceeded", task.trace, re.DOTALL)


@pytest.mark.statement("RL-2")
def test_h_rt_counts_while_suspended(cell: Cell) -> None:
    task = cell.task("sleep 1000\n", limits={"h_rt": 4})
    task.start_with("suspend")
    assert task.wait()["exit_status"] == 137
    assert re.search("signal 19 to [1-9]", task.trace)


@pytest.mark.statement("RL-2", "QC-27")
def test_h_rt_does_not_depend_on_the_terminate_method(cell: Cell) -> None:
    method = "SIGURG"  # which ends no process
    task = cell.run("sleep 1000\n", limits={"h_rt": 0.3}, terminate_method=method, queue_notify_s=0.3)
    assert task.exit["exit_status"] == 137
    assert re.search("signal 23 to [1-9]", task.trace)


@pytest.mark.statement("RL-3")
def test_s_rt(cell: Cell) -> None:
    task = cell.run(TRAPS, shell="/bin/bash", limits={"s_rt": 5}, queue_notify_s=5)
    assert task.stdout == "ready\nusr1\n"
    assert task.exit["exit_status"] == 137
    assert "limit s_rt" in task.exit["reason"]


@pytest.mark.statement("RL-6")
def test_fsize(cell: Cell) -> None:
    script = "exec head -c 100000 /dev/zero >big\n"
    task = cell.run(script, limits={"h_fsize": 20000})
    assert (task.exit["failed"], task.exit["exit_status"]) == (100, 153)
    assert (cell.home / "big").stat().st_size == 20000


@pytest.mark.statement("RL-6", "RL-7", "RL-10")
def test_limits_of_the_kernel(cell: Cell) -> None:
    limits = {
        "s_stack": 2**22, "h_stack": 2**23, "h_core": 0, "s_data": 2**34, "h_rss": 2**30, "h_fsize": None,
        "s_descriptors": 100, "h_maxproc": 5000, "h_memorylocked": 4096, "h_vmem": 2**35, "h_cpu": 7200, "h_locks": 9,
    }  # fmt: skip
    task = cell.run(command="/bin/cat", args=["/proc/self/limits"], limits=limits, slots=2, no_shell=True)
    shown = {line[:26].strip(): line[26:].split()[:2] for line in task.stdout.splitlines()[1:]}
    assert shown["Max stack size"] == [str(2**23), str(2**24)]
    assert shown["Max core file size"] == ["0", "0"]
    assert shown["Max data size"] == [str(2**35), "unlimited"]
    assert shown["Max resident set"] == [str(2**30)] * 2
    assert shown["Max file size"] == ["unlimited"] * 2
    assert shown["Max open files"] == ["100", "100"]
    assert shown["Max processes"] == ["5000", "5000"]
    assert shown["Max locked memory"] == ["4096", "4096"]
    assert shown["Max file locks"] == ["9", "9"]
    assert shown["Max address space"] == [str(2**36)] * 2
    assert shown["Max cpu time"] == ["14400"] * 2


@pytest.mark.statement("RL-4")
def test_h_cpu_of_one_process(cell: Cell) -> None:
    task = cell.run(command="/usr/bin/python3", args=["-S", "-c", BURN.format(forks=0)], limits={"h_cpu": 1}, no_shell=True)
    assert (task.exit["failed"], task.exit["exit_status"]) == (37, 137)
    assert 0.5 <= task.exit["usage"]["cpu"] < 5  # the kernel counts in ticks


@pytest.mark.statement("RL-4")
@pytest.mark.parametrize("mechanism", [{}, {"use_cgroups": True}])
def test_h_cpu_is_the_sum_over_processes_times_slots(cell: Cell, mechanism: dict[str, bool]) -> None:
    config = {"limits": {"h_cpu": 0.2}, "slots": 2, "pdc_interval_s": 0.1, **mechanism}
    task = cell.run(command="/usr/bin/python3", args=["-S", "-c", BURN.format(forks=4)], **config)
    assert task.exit["exit_status"] == 137
    assert "limit h_cpu of 0.2 s exceeded" in task.exit["reason"]
    assert 0.35 <= task.exit["usage"]["cpu"] < 16  # the kernel lets each of the 16 have 2 s


@pytest.mark.statement("RL-4")
def test_s_cpu_warns(cell: Cell) -> None:
    script = TRAPS.replace("read -t 1 line <&3", ":")
    task = cell.task(script, limits={"s_cpu": 0.5}, pdc_interval_s=0.1)
    task.start()
    task.wait_output("xcpu")
    wait_for(lambda: "limit s_cpu of 0.5 s exceeded" in task.trace, "the limit to be noticed")
    task.command("kill")
    assert task.wait()["exit_status"] == 137
    assert task.stdout.startswith("ready\nxcpu\n")


@pytest.mark.statement("RL-5")
def test_h_vmem_of_one_process_is_refused_by_the_kernel(cell: Cell) -> None:
    config = {"limits": {"h_vmem": 80_000_000}, "no_shell": True}
    task = cell.run(command="/usr/bin/python3", args=["-S", "-c", GROW.format(forks=0)], **config)
    assert "MemoryError" in task.stderr
    assert task.exit["exit_status"] == 1


@pytest.mark.statement("RL-5")
def test_h_vmem_is_the_sum_over_processes(cell: Cell) -> None:
    config = {"limits": {"h_vmem": 200_000_000}, "pdc_interval_s": 0.1, "no_shell": True}
    task = cell.run(command="/usr/bin/python3", args=["-S", "-c", GROW.format(forks=1)], **config)
    assert (task.exit["failed"], task.exit["exit_status"]) == (37, 137)
    assert "limit h_vmem of 200000000 bytes exceeded" in task.exit["reason"]
    assert task.exit["usage"]["maxvmem"] > 200_000_000


def test_tiny_h_vmem_does_not_stop_the_shepherd(cell: Cell) -> None:
    task = cell.run(command="/bin/true", limits={"h_vmem": 20_000_000}, no_shell=True)
    assert (task.exit["failed"], task.exit["exit_status"]) == (0, 0)


# --- memory by cgroup (ADR 0070) ----------------------------------------------------------------------------------

TOUCH = """\
import sys, time
x = bytearray(int(sys.argv[1]))
x[::4096] = b"1" * len(x[::4096])
print("grown", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def memory(root_cell: Cell) -> dict[str, object]:
    """Configuration of a task whose memory a cgroup limits; skipped where the kernel does not permit this."""
    found = cgroups()
    if not found.limit_memory:
        needs.skip("limits of memory by cgroup", f"run the tests where cgroups can be used; here: {found.obstacle}")
    return {"use_cgroups": True, "memory_by_cgroup": True, "pdc_interval_s": 0.1, "no_shell": True}


def grow(size: int) -> dict[str, object]:
    return {"command": "/usr/bin/python3", "args": ["-S", "-c", TOUCH, str(size)]}


@pytest.mark.statement("RL-5", "EX-6")
def test_memory_beyond_the_limit_of_the_cgroup_ends_the_job(root_cell: Cell, memory: dict[str, object]) -> None:
    task = root_cell.run(**grow(200_000_000), limits={"h_vmem": 60_000_000}, **memory)
    assert (task.exit["failed"], task.exit["exit_status"], task.exit["signal"]) == (37, 137, 9)
    assert "limit h_vmem of 60000000 bytes exceeded" in task.exit["reason"]
    assert task.exit["usage"]["maxvmem"] >= 60_000_000


@pytest.mark.statement("RL-5", "EX-6")
def test_a_process_above_h_vmem_ends_the_whole_job(root_cell: Cell, memory: dict[str, object]) -> None:
    memory["no_shell"] = False
    inner = root_cell.file("grow.py", TOUCH)
    script = f"(/usr/bin/python3 {inner} 200000000) & sleep 1000 & wait\n"
    task = root_cell.run(script, limits={"h_vmem": 60_000_000}, **memory)
    assert (task.exit["failed"], task.exit["exit_status"]) == (37, 137)
    assert "limit h_vmem" in task.exit["reason"]
    assert task.exit["usage"]["maxvmem"] >= 60_000_000


@pytest.mark.statement("RL-5")
def test_address_space_is_free_under_a_cgroup(root_cell: Cell, memory: dict[str, object]) -> None:
    reserve = "import mmap; mmap.mmap(-1, 2**33); print('reserved')"
    task = root_cell.run(
        command="/usr/bin/python3", args=["-S", "-c", reserve], limits={"h_vmem": 100_000_000, "s_vmem": 90_000_000}, **memory
    )
    assert (task.exit["failed"], task.stdout) == (0, "reserved\n")


@pytest.mark.statement("RL-5")
def test_slots_multiply_the_limit_of_the_cgroup(root_cell: Cell, memory: dict[str, object]) -> None:
    task = root_cell.task(**grow(100_000_000), limits={"h_vmem": 60_000_000}, slots=3, **memory)
    task.start()
    task.wait_output("grown")
    task.command("kill")
    assert "exceeded" not in task.wait()["reason"]


@pytest.mark.statement("RL-5")
def test_s_vmem_warns_under_a_cgroup(root_cell: Cell, memory: dict[str, object]) -> None:
    task = root_cell.run(**grow(80_000_000), limits={"s_vmem": 50_000_000, "h_vmem": 10**9}, **memory)
    assert (task.exit["failed"], task.exit["exit_status"], task.exit["signal"]) == (100, 152, 24)


@pytest.mark.statement("RL-5")
def test_a_job_is_not_run_without_the_limit_that_was_promised(root_cell: Cell) -> None:
    task = root_cell.run("true\n", cgroups=["/proc"], memory_by_cgroup=True, limits={"h_vmem": 10**9})
    assert (task.exit["failed"], task.exit["exit_status"]) == (11, 0)
    assert "can't limit the memory of the job" in task.exit["reason"]


# --- every pair of queue_conf(5), exceeded ------------------------------------------------------------------------

RECURSE = "import sys; sys.setrecursionlimit(10**6); f = lambda n: sorted([n], key=f); f(0)"
BIG = "x = b'1' * 150_000_000"
WRITE = "import signal; signal.signal(25, signal.SIG_DFL); open('big', 'wb').write(bytes(100_000))"
LOOP = "while True: pass"
SLEEP = "import time; time.sleep(1000)"


@pytest.mark.statement("QC-39", "RL-2", "RL-3", "RL-4", "RL-5", "RL-6", "AC-2")
@pytest.mark.parametrize(
    ("limits", "program", "failed", "exit_status"),
    [
        ({"h_rt": 0.3}, SLEEP, 37, 137),
        ({"s_rt": 0.3}, SLEEP, 100, 138),  # SIGUSR1
        ({"h_cpu": 1}, LOOP, 37, 137),
        ({"s_cpu": 1}, LOOP, 100, 152),  # SIGXCPU
        ({"h_fsize": 10_000}, WRITE, 100, 153),  # SIGXFSZ
        ({"s_fsize": 10_000}, WRITE, 100, 153),
        ({"h_data": 100_000_000}, BIG, 0, 1),  # the kernel refuses memory, the program ends by itself
        ({"s_data": 100_000_000}, BIG, 0, 1),
        ({"h_vmem": 100_000_000}, BIG, 0, 1),
        ({"s_vmem": 100_000_000}, BIG, 0, 1),
        ({"h_stack": 300_000}, RECURSE, 100, 139),  # SIGSEGV
        ({"s_stack": 300_000}, RECURSE, 100, 139),
        ({"h_rss": 1_000_000}, BIG, 0, 0),  # Linux does not enforce it
        ({"s_rss": 1_000_000}, BIG, 0, 0),
        ({"h_core": 0}, "import os, resource; assert resource.getrlimit(4) == (0, 0); os.abort()", 100, 134),
        ({"s_core": 0}, "import os, resource; assert resource.getrlimit(4)[0] == 0; os.abort()", 100, 134),
    ],
)
def test_each_limit_exceeded(
    user_cell: Cell, limits: dict[str, float], program: str, failed: int, exit_status: int
) -> None:
    python = {"command": "/usr/bin/python3", "args": ["-S", "-c", program]}
    task = user_cell.run(**python, no_shell=True, limits=limits)
    assert (task.exit["failed"], task.exit["exit_status"]) == (failed, exit_status), task.stderr[-300:]


@pytest.mark.statement("RL-10", "EX-6")
def test_processes_beyond_the_limit_of_the_cgroup_are_refused(root_cell: Cell) -> None:
    """The processes of the task count, not the owner's other processes."""
    if not cgroups().limit_processes:
        needs.skip("the controller pids of cgroups", "run the tests on a machine that mounts it below /sys/fs/cgroup")
    fork = "for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 1000 & done; echo all\n"
    config = {"use_cgroups": True, "processes_by_cgroup": True, "login_shells": []}
    few = root_cell.run(fork, limits={"h_maxproc": 10}, **config)
    assert "fork" in few.stderr and few.stdout == "" and few.exit["exit_status"] != 0
    assert root_cell.run(fork, limits={"h_maxproc": 20}, **config).stdout == "all\n"
    path = few.directory / "cgroup"
    assert not any(Path(line).exists() for line in path.read_text().split())
