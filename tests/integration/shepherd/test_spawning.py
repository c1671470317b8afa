"""Jobs that are started without a copy of the shepherd: the same to the job, and nothing of its owner's stays with the shepherd
(adr/0122)."""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shepherd import spawning
from shepherd.command_line import CommandLine
from shepherd.containment import Containment, establish
from shepherd.identity import Identity, real_ids
from shepherd.limits import ResourceLimit
from shepherd.plan import Output, Run
from shepherd.process_tree import kill_after
from tests import needs
from tests.integration.debian import need
from tests.integration.shepherd.cell import PROJECT, Cell, cgroups

NOBODY = pwd.getpwnam("nobody")
OWNER = Identity("nobody", NOBODY.pw_uid, NOBODY.pw_gid, (NOBODY.pw_gid, 12345))
LIMITS = [ResourceLimit("fsize", 2**30, None), ResourceLimit("stack", 2**24, None)]
CONTAINED = Containment([], 40000)
PTRACE_ATTACH = 16
#: all that a process can say of itself; not who it is, what it has used, and where its pages are
SHOW = """\
import json, os, resource, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
PREFIXES = ("Cap", "Sig", "Shd", "Uid", "Gid", "Groups", "NoNew", "Sec", "Cpus_", "Umask")
kept = [name for name in status if name.startswith(PREFIXES) and name != "SigQ"]  # which is of all processes of the user
print(json.dumps({name: status[name] for name in kept} | {
    "limits": [resource.getrlimit(kind) for kind in range(16)],
    "session": [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()],
    "files": sorted(os.listdir("/proc/self/fd")), "flags": [os.get_blocking(number) for number in (0, 1, 2)],
    "others": [os.getcwd(), os.getpriority(0, 0), os.sched_getscheduler(0), open("/proc/self/oom_score_adj").read()],
    "owner": os.stat("/proc/self/mem").st_uid,
}, sort_keys=True))
"""


def users_own(cell: Cell, program: str) -> str:
    """A user's copy of a system program: for such programs the shepherd forks."""
    path = cell.home / Path(program).name
    shutil.copy(program, path)
    os.chown(path, cell.user.pw_uid, cell.user.pw_gid)
    return str(path)


def in_a_process(do: Callable[[], object]) -> tuple[int, Any]:
    """The exit status and the output of a process that runs this function, as `subprocess` returns them."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps(do()).encode())
            os._exit(0)
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(99)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(writing)
    os.set_blocking(reading, False)  # a child of that process may have it open still
    try:
        return status, json.loads(os.read(reading, 100_000) or "null")
    except BlockingIOError:
        return status, None
    finally:
        os.close(reading)


def step(program: str = "/bin/true", **changes: Any) -> Run:
    output = Output("/dev/null", "/dev/null", changes.pop("stderr", None))
    return Run("job", CommandLine(program, [program]), output, 11, 0, {}, limits=changes.pop("limits", LIMITS), **changes)


STEPS = [
    step(), step("/bin/no_such"), step(stderr="/no/dir/x"),
    step(limits=[ResourceLimit("core", 7, 7)], last=True),
]


def spawn(run: Run, cwd: str = "/tmp", contained: Containment = CONTAINED) -> int | None:
    return spawning.spawn(run, {}, OWNER, contained, (cwd, 0o077), [signal.SIGPIPE])


def itself() -> dict[str, object]:
    return {
        "ids": [os.getresuid(), os.getresgid(), sorted(os.getgroups())],
        "place": [os.getcwd(), sorted(os.listdir("/proc/self/fd"))],
        "limits": [resource.getrlimit(kind) for kind in range(16)],
        "priority": [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))],
        "cgroups": Path("/proc/self/cgroup").read_text(),
        "umask": next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask")),
    }


# --- the job ------------------------------------------------------------------------------------------------------


@pytest.mark.statement("EX-6", "EX-19", "SO-12", "QC-39")
def test_a_job_is_the_same_however_it_was_started(cell: Cell) -> None:
    limits = {"h_core": 0, "s_stack": 2**23, "h_maxproc": 5000, "h_fsize": None}
    config = {"args": ["-S", "-c", SHOW], "no_shell": True, "limits": limits, "umask": 0o027, "gid_range": "40000-40000"}
    spawned = cell.run(command="/usr/bin/python3", **config)
    forked = cell.run(command=users_own(cell, "/usr/bin/python3"), **config)
    result, expected = json.loads(spawned.stdout), json.loads(forked.stdout)
    for each in result, expected:
        each["SigIgn"] = int(each["SigIgn"], 16) & ~(0b11 << 31)  # 32 and 33 are the C library's own
    assert result == expected
    if cell.as_root:
        uid, gid = cell.user.pw_uid, cell.user.pw_gid
        assert result["Uid"].split() == [str(uid)] * 4 and result["Gid"].split() == [str(gid)] * 4
        assert "40000" in result["Groups"].split() and result["owner"] == uid
    assert not any(int(result[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))


@pytest.mark.parametrize("use_cgroups", [False, True])
def test_a_program_of_the_system_starts_without_a_copy_of_the_shepherd(cell: Cell, use_cgroups: bool) -> None:
    # a job that is reniced must be a copy
    alike = {"no_shell": True, "nice": os.getpriority(os.PRIO_PROCESS, 0), "use_cgroups": use_cgroups}
    spawned = cell.run(command="/bin/true", **alike).exit["usage"]["ru_minflt"]
    forked = cell.run(command=users_own(cell, "/bin/true"), **alike).exit["usage"]["ru_minflt"]
    assert spawned < forked / 2


@pytest.mark.statement("EX-4")
@pytest.mark.parametrize(
    ("config", "failed"),
    [
        ({"cwd": "/no/dir"}, 28),
        ({"stdout": "/no/dir/x"}, 26),
        ({"args": ["x" * 200_000]}, 27),
        ({"environment": {"A": "x\0"}}, 11),
    ],
)
def test_a_failed_start_ends_alike_with_and_without_a_fork(root_cell: Cell, config: dict[str, Any], failed: int) -> None:
    """The texts differ in the stamp and in the program's name alone."""
    ends = []
    for program in ("/bin/true", users_own(root_cell, "/bin/true")):
        end = root_cell.run(command=program, no_shell=True, **config).exit
        ends.append((end["failed"], end["fault"], end["reason"].partition("]: ")[2].replace(program, "PROGRAM")))
    assert ends[0] == ends[1]
    assert ends[0][0] == failed


