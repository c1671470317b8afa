"""One shepherd for several tasks: its initial state, its end, and kills at any moment (ADR 155)."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shepherd import process_tree, task_files
from shepherd.process_baseline import UMASK, ProcessBaseline
from shepherd.run import BLOCKED
from tests import needs
from tests.integration.shepherd.cell import NICER, Cell, Task, alive, wait_for
from tests.integration.shepherd.test_spawning import SHOW

Json = dict[str, Any]


def run(cell: Cell, script: str | None = "true\n", **config: Any) -> tuple[int, Task]:
    """A task from its start to its end, as the execd has it run; the process id of its shepherd first."""
    task = cell.task(script, **config)
    pid = task.start(config.get("owner", cell.user.pw_name))
    task.wait()
    return pid, task


def tasks_run(cell: Cell) -> list[str]:
    path = cell.home / "runs"
    return path.read_text().split() if path.exists() else []


def waiting(cell: Cell) -> int:
    """A shepherd that waits for a task."""
    return run(cell)[0]


def held(pid: int) -> None:
    """Stop a process, and wait until it is stopped."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: process_tree.stat_fields(pid)[0] == b"T", "the shepherd to stop")  # type: ignore[index]


@pytest.mark.statement("EX-6", "EX-9")
def test_a_shepherd_runs_task_after_task(cell: Cell) -> None:
    found = [run(cell, f"exit {number}\n") for number in range(5)]
    assert len({pid for pid, _ in found}) == 1
    assert [task.exit["exit_status"] for _, task in found] == list(range(5))
    for pid, task in found:
        assert task_files.read_process(task.directory / "pid") == (pid, process_tree.start_ticks(pid))
    assert cell.client is not None and cell.client.ask(op="list")["running"] == []


SCRIPTS = {
    "leaves a file open": "exec 7>>mine; echo open >&7\n",
    "leaves a process": "sleep 100 &\n",
    "is careless": "umask 0; cd /tmp; trap '' TERM; ulimit -c 0 -n 50; exit 7\n",
    "says much": "echo out; echo err >&2\n",
    "is less important": "renice -n 5 $$ >/dev/null; exit 1\n",
}


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(sorted(SCRIPTS)), min_size=1, max_size=3))
def test_a_job_finds_what_it_would_find_with_a_new_shepherd(cell: Cell, names: list[str]) -> None:
    """Ids, limits, signals, descriptors, directory, umask, processors, priority: all that a process can say of itself."""
    cell.home.joinpath("show").write_text(SHOW)
    show = {"command": sys.executable, "args": ["-S", str(cell.home / "show")], "umask": 0o027}
    fresh = cell.run(None, **show).stdout
    pids = {run(cell, SCRIPTS[name])[0] for name in names}
    pid, task = run(cell, None, **show)
    assert task.stdout == fresh
    assert pid in pids


def shown() -> Json:
    """Properties of this process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    kept = ("Uid", "Gid", "Groups", "Umask", "SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd", "CapEff", "CapAmb", "Cpus_allowed")
    return {name: status[name] for name in kept} | {
        "limits": [resource.getrlimit(kind) for kind in range(16)],
        "files": sorted(os.listdir("/proc/self/fd"), key=int)[:-1],
        "others": [os.getcwd(), os.getpriority(0, 0), os.sched_getscheduler(0), Path("/proc/self/oom_score_adj").read_text()],
        "session": [os.getsid(0), os.getpgrp()],
        "cgroup": Path("/proc/self/cgroup").read_text(),
        "environment": sorted(os.environ.items()),
    }


def _lower(kind: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (1000, hard))


def _leave_child() -> None:
    if os.fork() == 0:
        signal.pause()


CHANGES: dict[str, Callable[[], object]] = {
    "umask": lambda: os.umask(0),
    "directory": lambda: os.chdir("/tmp"),
    "descriptor": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "far descriptor": lambda: os.dup2(0, 800),
    "inherited descriptor": lambda: os.dup2(0, 5, inheritable=True),
    "mask": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH}),
    "unblocked": lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1}),
    "pending": lambda: os.kill(os.getpid(), signal.SIGUSR2),
    "pending command": lambda: os.kill(os.getpid(), signal.SIGRTMIN),
    **{f"limit {kind}": lambda kind=kind: _lower(kind) for kind in (0, 2, 3, 4, 6, 7, 8, 10)},
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, NICER),
    "scheduler": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
    "groups": lambda: os.setgroups([12345]) if os.geteuid() == 0 else None,
    "effective group": lambda: os.setegid(12345) if os.geteuid() == 0 else None,
    "real user": lambda: os.setresuid(12345, -1, -1) if os.geteuid() == 0 else None,
    "child": _leave_child,
}


@settings(max_examples=60)
@given(names=st.lists(st.sampled_from(sorted(CHANGES)), unique=True))
def test_a_process_is_what_it_was_or_ends(names: list[str]) -> None:
    def change() -> tuple[bool, Json, Json]:
        os.closerange(3, 1000)
        kept = os.open("/dev/null", os.O_RDONLY)
        line = os.dup2(kept, 6)
        signal.pthread_sigmask(signal.SIG_SETMASK, BLOCKED)
        os.umask(UMASK)
        os.chdir("/")
        before, process_baseline = shown(), ProcessBaseline(BLOCKED, {kept})
        for name in names:
            CHANGES[name]()
        is_restored = process_baseline.restore({line})
        after = shown() if is_restored else {}
        process_tree.kill_tree(os.getpid())
        return is_restored, before, after

    status, output = in_a_process(lambda: json.dumps(change()))
    assert status == 0
    is_restored, before, after = json.loads(output)
    beyond = {"priority", "scheduler", "groups", "effective group", "real user", "child"}
    if os.geteuid() != 0:
        beyond -= {"groups", "effective group", "real user"}
    assert is_restored == (not beyond.intersection(names))
    if is_restored:
        assert after == before


def in_a_process(do: Callable[[], str]) -> tuple[int, str]:
    """The exit status and the output of a process that runs this function, on standard output, since it closes all other
    descriptors."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(writing, 1)
            os.write(1, do().encode())
            os._exit(0)
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output


