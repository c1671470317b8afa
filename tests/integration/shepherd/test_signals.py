"""Commands on running jobs: suspend, resume, terminate, kill, signals, notification, methods (EX-6, QC-27, QC-29)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from shepherd.process_tree import descendants
from tests.integration.shepherd.cell import NICER, Cell, Task, alive, wait_for

# The job, a child in its session, one in another session, and a daemonised grandchild: each writes its process id.
FAMILY = """
sleep 1000 & echo $! >>pids
setsid sh -c 'echo $$ >>pids; exec sleep 1000' &
(setsid sh -c '(echo $$; sh -c "echo \\$PPID") >/dev/null; sleep 1000 & echo $! >>pids' &)
echo $$ >>pids
while [ $(wc -l <pids) -lt 4 ]; do sleep 0.02; done
echo ready
exec sleep 1000
"""
# Waits without children: a shell whose child is stopped between vfork and exec is not in state T itself. And never for long: a
# signal that comes just before the shell reads does not end its reading. `read -t` is bash's.
TRAPS = """
trap 'echo usr1' USR1; trap 'echo usr2' USR2; trap 'echo term; exit 7' TERM; trap 'echo xcpu' XCPU
mkfifo never; exec 3<>never
echo ready
while :; do read -t 1 line <&3; done
"""


def family(cell: Cell, **config: object) -> tuple[Task, list[int]]:
    """A running job of four processes and their ids."""
    task = cell.task(FAMILY, **config)
    task.start()
    task.wait_output("ready")
    task.job_pid()
    return task, [int(line) for line in (cell.home / "pids").read_text().split()]


def states(pids: list[int]) -> set[str]:
    return {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids}


def trapping(cell: Cell, **config: object) -> Task:
    task = cell.task(TRAPS, shell="/bin/bash", **config)
    task.start()
    task.wait_output("ready")
    return task


@pytest.mark.statement("EX-6")
def test_suspend_and_resume_reach_all_processes(cell: Cell) -> None:
    task, pids = family(cell)
    for _ in range(2):
        task.command("suspend")
        wait_for(lambda: states(pids) == {"T"}, "all processes to be stopped")
        task.command("resume")
        wait_for(lambda: "T" not in states(pids), "all processes to be continued")
    task.command("terminate")
    assert task.wait()["exit_status"] == 137


@pytest.mark.statement("EX-6", "EX-7", "SO-46")
@pytest.mark.parametrize("command", ["terminate", "kill"])
@pytest.mark.parametrize("suspended", [False, True])
def test_terminate_ends_all_processes(cell: Cell, command: str, suspended: bool) -> None:
    task, pids = family(cell)
    if suspended:
        task.command("suspend")
        wait_for(lambda: states(pids) == {"T"}, "all processes to be stopped")
    task.command(command)
    assert (task.wait()["failed"], task.exit["exit_status"], task.exit["signal"]) == (100, 137, 9)
    assert not [pid for pid in pids if alive(pid)]


@pytest.mark.statement("EX-7")
def test_processes_left_behind_are_ended(cell: Cell) -> None:
    epilog = cell.file("epilog", "#!/bin/sh\nfor pid in $(cat $HOME/pids); do kill -0 $pid && exit 1; done; exit 0\n")
    task = cell.run(FAMILY.replace("exec sleep 1000", "exit 2"), epilog=str(epilog))
    assert (task.exit["failed"], task.exit["exit_status"]) == (0, 2)
    assert not [pid for pid in (cell.home / "pids").read_text().split() if alive(int(pid))]


@pytest.mark.statement("EX-6", "EX-7")
@pytest.mark.parametrize("mechanism", [{"use_cgroups": True}, {"gid_range": "40000-40010"}])
def test_processes_are_held_by_cgroup_or_group(root_cell: Cell, mechanism: dict[str, object]) -> None:
    task, pids = family(root_cell, **mechanism)
    if "use_cgroups" in mechanism:
        cgroups = (task.directory / "cgroup").read_text().split()
        members = Path(cgroups[0]) / "cgroup.procs"
        wait_for(lambda: set(map(int, members.read_text().split())) == set(pids), "the cgroup to hold the job's processes")
    else:
        cgroups = []
        gid = (task.directory / "addgrpid").read_text().strip()
        for pid in pids:
            assert gid in next(
                line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Groups:")
            )
    task.command("suspend")
    wait_for(lambda: states(pids) == {"T"}, "all processes to be stopped")
    task.command("terminate")
    task.wait()
    assert not [pid for pid in pids if alive(pid)]
    assert not [cgroup for cgroup in cgroups if Path(cgroup).exists()]
    assert not list((root_cell.spool / "addgrpids").glob("*"))


def test_group_ids_are_given_once_at_a_time(root_cell: Cell) -> None:
    sleeping = {"command": "sleep", "args": ["1000"], "gid_range": "40000-40001"}
    tasks = [root_cell.task(**sleeping) for _ in range(3)]
    for task in tasks:
        task.start()
    failed = wait_for(lambda: [task for task in tasks if (task.directory / "exit").exists()], "one to fail")[0]
    assert failed.exit["failed"] == 38
    files = [task.directory / "addgrpid" for task in tasks if task is not failed]
    wait_for(lambda: all(file.exists() and file.read_text() for file in files), "the others' group ids")
    assert {file.read_text() for file in files} == {"40000\n", "40001\n"}


@pytest.mark.statement("EX-7")
def test_daemons_of_pe_start_outlive_the_job_but_not_the_task(cell: Cell) -> None:
    start = cell.file("up", "#!/bin/sh\nsetsid sleep 1000 & echo $! >$HOME/daemon\n")
    stop = cell.file("down", "#!/bin/sh\nkill -0 $(cat $HOME/daemon) && echo there\n")
    task = cell.run("sleep 1000 & true\n", pe_start=str(start), pe_stop=str(stop))
    assert task.stdout == "there\n"
    assert not alive(int((cell.home / "daemon").read_text()))


@pytest.mark.statement("EX-7")
def test_processes_that_fork_faster_than_they_are_killed(cell: Cell) -> None:
    # a shell that can no longer fork ends by itself: the job's own only waits
    bomb = "(while :; do (sh -c 'while :; do (sleep 1000 &); done' &) ; done) & echo $$ >pids; exec sleep 1000"
    task = cell.task(f"{bomb}\n", limits={"h_maxproc": threads_of(cell.user.pw_uid) + 300})
    task.start()
    wait_for(lambda: (cell.home / "pids").exists(), "the job")
    wait_for(lambda: len(descendants(task.start())) > 100, "it to grow")
    task.command("terminate")
    assert task.wait()["exit_status"] == 137
    assert not [pid for pid in _processes_of(task) if alive(pid)]


def threads_of(uid: int) -> int:
    """The threads of a user, which the kernel counts against h_maxproc: a cell that the same user tests has hundreds."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == uid:
                count += len(os.listdir(process / "task"))
        except OSError:
            continue
    return count