# --- what may keep waiting ------------------------------------------------------------------------------------------


@pytest.mark.statement("SO-12")
def test_a_pipe_as_input_is_left_to_the_job(cell: Cell) -> None:
    """No other process opens it: the process at the other end would notice."""
    pipe = cell.home / "pipe"
    os.mkfifo(pipe)
    os.chmod(pipe, 0o644)
    task = cell.task(command="/bin/cat", no_shell=True, stdin=str(pipe))
    task.start()
    task.job_pid()
    pipe.write_text("read\n")
    task.wait()
    assert task.stdout == "read\n"


@pytest.mark.statement("QC-27")
def test_a_shepherd_does_not_wait_for_a_pipe_of_the_users(root_cell: Cell) -> None:
    pipe = root_cell.home / "pipe"
    os.mkfifo(pipe)
    os.chown(pipe, root_cell.user.pw_uid, -1)
    task = root_cell.task(command="/bin/true", no_shell=True, stdout=str(pipe))
    task.start()
    task.job_pid()
    task.command("kill")
    assert task.wait(60)["exit_status"] == 137


LEASE = """\
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.pause()
"""


@pytest.mark.statement("QC-27")
def test_a_shepherd_does_not_wait_for_a_program_of_the_users(root_cell: Cell) -> None:
    """A program whose owner can delay its execution, by a lease on it (fcntl(2))."""
    program = users_own(root_cell, "/bin/true")
    owner = {"user": root_cell.user.pw_uid, "group": root_cell.user.pw_gid, "extra_groups": []}
    holder = subprocess.Popen([sys.executable, "-S", "-c", LEASE, program], stdout=subprocess.PIPE, **owner)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        task = root_cell.task(command=program, no_shell=True)
        task.start()
        task.job_pid()
        task.command("kill")
        assert task.wait(40)["exit_status"] == 137  # the kernel lets a lease be for 45 s
    finally:
        holder.kill()
        holder.wait()


# --- the shepherd -----------------------------------------------------------------------------------------------------


@needs.root
@pytest.mark.parametrize("run", STEPS)
@pytest.mark.parametrize("cwd", ["/tmp", "/no/dir", "/root"])
def test_a_shepherd_is_itself_again(run: Run, cwd: str) -> None:
    def play() -> object:
        before = itself()
        pid = spawn(run, cwd)
        after = itself()
        if run.last:  # what it does not feel it keeps
            before["limits"] = after["limits"] = None
        return [pid is not None and os.waitpid(pid, 0)[1], before == after, [before, after]]

    status, (ended, same, states) = in_a_process(play)
    assert status == 0 and same, states
    fails = "no" in run.command.executable + cwd or run.output.stderr is not None or cwd == "/root"
    assert ended == (False if fails else 0)


