"""A demo cell whose exec hosts form racks: hosts of this machine, each at a loopback address of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.integration.cells import DemoCell, eventually, hosts_ready, process_state, running_cells

RACK = "r1"
_HOSTS_OF_NETWORK = 200


class RackCell(DemoCell):
    """`racks`: rack -> its hosts; `hosts`: all of them, with a daemon each. The first host is node1."""

    def __init__(self, racks: Mapping[str, Sequence[str]] | None = None) -> None:
        self.racks = racks or {RACK: ("node1", "node2", "node3")}
        self.hosts = tuple(host for rack in self.racks.values() for host in rack)
        super().__init__(ports=64 + 32 * len(self.racks))
        aliases = "".join(f"{host} {_address(number)}\n" for number, host in enumerate(self.hosts) if number)
        with (self.common / "host_aliases").open("a") as file:
            file.write(aliases)

    def start(self) -> None:
        """Start all daemons and wait until the hosts can take jobs."""
        self.start_master()
        for host in self.hosts:
            self.start_host(host)
        eventually("all hosts report", lambda: self.ready() == set(self.hosts))

    def start_master(self) -> None:
        """Start the master with its racks, and no host yet."""
        running_cells.append(self)
        self.must("gridengine", "start")
        for rack, hosts in self.racks.items():
            self.must("gridengine", "host", "add", *hosts, "--rack", rack, "--queue", "all.q", "--slots", "8")
        self.must("qconf", "-rattr", "queue", "load_thresholds", "NONE", "all.q")

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

    def node(self, rack: str = RACK) -> str:
        """The host that is the node of a rack, by its Ray node and the actor there; "" while there is none."""
        commands = [_command_line(pid) for pid in self.processes()]
        nodes = [host for host in self.racks[rack] if any(f'"name": "{host}"' in command for command in commands)]
        return nodes[0] if len(nodes) == 1 and any("ray::RackActor" in command for command in commands) else ""

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


def _address(number: int) -> str:
    """The address of a host by its place, from 0 on; 127.0.0.20 is the master's."""
    network, place = divmod(number, _HOSTS_OF_NETWORK)
    return f"127.0.{network}.{21 + place}"


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
