"""Cells that integration tests run on: how they are made, driven and removed.

Owns the two kinds of cells behind the fixtures of `conftest.py`. Tests use the installed commands, never the code.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clients.admin.free_ports import free_cell_ports
from daemons.execd.cgroups import directory_of
from tests.integration import debian
from tests.needs import need_open_checkout

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.prefix) / "bin"
TESTBED = ROOT / "tests" / "testbed"
#: the system's interpreter, which every user of a host may run; one of a developer's own may lie in his home
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else getattr(sys, "_base_executable", sys.executable)
#: another one keeps the installations of checkouts of different ages apart
TEST_PREFIX = Path(os.environ.get("GRIDENGINE_TEST_PREFIX", "/opt/gridengine-test"))

#: What jobs behind a gate wait for; all hosts of the test bed see it.
GATE = Path("/var/tmp/gridengine-test-gate")

#: What has not happened after this time, in seconds, will not happen; a machine that others load too takes its time.
PATIENCE_S = 120.0
#: between two questions whether it has happened, at first and after some seconds
_ASKED_S = (0.1, 1.0)

#: A command that has not ended after this time, in seconds, hangs: longer than a daemon may take to start.
COMMAND_S = 240.0

WAITS = r'waiting for the qmaster on host ".*", which does not answer; running jobs go on\n'

#: ports that are taken together
_BLOCK = 64
_held_ports: list[socket.socket] = []
#: what failed tests show: see `evidence`
running_cells: list[DemoCell | TestbedCell] = []
_LAST_LINES, _EVIDENCE_S = 25, 20.0

Done = subprocess.CompletedProcess[str]


def eventually(what: str, condition: Callable[[], object]) -> None:
    """Wait until `condition` is true; AssertionError when it is not within PATIENCE_S.

    Each check costs a command, and slow checks lack processor time: the longer a check takes, the less often it is repeated.
    """
    begun = time.monotonic()
    while not condition():
        waited = time.monotonic() - begun
        assert waited < PATIENCE_S, f"waited {PATIENCE_S:.0f} s in vain until {what}"
        time.sleep(min(max(_ASKED_S[0], waited / 7), _ASKED_S[1]))


def run(command: list[str], **options: object) -> Done:
    """Run a command and return its output, whatever its exit code is; `without_waits` removes the line about waiting."""
    if "user" in options:
        need_open_checkout()
    settings = {"capture_output": True, "text": True, "timeout": COMMAND_S, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, **{**settings, **options})  # type: ignore[call-overload]
    done.stdout, done.stderr = without_waits(done.stdout), without_waits(done.stderr)
    return done


def without_waits(output: Any) -> Any:
    """The output of a command, text or bytes, without the line about waiting for the qmaster: on a loaded machine it may come
    at any time."""
    if isinstance(output, bytes):
        return re.sub(WAITS.encode(), b"", output)
    return re.sub(WAITS, "", output) if output else output


def need_user(name: str) -> None:
    """Make a user of this machine, unless there is one of this name; as root."""
    if run(["id", name]).returncode:
        done = run(["useradd", "-m", "-s", "/bin/bash", name])
        assert done.returncode == 0, done.stderr


def kill_daemon(pid_file: Path) -> None:
    """kill -9 the daemon that a pid file names; return when it is dead and may be started again."""
    rows = pid_file.read_text().split()
    os.kill(int(rows[0]), signal.SIGKILL)
    eventually("the daemon is dead", lambda: process_state(rows[0]) in ("", "Z"))


def process_state(pid: str) -> str:
    """The state letter of proc(5), "" when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def cell_ports(count: int) -> tuple[int, int, str]:
    """`free_cell_ports` that belong to no other cell of a test on this machine, until this process ends: many of a range are
    taken only when a daemon needs them."""
    while True:
        drawn = free_cell_ports(count)
        blocks = range(drawn[0] // _BLOCK, int(drawn[2].partition("-")[2]) // _BLOCK + 1)
        held = [socket.socket(socket.AF_UNIX) for _ in blocks]
        try:
            for one, block in zip(held, blocks, strict=True):
                one.bind(f"\0gridengine-test-ports-{block}")
        except OSError:
            for one in held:
                one.close()
        else:
            _held_ports.extend(held)
            return drawn


class DemoCell:
    """A cell of one exec host, `node1`, on this machine as the current user; jobs' files go to `work`.

    `prefix`: words before each command, as of a program that enters a namespace.
    """

    host = "node1"
    prefix: tuple[str, ...] = ()

    def __init__(self, slots: int = 8, admin_user: str = "", ports: int = 32) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="ge-test-", dir="/tmp"))
        self.place.chmod(0o755)
        self.work = self.place / "work"
        self.work.mkdir(mode=0o755)
        self.environment = {
            **os.environ,
            "SGE_ROOT": str(self.place),
            "SGE_CELL": "test",
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }
        qmaster_port, ray_port, ray_ports = cell_ports(ports)
        self.must(
            "gridengine", "init", "--master-host", "node0", "--exec-host", self.host, "--slots", str(slots),
            "--load-thresholds", "NONE", "--no-arco", *(("--admin-user", admin_user) if admin_user else ()),
            "--alias", "node0=127.0.0.20", "--alias", f"node0={socket.gethostname()}",
            "--alias", f"{self.host}=127.0.0.21",
            "--qmaster-port", str(qmaster_port), "--ray-port", str(ray_port), "--ray-ports", ray_ports,
            "--run-dir", str(self.place / "run"), "--spool-dir", str(self.place / "spool"),
        )

    @property
    def common(self) -> Path:
        return self.place / "test" / "common"

    def command(self, *command: str, **options: object) -> Done:
        """Run a command of the cell in `work`."""
        return run([*self.prefix, str(BIN / command[0]), *command[1:]], **{"env": self.environment, "cwd": self.work, **options})

    def must(self, *command: str) -> str:
        """Run a command that must succeed, and return its stdout."""
        done = self.command(*command)
        assert done.returncode == 0, f"{command}: exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start both daemons and wait until the host can take jobs."""
        running_cells.append(self)
        self.must("gridengine", "start", "--host-name", self.host)
        # tests load the machine: no threshold may close the queue for it
        self.must("qconf", "-rattr", "queue", "load_thresholds", "NONE", "all.q")
        eventually("the exec host reports", lambda: hosts_ready(self.must("qstat", "-f")) == {self.host})

    @contextmanager
    def running(self) -> Iterator[DemoCell]:
        """Start the cell, and remove it in the end."""
        try:
            self.start()
            yield self
        finally:
            self.remove()

    @contextmanager
    def web_server(self, *settings: str) -> Iterator[int]:
        """The cell's web server with these lines in `common/web`, at a free port, which is returned.

        A cell has one web server: the fixture that starts the server may not outlive its module.
        """
        port, _, _ = cell_ports(1)
        written = self.common / "web"
        written.write_text("".join(f"{line}\n" for line in (f"port {port}", *settings)))
        self.must("gridengine", "web")
        try:
            yield port
        finally:
            self.must("gridengine", "web", "--stop")
            written.unlink()

    def evidence(self) -> str:
        """`qstat -f` and the last lines that each daemon logged."""
        logs = sorted(str(path) for path in self.place.rglob("messages"))
        return f"{self.command('qstat', '-f', timeout=_EVIDENCE_S).stdout}\n{run(['tail', '-n', str(_LAST_LINES), *logs]).stdout}"

    def remove(self) -> None:
        """Stop the daemons, kill all remaining processes of the cell, and remove its files."""
        running_cells[:] = [cell for cell in running_cells if cell is not self]
        self.command("gridengine", "stop")
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._remove_cgroups()
        shutil.rmtree(self.place, ignore_errors=True)

    def _remove_cgroups(self) -> None:
        """Remove the directories in which tasks had their cgroups; each cell has its own."""
        name = Path(directory_of(self.environment.get("SGE_CELL", "default"), str(self.place), self.host)).parts[0]
        for path, *_ in os.walk("/sys/fs/cgroup", topdown=False):  # which goes on where other cells remove theirs
            if name in Path(path).parts:
                with suppress(OSError):  # a process has not ended yet
                    os.rmdir(path)

    def processes(self) -> list[int]:
        """Return the processes that have this cell in their environment: daemons, shepherds, jobs."""
        mark = f"SGE_ROOT={self.place}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found


