"""The launcher: many starts, repeated starts, its own death, the death of shepherds (EX-6, EX-7, EX-9, EX-10)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shepherd.process_tree import start_ticks
from shepherd.usage import EARLY_S
from tests.integration.shepherd.cell import PROJECT, Cell, Client, alive, wait_for
from tests.integration.shepherd.test_signals import family

# a process id that means another process now: process 1 was not started then
OF_ANOTHER_PROCESS = f"1 {(start_ticks(1) or 0) + 1}\n"


def test_hundred_starts_at_once_and_none_lost(cell: Cell) -> None:
    tasks = [cell.task(f"exit {number % 50}\n") for number in range(100)]
    client = tasks[0].client
    requests = [{"op": "start", "directory": str(task.directory)} for task in tasks]
    client.socket.sendall(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
    for task in tasks:
        client.wait_exited(task.directory)
    assert [task.exit["exit_status"] for task in tasks] == [number % 50 for number in range(100)]
    assert client.ask(op="list")["running"] == []


@pytest.mark.statement("EX-6")
def test_commands_right_after_the_start_are_carried_out(cell: Cell) -> None:
    tasks = [cell.task("sleep 1000\n") for number in range(50)]
    client = tasks[0].client
    requests = []
    for task in tasks:
        requests.append({"op": "start", "directory": str(task.directory)})
        requests.append({"op": "signal", "directory": str(task.directory), "command": "terminate"})
    client.socket.sendall(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
    for task in tasks:
        client.wait_exited(task.directory)
        assert (task.exit["failed"], task.exit["exit_status"]) == (100, 137)
        assert "the job was to be deleted" in task.exit["reason"]


@pytest.mark.statement("EX-9")
def test_a_task_is_started_once(cell: Cell) -> None:
    task = cell.task("echo run >>runs; sleep 0.2\n")
    pids = {task.start() for _ in range(3)}
    assert len(pids) == 1
    task.wait()
    assert {task.start()} == pids
    assert task.client.ask(op="list")["running"] == []
    assert (cell.home / "runs").read_text() == "run\n"


def test_ends_are_reported_to_every_connection(cell: Cell) -> None:
    other = Client(cell.spool / "launcher.sock")
    task = cell.run("true\n")
    other.wait_exited(task.directory)
    other.close()


@pytest.mark.parametrize(
    ("request_line", "reason"),
    [
        (b"no json\n", "not a JSON object"),
        (b"[1]\n", "not a JSON object"),
        (b'{"op": "start", "directory": "/etc"}\n', "not a task's directory"),
        (b'{"op": "start"}\n', "not a task's directory"),
        (b'{"op": "dance", "directory": "DIR"}\n', "unknown request"),
        (b'{"op": "signal", "directory": "DIR", "command": "a b"}\n', "is no command"),
        (b'{"op": "signal", "directory": "DIR", "command": "suspend"}\n', "does not run"),
    ],
)
def test_bad_requests_are_refused(user_cell: Cell, request_line: bytes, reason: str) -> None:
    task = user_cell.task("true\n")
    task.client.socket.sendall(request_line.replace(b"DIR", str(task.directory).encode()))
    answer = task.client.receive()
    assert answer["op"] == "failed"
    assert reason in answer["reason"]
    assert task.client.ask(op="list")["running"] == []


def test_socket_is_closed_to_others(cell: Cell) -> None:
    assert (cell.spool / "launcher.sock").stat().st_mode & 0o777 == 0o600


def test_second_launcher_refuses_to_serve(user_cell: Cell) -> None:
    command = [sys.executable, "-m", "shepherd.launcher", str(user_cell.spool)]
    second = subprocess.run(command, env={"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True)
    assert second.returncode == 1
    assert "another launcher" in second.stderr
    assert user_cell.run("true\n").exit["failed"] == 0


@pytest.mark.parametrize("arguments", [[], ["/no/such/spool"]])
def test_wrong_command_lines(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "shepherd.launcher", *arguments]
    result = subprocess.run(command, env={"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True)
    assert result.returncode == (1 if arguments else 2)
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_jobs_outlive_the_launcher_and_are_adopted(cell: Cell, number: int) -> None:
    ending = cell.task("while [ ! -e go ]; do sleep 0.05; done; exit 5\n")
    staying = cell.task("while [ ! -e go2 ]; do sleep 0.05; done; exit 6\n")
    pids = {task.directory: task.start() for task in (ending, staying)}
    ending.job_pid(), staying.job_pid()
    cell.stop_launcher(number)
    (cell.home / "go").touch()
    wait_for((ending.directory / "exit").exists, "a job to end without a launcher")
    assert ending.exit["exit_status"] == 5

    cell.start_launcher()
    assert staying.client.ask(op="list")["running"] == [str(staying.directory)]
    assert {task.directory: task.start() for task in (ending, staying)} == pids
    staying.command("usage")
    wait_for((staying.directory / "usage").exists, "an adopted shepherd to carry out a command")
    (cell.home / "go2").touch()
    assert staying.wait()["exit_status"] == 6


@pytest.mark.statement("EX-7")
@pytest.mark.parametrize("config", [{}, {"gid_range": "40000-40010"}, {"use_cgroups": True}])
def test_killed_shepherd_takes_its_job_along(cell: Cell, config: dict[str, object]) -> None:
    bystander = cell.task("sleep 1000\n", **config)
    bystander.start()
    bystander_pid = bystander.job_pid()
    task, pids = family(cell, **config)
    os.kill(task.start(), signal.SIGKILL)
    assert (task.wait()["failed"], task.exit["exit_status"]) == (100, 137)
    assert "shepherd died" in task.exit["reason"]
    wait_for(lambda: not [pid for pid in pids if alive(pid)], "the job's processes to end")
    assert alive(bystander_pid)


@pytest.mark.statement("EX-7", "EX-10")
def test_the_end_of_a_job_outlives_a_shepherd_that_is_killed_in_the_epilog(cell: Cell) -> None:
    epilog = cell.file("epilog", "#!/bin/sh\ntouch $HOME/epilog\nsleep 1000\n")
    task = cell.task("exit 3\n", epilog=str(epilog))
    pid = task.start()
    wait_for((cell.home / "epilog").exists, "the epilog")
    os.kill(pid, signal.SIGKILL)
    assert (task.wait()["failed"], task.exit["exit_status"]) == (100, 3)
    assert "the shepherd died after the job" in task.exit["reason"]
    assert task.exit["usage"]["ru_maxrss"] > 0


@pytest.mark.statement("EX-7")
def test_killed_shepherd_takes_processes_without_marks_along(cell: Cell) -> None:
    task = cell.task("(env -i setsid sh -c 'echo $$ >daemon; exec sleep 1000' &)\nsleep 1000\n")
    pid = task.start()
    daemon = int(wait_for(lambda: (cell.home / "daemon").exists() and (cell.home / "daemon").read_text(), "a daemon"))
    os.kill(pid, signal.SIGKILL)
    task.wait()
    wait_for(lambda: not alive(daemon), "the daemon to end")


@pytest.mark.statement("EX-7", "EX-9")
@pytest.mark.parametrize("config", [{}, {"gid_range": "40000-40010"}, {"use_cgroups": True}])
def test_killed_shepherd_of_an_earlier_launcher(cell: Cell, config: dict[str, object]) -> None:
    bystander = cell.task("sleep 1000\n", **config)
    bystander.start()
    bystander_pid = bystander.job_pid()
    task, pids = family(cell, **config)
    pid = task.start()
    cell.stop_launcher(signal.SIGKILL)
    cell.start_launcher()
    os.kill(pid, signal.SIGKILL)
    assert task.wait()["failed"] == 100
    wait_for(lambda: not [pid for pid in pids if alive(pid)], "the job's processes to end")
    assert alive(bystander_pid)


@pytest.mark.statement("EX-9", "EX-10")
def test_task_whose_shepherd_died_without_a_launcher_is_finalised_at_the_next_start(cell: Cell) -> None:
    task = cell.task("sleep 1000\n")
    pid = task.start()
    job_pid = task.job_pid()
    cell.stop_launcher(signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), "the shepherd to end")
    cell.start_launcher()
    wait_for((task.directory / "exit").exists, "the exit file")
    assert task.exit["failed"] == 100
    assert task.start() == pid
    wait_for(lambda: not alive(job_pid), "the job to end")


@pytest.mark.statement("EX-10")
def test_task_of_before_a_reboot_is_not_run_again(user_cell: Cell) -> None:
    task = user_cell.task("echo ran\n")
    (task.directory / "pid").write_text(OF_ANOTHER_PROCESS)
    user_cell._give(task.directory / "pid")
    task.start()
    assert task.wait()["failed"] == 18
    assert not Path(task.config["stdout"]).exists()


@pytest.mark.statement("EX-4", "EX-10")
@pytest.mark.parametrize("lost", [("exit",), ("exit", "pid"), ("exit", "pid", "job_end")])
def test_the_end_of_a_job_outlives_the_loss_of_power_that_took_later_files(user_cell: Cell, lost: tuple[str, ...]) -> None:
    task = user_cell.run("echo ran; exit 3\n")
    end = task.exit
    user_cell.stop_launcher()
    if "job_end" not in lost:
        (task.directory / "exit").rename(task.directory / "job_end")
    for path in task.directory.iterdir():
        if path.name in lost:
            path.unlink()
        else:
            os.utime(path, (1.0, 1.0))
    user_cell.start_launcher()
    wait_for((task.directory / "exit").exists, "the exit file")
    if "job_end" in lost:
        assert task.exit["failed"] == 19
    else:
        assert task.exit == end
    task.start()
    assert task.stdout == "ran\n", "it has not begun again"


def test_client_that_does_not_read_is_dropped_and_disturbs_no_other(user_cell: Cell) -> None:
    deaf = Client(user_cell.spool / "launcher.sock")
    deaf.socket.setblocking(False)
    request = b'{"op": "start", "directory": "' + b"x" * 8000 + b'"}\n'
    unsent = 0
    try:
        for _ in range(2000):
            unsent += len(request) - deaf.socket.send(request)
    except OSError:
        pass
    assert user_cell.run("true\n").exit["failed"] == 0
    deaf.close()


def test_group_ids_of_before_a_reboot_are_free_again(root_cell: Cell) -> None:
    root_cell.stop_launcher()
    (root_cell.spool / "addgrpids").mkdir()
    (root_cell.spool / "addgrpids" / "40000").write_text(OF_ANOTHER_PROCESS)
    root_cell.start_launcher()
    assert root_cell.run("true\n", gid_range="40000").exit["failed"] == 0


def test_waiting_shepherd_is_small_and_idle(cell: Cell) -> None:
    task = cell.task("sleep 1000\n", limits={"h_rt": 1000})
    pid = task.start()
    task.job_pid()

    def wakeups() -> list[str]:
        return re.findall(r"ctxt_switches:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())

    wait_for(lambda: "(sleeping)" in Path(f"/proc/{pid}/status").read_text(), "the shepherd to wait")
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    private_kb = sum(int(line.split()[1]) for line in rollup if line.startswith(("Private_Clean", "Private_Dirty")))
    assert private_kb < 12 * 1024
    cell.run("true\n")
    for _ in range(len(EARLY_S) + 1):  # it wakes up each time that its job is measured, however late that is
        before = wakeups()
        for _ in range(3):
            cell.run("sleep 0.3\n")
        if quiet := wakeups() == before:
            break
    assert quiet