@needs.root
def test_nothing_of_one_owner_is_near_the_tasks_of_another(root_cell: Cell) -> None:
    """Each user has shepherds of their own, even when a shepherd of the other user waits."""
    first, _ = run(root_cell)
    other = {"owner": "daemon", "uid": 1, "gid": 1, "groups": [1], "cwd": "/tmp", "stdout": "/dev/null", "stderr": "/dev/null"}
    second, task = run(root_cell, **other)
    assert (task.exit["failed"], second != first) == (0, True), task.exit
    assert run(root_cell)[0] == first
    assert run(root_cell, **other)[0] == second


@needs.root
def test_a_shepherd_leaves_the_task_of_another_owner_alone(root_cell: Cell) -> None:
    """Any report to the launcher."""
    first = waiting(root_cell)
    task = root_cell.task("true\n", owner="daemon", uid=1, gid=1, groups=[1], cwd="/tmp", stdout="/dev/null", stderr="/dev/null")
    assert task.start(root_cell.user.pw_name) == first
    assert task.wait()["failed"] == 0
    assert task_files.read_process(task.directory / "pid")[0] != first  # type: ignore[index]
    wait_for(lambda: not alive(first), "the shepherd to end")


@pytest.mark.parametrize(
    "config",
    [{"prolog": "/bin/true"}, {"epilog": "/bin/true"}, {"limits": {"h_rt": 100}}, {"processors": [0]}, {"cwd": "/gone"}],
    ids=lambda config: next(iter(config)),
)
def test_after_anything_but_a_plain_task_it_ends(root_cell: Cell, config: Json) -> None:
    pid, _ = run(root_cell, **config)
    wait_for(lambda: not alive(pid), "the shepherd to end")
    assert waiting(root_cell) != pid


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize("command", ["usage", "terminate", "nice=3"])
def test_after_a_command_it_ends(cell: Cell, command: str) -> None:
    waited = waiting(cell)
    task = cell.task("while [ ! -e go ]; do sleep 0.02; done\n")
    assert task.start(cell.user.pw_name) == waited
    task.job_pid()
    task.command(command)
    wait_for(lambda: f"command {command}" in task.trace, "the command to be carried out")
    (cell.home / "go").touch()
    assert task.wait()["failed"] == (100 if command == "terminate" else 0)
    wait_for(lambda: not alive(waited), "the shepherd to end")


@pytest.mark.statement("EX-6")
def test_a_command_right_after_the_start_is_for_the_new_task(cell: Cell) -> None:
    waited = waiting(cell)
    task = cell.task("sleep 1000\n")
    held(waited)
    assert task.start(cell.user.pw_name) == waited
    task.command("terminate")
    os.kill(waited, signal.SIGCONT)
    assert task.wait()["exit_status"] == 137


def test_limits_of_one_task_are_not_those_of_the_next(cell: Cell) -> None:
    """Where root may not raise limits, a shepherd takes only tasks with the same limits."""
    script = "ulimit -p; ulimit -n\n"
    free = cell.run(script).stdout
    limited = {"h_maxproc": 5000, "h_descriptors": 400}
    first = run(cell, script, limits=limited)[1]
    again, after = run(cell, script, limits=limited)[1], run(cell, script)[1]
    assert (first.stdout, again.stdout, after.stdout) == ("5000\n400\n", "5000\n400\n", free)


# --- kills ------------------------------------------------------------------------------------------------------------


