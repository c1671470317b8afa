"""A launcher with its spool directory, and tasks for it: the base of all tests of this directory.

Owns starting and ending the launcher process and writing `config` files as the execd would. Waiting here is for events,
with a bound that only a failure reaches.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemons.execd.cgroups import HostCgroups, directory_of, find_cgroups
from tests.integration.cells import PATIENCE_S
from tests.integration.shepherd.launcher_server import Launcher, LauncherServer

PROJECT = Path(__file__).parents[3]
CELL, ROOT = f"test{os.getpid()}", "/"
CGROUPS = Path(directory_of(CELL, ROOT, "h1")).parts[0]
#: a nice value that any user may give: tests may run with one themselves, below which only root gets
NICER = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
Json = dict[str, Any]


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Wait until `condition` gives something true, and return it."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def alive(pid: int) -> bool:
    """Whether a process runs, zombies not counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def cgroups() -> HostCgroups:
    """Cgroups of this test session, all below the name CGROUPS: another session at the same time has tasks of the same names."""
    return find_cgroups(CELL, ROOT, "h1", os.getpid())


class Client:
    """A connection to the launcher."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(path))
        self._lines = self.socket.makefile("rb")
        self.exited: set[str] = set()

    def receive(self) -> Json:
        line = self._lines.readline()
        assert line, "the launcher has closed the connection"
        message: Json = json.loads(line)
        if message["op"] == "exited":
            self.exited.add(message["directory"])
        return message

    def ask(self, **request: object) -> Json:
        """Send a request and return its answer; ends of tasks that come before it are kept."""
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        while True:
            message = self.receive()
            if message["op"] != "exited":
                return message

    def wait_exited(self, directory: Path) -> None:
        while str(directory) not in self.exited:
            self.receive()

    def close(self) -> None:
        self._lines.close()
        self.socket.close()


class Cell:
    """A spool directory, its launcher and the user whose jobs run there. `server`: of the user who runs the launcher."""

    def __init__(self, base: Path, user: str, server: LauncherServer) -> None:
        self.user = pwd.getpwnam(user)
        self.server = server
        self.as_root = server.uid == 0
        self.spool = base / "spool"
        self.home = base / "home"
        self.tmp = base / "tmp"
        for directory in (self.spool, self.spool / "active_jobs", self.home, self.tmp):
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(0o755)
            self._give(directory)
        os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        self.tmp.chmod(0o1777)
        self.launcher: Launcher | None = None
        self.client: Client | None = None
        self._next_id = 0

    def start_launcher(self) -> None:
        path = self.spool / "launcher.sock"
        path.unlink(missing_ok=True)  # a child of one that was killed may still listen there
        self.launcher = self.server.start(self.spool)
        wait_for(lambda: self._connect(path), "the launcher's socket")

    def _give(self, path: Path) -> None:
        """Files that the execd makes belong to the user of the daemons."""
        if os.geteuid() == 0 and not self.as_root:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def file(self, name: str, text: str, mode: int = 0o755) -> Path:
        """A file that all users can read, as a method's script."""
        path = self.spool / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def _connect(self, path: Path) -> bool:
        try:
            self.client = Client(path)
        except OSError:
            assert self.launcher is not None and alive(self.launcher.pid), "the launcher has ended"
            return False
        return True

    def stop_launcher(self, number: int = signal.SIGTERM) -> None:
        if self.client is not None:
            self.client.close()
            self.client = None
        if self.launcher is not None:
            os.kill(self.launcher.pid, number)
            self.launcher.wait()
            self.launcher = None

    def task(self, script: str | None = None, **config: Any) -> Task:
        """Write a task's directory. `script`: text of a job script, else give `command`.

        `use_cgroups`: give it the cgroups of this host.
        """
        self._next_id += 1
        number = self._next_id
        directory = self.spool / "active_jobs" / f"{number}.1"
        directory.mkdir()
        directory.chmod(0o755)
        self._give(directory)
        content: Json = {
            "job_id": number,
            "task_id": 1,
            "attempt": 0,
            "job_name": "job",
            "owner": self.user.pw_name,
            "uid": self.user.pw_uid,
            "gid": self.user.pw_gid,
            "groups": os.getgrouplist(self.user.pw_name, self.user.pw_gid),
            "group_name": grp.getgrgid(self.user.pw_gid).gr_name,
            "queue": "all.q",
            "host": "h1",
            "cell": "test",
            "root": "/nowhere",
            "shell": "/bin/sh",
            "login_shells": ["bash", "sh"],
            "cwd": str(self.home),
            "stdout": str(self.home / f"job.o{number}"),
            "stderr": str(self.home / f"job.e{number}"),
            "environment": {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "SHELL": "/bin/sh", "JOB_ID": str(number)},
            "variables": {"job_id": str(number), "host": "h1", "job_owner": self.user.pw_name, "queue": "all.q"},
            "queue_notify_s": 1,
        }
        if script is not None:
            content["script"] = str(self.file(f"script.{number}", script))
        else:
            content["binary"] = True
        if config.pop("use_cgroups", False):
            content["cgroups"] = cgroups().directories()
        content.update(config)
        (directory / "config").write_text(json.dumps(content))
        self._give(directory / "config")
        return Task(self, directory, content)

    def run(self, script: str | None = None, **config: Any) -> Task:
        """A task from its start to its end."""
        task = self.task(script, **config)
        task.start()
        task.wait()
        return task


class Task:
    """One task of the cell."""

    def __init__(self, cell: Cell, directory: Path, config: Json) -> None:
        self.cell = cell
        self.directory = directory
        self.config = config

    @property
    def client(self) -> Client:
        assert self.cell.client is not None
        return self.cell.client

    def start(self, owner: str = "") -> int:
        """The shepherd's process id. `owner`: the owner that the execd names, for which a shepherd may have waited."""
        answer = self.client.ask(op="start", directory=str(self.directory), owner=owner)
        assert answer["op"] == "started", answer
        return int(answer["pid"])

    def start_with(self, command: str) -> None:
        """Start it with a command that the launcher gets at once: no job can end before."""
        requests = [{"op": "start"}, {"op": "signal", "command": command}]
        lines = [json.dumps({**request, "directory": str(self.directory)}) for request in requests]
        self.client.socket.sendall("".join(f"{line}\n" for line in lines).encode())

    def command(self, name: str) -> None:
        answer = self.client.ask(op="signal", directory=str(self.directory), command=name)
        assert answer["op"] == "signalled", answer

    def wait(self, limit_s: float = PATIENCE_S) -> Json:
        """The end of the task. Raises TimeoutError when nothing is heard of the launcher for that long."""
        self.client.socket.settimeout(limit_s)
        self.client.wait_exited(self.directory)
        self.client.socket.settimeout(PATIENCE_S)
        return self.exit

    @property
    def exit(self) -> Json:
        content: Json = json.loads((self.directory / "exit").read_text())
        return content

    @property
    def stdout(self) -> str:
        return Path(self.config["stdout"]).read_text()

    @property
    def stderr(self) -> str:
        return Path(self.config["stderr"]).read_text()

    @property
    def trace(self) -> str:
        return (self.directory / "trace").read_text()

    def wait_output(self, text: str) -> None:
        wait_for(lambda: Path(self.config["stdout"]).exists() and text in self.stdout, f"{text!r} in the job's output")

    def job_pid(self) -> int:
        path = self.directory / "job_pid"
        return int(wait_for(lambda: path.exists() and path.read_text().split()[0].strip("-"), "job_pid"))
