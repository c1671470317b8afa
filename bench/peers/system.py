"""Interface of a batch system that is measured: it starts on the test bed, runs commands, and is removed.

Owns the hosts of one system and the commands on them. Its classes own the command lines of each system.
"""

from __future__ import annotations

import math
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOSTS = ROOT / "tests" / "testbed" / "hosts"
EXEC_HOSTS = 3
SLOTS = 50
"""Of each exec host: so many jobs run there at a time."""
NAME = "bench"
_READY_S = 120.0
UP_S = 300.0
"""A start, or an installation of packages, that has not ended after this time, in seconds, will not."""
#: records of the last jobs may be written this much later than they end, in seconds
_RECORDS_S = 30.0


class System(ABC):
    """A batch system with a master host `<host_prefix>m` and exec hosts `<host_prefix>1` to `<host_prefix>3`.

    The user alice submits on the first exec host. `unable`: figures that the system cannot give, and the reason.
    `remarks`: what a reader must know about a figure. `deadline`: of all that is asked, in s of time.monotonic().
    """

    label: str
    host_prefix: str
    environment: dict[str, str] = {}
    path = ""
    unable: Mapping[str, str] = {}
    remarks: Mapping[str, str] = {}
    deadline = math.inf

    @property
    def master(self) -> str:
        return f"{self.host_prefix}m"

    @property
    def exec_hosts(self) -> list[str]:
        return [f"{self.host_prefix}{number + 1}" for number in range(EXEC_HOSTS)]

    @property
    def shared(self) -> Path:
        """A directory that all hosts see, which may not be there; `down` removes it."""
        return Path(f"/home/alice/{NAME}-{self.host_prefix}")

    # --- in which words it is asked ---

    @abstractmethod
    def up(self) -> None:
        """Install missing packages, boot the hosts and start the daemons; the system has no jobs."""

    @abstractmethod
    def submission(self, tasks: int = 0, wait: bool = False) -> str:
        """The command line that submits /bin/true, as an array of so many tasks, and waits for its end."""

    def tiny(self, tasks: int) -> tuple[str, int]:
        """The command line that submits so many tiny tasks in the system's quickest way, and their number of records.
        An empty line: the system has none but its arrays. A parallel job has a record a host."""
        return "", 0

    listing = "qstat"
    """The command that lists jobs."""

    @abstractmethod
    def waiting(self) -> bool:
        """Whether a job is there. May wait until none is."""

    @abstractmethod
    def records(self) -> int:
        """Number of jobs and tasks with a successful end in the accounting since the start of the system."""

    @abstractmethod
    def version(self) -> str:
        """What the system says of itself."""

    # --- how ---

    def down(self) -> None:
        """Power its hosts off, and forget their disks."""
        hosts("kill", self.master, *self.exec_hosts)
        for name in (self.master, *self.exec_hosts):
            subprocess.run(["rm", "-rf", f"/var/lib/testbed/{name}"], check=True)
        subprocess.run(["rm", "-rf", str(self.shared)], check=True)

    def on(self, host: str, *command: str) -> str:
        """Run a command as root; returns its output. Raises SubprocessError."""
        return hosts("on", host, *command, environment=self._environment(), deadline=self.deadline)

    def user(self, line: str) -> str:
        """Run a line of shell as the user on the submit host; its output. Raises SubprocessError."""
        host = self.exec_hosts[0]
        return hosts("as", "alice", host, "bash", "-c", line, environment=self._environment(), deadline=self.deadline)

    def _environment(self) -> dict[str, str]:
        variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
        path = f"{self.path}:{os.environ['PATH']}" if self.path else os.environ["PATH"]
        return {**os.environ, **self.environment, "PATH": path, "TESTBED_ENV": variables}

    def until(self, description: str, condition: str, seconds: float = _READY_S) -> None:
        """Wait until a line of shell succeeds on the submit host. TimeoutError."""
        deadline = time.monotonic() + seconds
        while self.user(f"if {condition}; then echo yes; fi").strip() != "yes":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{description}: not within {seconds:.0f} s")
            time.sleep(0.2)

    def drain(self) -> None:
        """Wait until no job is there. TimeoutError."""
        while self.waiting():
            if time.monotonic() > self.deadline:
                raise TimeoutError("jobs have not ended in time")
            time.sleep(0.05)

    def await_records(self, expected: int) -> int:
        """The records, when there are as many as expected, or no more come."""
        deadline = time.monotonic() + _RECORDS_S
        while (found := self.records()) < expected and time.monotonic() < deadline:
            time.sleep(0.2)
        return found


def hosts(*arguments: str, environment: dict[str, str] | None = None, deadline: float = math.inf) -> str:
    """Run the program that makes the hosts of the test bed; its output. SubprocessError, also when the deadline passes."""
    seconds = max(1.0, deadline - time.monotonic()) if deadline < math.inf else UP_S
    command = [str(HOSTS), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=seconds).stdout


def need_packages(*names: str) -> None:
    """Install Debian packages that are missing. SubprocessError."""
    if subprocess.run(["dpkg", "-s", *names], capture_output=True).returncode:
        settings = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names]
        for command in (["apt-get", "update", "-qq"], install):
            subprocess.run(command, env=settings, check=True, capture_output=True, text=True, timeout=UP_S)