def _processes_of(task: Task) -> list[int]:
    mark = f"SGE_JOB_SPOOL_DIR={task.directory}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.statement("EX-6")
def test_any_signal_can_be_sent(cell: Cell) -> None:
    task = trapping(cell)
    for name, shown in [("usr1", "usr1"), ("SIGUSR2", "usr2"), ("24", "xcpu")]:
        task.command(name)
        task.wait_output(shown)
    task.command("nosuchsignal")
    task.command("term")
    assert task.wait()["exit_status"] == 7
    assert "nosuchsignal" in task.trace


@pytest.mark.statement("QC-29", "SO-21")
def test_notification_before_kill_and_stop(cell: Cell) -> None:
    task = trapping(cell, notify_s=1.0)
    pid = task.job_pid()
    task.command("suspend")
    wait_for(lambda: states([pid]) == {"T"}, "the job to be stopped")
    wait_for(lambda: re.search("signal 10 to [1-9].*signal 19 to [1-9]", task.trace, re.DOTALL), "both signals, in this order")
    task.command("resume")
    wait_for(lambda: states([pid]) != {"T"}, "the job to be continued")
    task.wait_output("usr1")
    task.command("kill")
    task.wait()
    task = trapping(cell, notify_s=5)
    task.command("terminate")
    task.wait_output("usr2")
    assert task.wait()["exit_status"] == 137


