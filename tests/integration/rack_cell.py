"""A demo cell whose three exec hosts form one rack: hosts of this machine, each at a loopback address of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.integration.cells import DemoCell, eventually, hosts_ready, process_state, running_cells

RACK = "r1"


class RackCell(DemoCell):
    """`hosts`: in the rack, with a daemon each."""

    hosts = ("node1", "node2", "node3")

    def __init__(self, slots: int = 8) -> None:
        super().__init__(slots, ports=96)
        aliases = "".join(f"{host} 127.0.0.{20 + number}\n" for number, host in enumerate(self.hosts[1:], start=2))
        with (self.common / "host_aliases").open("a") as file:
            file.write(aliases)

    def start(self) -> None:
        """Start all daemons and wait until the hosts can take jobs."""
        running_cells.append(self)
        self.must("gridengine", "start")
        self.must("gridengine", "host", "add", *self.hosts, "--rack", RACK, "--queue", "all.q", "--slots", "8")
        for host in self.hosts:
            self.start_host(host)
        self.must("qconf", "-rattr", "queue", "load_thresholds", "NONE", "all.q")
        eventually("all hosts report", lambda: self.ready() == set(self.hosts))

    def start_host(self, host: str) -> None:
        """Start the daemon of a host, while the others run."""
        self.must("gridengine", "start", "--host-name", host)

    def ready(self) -> set[str]:
        """The hosts that can take jobs."""
        return hosts_ready(self.must("qstat", "-f"))

    def log(self, host: str) -> str:
        """The lines that the daemons of a host have logged."""
        return (self.place / "spool" / "execd" / host / "messages").read_text()

    def qmaster_log(self) -> str:
        """The lines that the qmaster has logged."""
        return next(self.place.rglob("qmaster/messages")).read_text()

    def node(self) -> str:
        """The host that is the node of the rack, by its Ray node and the actor there; "" while there is none."""
        nodes = [host for host in self.hosts if self.find(f'"name": "{host}"')]
        return nodes[0] if len(nodes) == 1 and self.find("ray::RackActor") else ""

    def pid(self, host: str) -> int:
        """The process id of a host's `sge_execd`."""
        return int((self.place / "spool" / "execd" / host / "execd.pid").read_text().split()[0])

    def is_running(self, host: str) -> bool:
        """Whether the daemon of a host runs."""
        return process_state(str(self.pid(host))) not in ("", "Z")

    def find(self, text: str) -> list[int]:
        """The processes of this cell with this text in their command line."""
        return [pid for pid in self.processes() if text in _command_line(pid)]

    @staticmethod
    def kill(pid: int) -> None:
        """End a process at once; of a supervisor all daemons of its host end with it, and jobs go on."""
        os.kill(pid, signal.SIGKILL)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