class TestbedCell:
    """A master `tm` and the exec hosts `t1` to `t3`, each with a disk and network of its own; users alice, bob."""

    __test__ = False  # not a class of tests

    master = "tm"
    hosts = ("t1", "t2", "t3")

    def __init__(self) -> None:
        self.environment = {
            **os.environ,
            "PREFIX": str(TEST_PREFIX),
            "CELL": "test",
            "MASTER": self.master,
            "EXEC": "t",
        }

    def install(self) -> None:
        """Install the code of this checkout, with the native front of its commands."""
        debian.need_complete("cc")
        python = getattr(sys, "_base_executable", sys.executable)
        done = run([str(ROOT / "tools" / "install"), self.environment["PREFIX"], python], env=self.environment, timeout=600)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"

    def up(self) -> None:
        """Bring the cell up, with the installed programs."""
        running_cells.append(self)
        done = run(self._cell("up", str(len(self.hosts))), env=self.environment, timeout=600)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"

    def must_on(self, host: str, *command: str, **options: object) -> str:
        """Run a command as root that must succeed, and return its stdout."""
        done = self.on(host, *command, **options)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return str(done.stdout)

    def on(self, host: str, *command: str, **options: object) -> Done:
        """Run a command as root, a manager."""
        return run(self._cell("on", host, *command), **{"env": self.environment, **options})

    def as_user(self, user: str, host: str, *command: str, **options: object) -> Done:
        """Run a command as an ordinary user, in the user's home."""
        return run(self._cell("as", user, host, *command), **{"env": self.environment, **options})

    def start_as(self, user: str, host: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a command as an ordinary user, with pipes for its streams."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self._cell("as", user, host, *command), env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe
        )

    def power(self, action: str, host: str) -> None:
        """`kill`, `boot`, `cut` or `restore` a host."""
        done = run([str(TESTBED / "hosts"), action, host])
        assert done.returncode == 0, done.stderr

    def start(self, host: str) -> None:
        """Start the daemon of a host that has lost it."""
        done = self.on(host, "gridengine", "start")
        assert done.returncode == 0, done.stderr

    def until_empty(self) -> None:
        """Wait until no job is left; a qstat that fails does not say so."""

        def is_empty() -> bool:
            done = self.on(self.master, "qstat", "-u", "*")
            return done.returncode == 0 and done.stdout == ""

        eventually("no job is left", is_empty)

    def restore(self) -> None:
        """Bring everything back that a failed test may have left broken: one failure must not look like ten."""
        if hosts_ready(self.on(self.master, "qstat", "-f").stdout) >= set(self.hosts):
            return
        for host in (self.master, *self.hosts):
            run([str(TESTBED / "hosts"), "boot", host])
            run([str(TESTBED / "hosts"), "mend", host])
            self.start(host)
        self.on(self.master, "qdel", "-f", "-u", "*")
        self.on(self.master, "qmod", "-cq", "*")
        eventually("all hosts are there", lambda: hosts_ready(self.on(self.master, "qstat", "-f").stdout) >= set(self.hosts))

    def evidence(self) -> str:
        """`qstat -f` and the last lines that each daemon logged."""
        tail = f'echo "== on $(hostname)"; tail -n {_LAST_LINES} $(find "/var/spool/gridengine/$SGE_CELL" -name messages)'
        logs = [self.on(host, "sh", "-c", tail, timeout=_EVIDENCE_S).stdout for host in (self.master, *self.hosts)]
        return "\n".join((self.on(self.master, "qstat", "-f", timeout=_EVIDENCE_S).stdout, *logs))

    def remove(self) -> None:
        """Stop the cell and remove its hosts."""
        running_cells[:] = [cell for cell in running_cells if cell is not self]
        run(self._cell("down"), env=self.environment)

    def _cell(self, *arguments: str) -> list[str]:
        return [str(TESTBED / "cell"), *arguments]


def hosts_ready(qstat_f: str) -> set[str]:
    """Return the hosts whose instance of all.q has no state that keeps jobs away, as `qstat -f` prints it."""
    rows = [line.split() for line in qstat_f.splitlines() if line.startswith("all.q@")]
    return {row[0].partition("@")[2] for row in rows if len(row) == 5}