@pytest.mark.statement("RL-9")
def test_notification_signals_can_be_changed_or_switched_off(cell: Cell) -> None:
    task = trapping(cell, notify_s=1000, notify_kill="TERM", notify_susp="none")
    pid = task.job_pid()
    task.command("suspend")
    wait_for(lambda: states([pid]) == {"T"}, "the job to be stopped at once")
    task.command("terminate")
    assert task.wait()["exit_status"] == 7
    assert "usr" not in task.stdout


@pytest.mark.statement("QC-27")
def test_methods_that_are_signals(cell: Cell) -> None:
    task = trapping(cell, suspend_method="SIGUSR1", resume_method="12", terminate_method="SIGTERM", queue_notify_s=1000)
    task.command("suspend")
    task.wait_output("usr1")
    task.command("resume")
    task.wait_output("usr2")
    task.command("terminate")
    assert task.wait()["exit_status"] == 7


@pytest.mark.statement("QC-27", "QC-28")
def test_methods_that_are_commands(cell: Cell) -> None:
    script = cell.file("method", '#!/bin/sh\necho "$1 of $JOB_ID" >>$HOME/methods; kill -$2 $3\n')
    methods = {
        "suspend_method": f"{script} suspend USR1 $job_pid",
        "resume_method": f"{script} resume USR2 $job_pid",
        "terminate_method": f"{script} terminate TERM $job_pid",
    }
    task = trapping(cell, queue_notify_s=1000, **methods)
    task.command("suspend")
    task.wait_output("usr1")
    task.command("resume")
    task.wait_output("usr2")
    task.command("terminate")
    assert task.wait()["exit_status"] == 7
    assert (cell.home / "methods").read_text() == "suspend of 1\nresume of 1\nterminate of 1\n"


@pytest.mark.statement("QC-27")
@pytest.mark.parametrize(("path", "why"), [("/no/method", "No such file or directory"), ("/etc/passwd", "Permission denied")])
def test_methods_that_cannot_be_executed_are_reported_and_replaced(cell: Cell, path: str, why: str) -> None:
    methods = {f"{name}_method": path for name in ("suspend", "resume", "terminate")}
    task = trapping(cell, queue_notify_s=1000, **methods)
    pid = task.job_pid()
    task.command("suspend")
    wait_for(lambda: states([pid]) == {"T"}, "the job to be stopped")
    task.command("resume")
    wait_for(lambda: states([pid]) != {"T"}, "the job to go on")
    task.command("terminate")
    assert task.wait()["exit_status"] == 137
    faults = (task.directory / "faults").read_text()
    assert [f"can't execute {name} {path}: {why}" in faults for name in methods] == [True] * 3


@pytest.mark.statement("QC-27")
def test_methods_that_fail_are_reported(cell: Cell) -> None:
    script = cell.file("method", "#!/bin/sh\nexit 3\n")
    task = trapping(cell, suspend_method=str(script))
    task.command("suspend")
    wait_for(lambda: "suspend_method ended with exit status 3" in task.trace, "the method to end")
    task.command("kill")
    task.wait()
    assert (task.directory / "faults").read_text() == "suspend_method ended with exit status 3\n"


@pytest.mark.statement("EX-6")
def test_suspended_before_the_job_starts(cell: Cell) -> None:
    prolog = cell.file("prolog", "#!/bin/sh\ntouch $HOME/prolog\nwhile [ ! -e $HOME/go ]; do sleep 0.05; done\n")
    task = cell.task("echo ran\n", prolog=str(prolog))
    task.start()
    wait_for((cell.home / "prolog").exists, "the prolog")
    task.command("suspend")
    wait_for(lambda: "signal 19 to" in task.trace, "the prolog to be stopped")
    (cell.home / "go").touch()
    task.command("resume")
    assert task.wait()["failed"] == 0
    assert task.stdout == "ran\n"