@needs.root
@pytest.mark.statement("EX-6")
@pytest.mark.parametrize("program", ["/usr/bin/yes", "/bin/no_such"])
def test_a_job_begins_in_the_cgroup_and_its_shepherd_stays_outside(program: str, tmp_path: Path) -> None:
    directory = tmp_path / f"{os.getpid()}.1"
    directory.mkdir()
    contained = establish(directory, cgroups().directories(), None)
    if not contained.cgroups:
        needs.skip("cgroups", "run the tests where /sys/fs/cgroup can be written to")

    def play() -> object:
        os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
        before = itself()
        pid = spawn(step(program), contained=contained)
        held = [list(map(int, (each / "cgroup.procs").read_text().split())) for each in contained.cgroups]
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return [pid is not None, held == [[pid] if pid else []] * len(held), itself() == before, held]

    try:
        status, (started, same, back, held) = in_a_process(play)
        assert status == 0 and back and same, held
        assert started == (program == "/usr/bin/yes")
    finally:
        contained.release(directory)


@needs.root
@pytest.mark.parametrize("call", ["setresuid", "setresgid", "setgroups", "fchdir"])
def test_a_shepherd_that_cannot_be_itself_again_ends(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = getattr(os, call)

    def play() -> object:
        calls = []

        def refused(*arguments: object) -> None:
            calls.append(arguments)
            if len(calls) >= {"fchdir": 1, "setgroups": 4}.get(call, 2):  # those before take something on
                raise OSError(1, call)
            done(*arguments)

        monkeypatch.setattr(os, call, refused)
        spawn(step())
        return "it went on"

    assert in_a_process(play) == (1, None)


@contextmanager
def having_real_ids() -> Iterator[int]:
    """A process that stops at the moment in which it has the real ids of nobody."""
    heard, hear = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with real_ids(OWNER, None):
                os.write(hear, b".")
                signal.pause()
        finally:
            os._exit(1)
    try:
        os.read(heard, 1)
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(heard)
        os.close(hear)


def as_nobody(do: Callable[[], object]) -> Any:
    def play() -> object:
        os.setgroups([])
        os.setresgid(NOBODY.pw_gid, NOBODY.pw_gid, NOBODY.pw_gid)
        os.setresuid(NOBODY.pw_uid, NOBODY.pw_uid, NOBODY.pw_uid)
        return do()

    status, result = in_a_process(play)
    assert status == 0
    return result


def denied(call: Callable[[], object]) -> bool:
    try:
        call()
    except PermissionError:
        return True
    return False


@needs.root
@pytest.mark.statement("EX-19")
def test_the_owner_reaches_a_shepherd_with_their_real_ids_by_signals_alone() -> None:
    def attach(pid: int) -> None:
        if ctypes.CDLL(None).ptrace(PTRACE_ATTACH, pid, None, None) != 0:
            raise PermissionError

    def attack(pid: int) -> object:
        return {
            "memory": denied(lambda: Path(f"/proc/{pid}/mem").read_bytes()),
            "files": denied(lambda: os.listdir(f"/proc/{pid}/fd")),
            "trace": denied(lambda: attach(pid)),
            "limits": denied(lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))),
            "priority": denied(lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)),
            "scheduler": denied(lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))),
            "processors": denied(lambda: os.sched_setaffinity(pid, [0])),
            "signals": denied(lambda: os.kill(pid, signal.SIGCONT)),
        }

    with having_real_ids() as pid:
        assert [what for what, refused in as_nobody(lambda: attack(pid)).items() if not refused] == ["signals"]


def test_a_shepherd_that_is_stopped_is_killed() -> None:
    def stopped() -> object:
        with kill_after(0.2):
            os.kill(os.getpid(), signal.SIGSTOP)
        return "it went on"

    assert in_a_process(stopped) == (-signal.SIGKILL, None)


def test_a_shepherd_whose_job_is_kept_from_its_program_is_killed(tmp_path: Path) -> None:
    """The process waits uninterruptibly for its child, which waits for a reader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def kept() -> object:
        with kill_after(0.2):
            actions = [(os.POSIX_SPAWN_OPEN, 1, str(pipe), os.O_WRONLY, 0)]
            os.posix_spawn("/bin/true", ["true"], {}, file_actions=actions, setsigmask=())
        return "it went on"

    try:
        assert in_a_process(kept) == (-signal.SIGKILL, None)
    finally:
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))  # lets the child go


def test_a_start_that_goes_on_outlives_its_timer() -> None:
    def in_time() -> object:
        with kill_after(2):
            pass
        return signal.sigtimedwait([], 2.5) is None

    assert in_a_process(in_time) == (0, True)


AMBIENT = """\
from shepherd.process_tree import drop_ambient_capabilities
print(open("/proc/self/status").read().count("CapAmb:\\t0000000000000001"))
drop_ambient_capabilities()
print(open("/proc/self/status").read().count("CapAmb:\\t0000000000000000"))
"""


@needs.root
def test_ambient_capabilities_of_the_launcher_reach_no_job() -> None:
    """A process that keeps root as effective user id keeps them, too, and so do programs that it executes."""
    need("setpriv")
    given = ["setpriv", "--inh-caps", "+chown", "--ambient-caps", "+chown", sys.executable, "-c", AMBIENT]
    assert subprocess.check_output(given, cwd=PROJECT, text=True).split() == ["1", "1"]