@pytest.mark.statement("EX-9")
def test_killing_a_waiting_shepherd_loses_no_task(cell: Cell) -> None:
    waited = waiting(cell)
    os.kill(waited, signal.SIGKILL)
    _, task = run(cell, "echo run >>runs\n")
    assert (task.exit["failed"], tasks_run(cell)) == (0, ["run"])
    assert task_files.read_process(task.directory / "pid")[0] != waited  # type: ignore[index]


@pytest.mark.statement("EX-9")
def test_a_task_runs_although_its_shepherd_was_killed_before_claiming_the_task(cell: Cell) -> None:
    waited = waiting(cell)
    held(waited)
    task = cell.task("echo run >>runs\n")
    assert task.start(cell.user.pw_name) == waited
    os.kill(waited, signal.SIGKILL)
    assert (task.wait()["failed"], tasks_run(cell)) == (0, ["run"])
    assert task_files.read_process(task.directory / "pid")[0] != waited  # type: ignore[index]


@pytest.mark.statement("EX-9", "EX-10")
def test_the_second_task_of_one_that_is_killed_is_finalised(cell: Cell) -> None:
    waited = waiting(cell)
    task = cell.task("echo run >>runs; sleep 1000\n")
    assert task.start(cell.user.pw_name) == waited
    wait_for(lambda: tasks_run(cell), "the job to run")
    job_pid = task.job_pid()
    os.kill(waited, signal.SIGKILL)
    assert (task.wait()["failed"], tasks_run(cell)) == (100, ["run"])
    assert not alive(job_pid)


@pytest.mark.statement("EX-9")
def test_waiting_shepherds_end_with_the_launcher(cell: Cell) -> None:
    waited = waiting(cell)
    cell.stop_launcher(signal.SIGKILL)
    wait_for(lambda: not alive(waited), "the shepherd to end")
    cell.start_launcher()
    assert waiting(cell) != waited


@pytest.mark.statement("EX-9")
def test_a_launcher_that_dies_with_a_task_just_given_away(cell: Cell) -> None:
    """The launcher offers the task to the next shepherd; the first shepherd, which wakes up late, finds that the task is
    taken."""
    waited = waiting(cell)
    held(waited)
    task = cell.task("echo run >>runs; while [ ! -e go ]; do sleep 0.02; done\n")
    assert task.start(cell.user.pw_name) == waited
    cell.stop_launcher(signal.SIGKILL)
    cell.start_launcher()
    pid = task.start(cell.user.pw_name)
    wait_for(lambda: tasks_run(cell), "the job to run")
    os.kill(waited, signal.SIGCONT)
    wait_for(lambda: not alive(waited), "the shepherd to end")
    assert not (task.directory / "exit").exists()
    (cell.home / "go").touch()
    assert (task.wait()["failed"], tasks_run(cell), pid != waited) == (0, ["run"], True)


@pytest.mark.statement("EX-9")
def test_a_shepherd_that_outlives_its_launcher_ends_after_its_task(cell: Cell) -> None:
    waited = waiting(cell)
    task = cell.task("while [ ! -e go ]; do sleep 0.02; done\n")
    assert task.start(cell.user.pw_name) == waited
    task.job_pid()
    cell.stop_launcher(signal.SIGKILL)
    cell.start_launcher()
    assert task.start(cell.user.pw_name) == waited, "it is adopted"
    (cell.home / "go").touch()
    assert task.wait()["failed"] == 0
    wait_for(lambda: not alive(waited), "the shepherd to end")


@pytest.mark.statement("EX-9")
def test_kills_at_any_moment_lose_no_task_and_run_none_twice(cell: Cell) -> None:
    """Shepherds that wait, start, run or end are killed while tasks come; tasks that had started may fail, once each."""
    draw = random.Random(1)
    tasks = [cell.task(f"echo {number} >>runs\n") for number in range(30)]
    for task in tasks:
        pid = task.start(cell.user.pw_name)
        if draw.random() < 0.5 and alive(pid):
            for _ in range(draw.randrange(2000)):
                pass
            with suppress(ProcessLookupError):  # it was faster
                os.kill(pid, signal.SIGKILL)
        if draw.random() < 0.7:
            task.wait()
    for task in tasks:
        wait_for((task.directory / "exit").exists, "the end")
    runs = tasks_run(cell)
    assert len(runs) == len(set(runs))
    fine = {str(number) for number, task in enumerate(tasks) if task.exit["failed"] == 0}
    assert fine <= set(runs)
    assert {task.exit["failed"] for task in tasks} <= {0, 4, 18, 100}


def test_a_waiting_shepherd_ends_at_a_signal(cell: Cell) -> None:
    waited = waiting(cell)
    os.kill(waited, signal.SIGTERM)
    wait_for(lambda: not alive(waited), "the shepherd to end")
    assert waiting(cell) != waited