@pytest.mark.statement("EX-6", "EX-1")
def test_terminate_in_the_prolog_skips_the_job_but_not_the_epilog(cell: Cell) -> None:
    prolog = cell.file("prolog", "#!/bin/sh\ntouch $HOME/prolog\nsleep 1000\n")
    task = cell.task("echo ran\n", prolog=str(prolog), epilog="/bin/echo epilog")
    task.start()
    wait_for((cell.home / "prolog").exists, "the prolog")
    task.command("terminate")
    assert (task.wait()["failed"], task.exit["exit_status"], task.exit["start_time"]) == (100, 137, 0)
    assert task.stdout == "epilog\n"


@pytest.mark.statement("EX-6")
def test_terminate_does_not_interrupt_the_epilog(cell: Cell) -> None:
    epilog = cell.file("epilog", "#!/bin/sh\ntouch $HOME/epilog\nwhile [ ! -e $HOME/go ]; do sleep 0.05; done\n")
    task = cell.task("exit 3\n", epilog=str(epilog))
    task.start()
    wait_for((cell.home / "epilog").exists, "the epilog")
    task.command("terminate")
    wait_for(lambda: "left alone" in task.trace, "the command")
    (cell.home / "go").touch()
    os.chown(cell.home / "go", cell.user.pw_uid, cell.user.pw_gid)
    assert (task.wait()["failed"], task.exit["exit_status"]) == (0, 3)


@pytest.mark.statement("PR-10")
def test_nice_value_of_all_processes(cell: Cell) -> None:
    task = cell.task("sleep 1000 &\necho $!\necho ready\nwait\n")
    task.start()
    task.wait_output("ready")
    pids = [int(task.stdout.split()[0]), task.job_pid()]
    task.command(f"nice={NICER}")
    wait_for(lambda: {os.getpriority(os.PRIO_PROCESS, pid) for pid in pids} == {NICER}, "the nice value")
    task.command("kill")
    task.wait()


@pytest.mark.statement("EX-8")
def test_usage_on_request(cell: Cell) -> None:
    busy = "import time\nx = bytearray(50_000_000)\nwhile time.process_time() < 0.3: pass\nprint('ready', flush=True)\n"
    task = cell.task(command="/usr/bin/python3", args=["-S", "-c", busy + "time.sleep(1000)"])
    task.start()
    task.wait_output("ready")
    path = task.directory / "usage"
    task.command("usage")
    wait_for(path.exists, "the usage file")
    first = json.loads(path.read_text())
    assert 0.25 <= first["cpu"] < 10
    assert 50_000_000 <= first["vmem"] == first["maxvmem"]
    assert 50_000_000 <= first["rss"] < first["vmem"]
    path.unlink()
    task.command("usage")
    wait_for(path.exists, "the usage file again")
    assert json.loads(path.read_text())["mem"] > 0
    task.command("kill")
    usage = task.wait()["usage"]
    assert usage["maxvmem"] == first["maxvmem"]
    assert usage["cpu"] >= 0.25
    assert usage["ru_utime"] + usage["ru_stime"] <= usage["cpu"] + 1e-6


@pytest.mark.statement("EX-8")
def test_usage_includes_daemonised_children(cell: Cell) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass\nopen('burnt','w')"
    script = f'(setsid /usr/bin/python3 -S -c "{burn}" &)\nwhile [ ! -e burnt ]; do sleep 0.05; done; sleep 0.1\n'
    task = cell.run(script)
    assert task.exit["usage"]["cpu"] >= 0.3
    if cell.as_root:  # the bytes that a process has moved are root's to read
        assert task.exit["usage"]["io"] > 0
