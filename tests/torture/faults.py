"""Breaking things in a cell of the test bed, and mending them: processes, hosts, cables, packets, the disk of the spool.

Owns how each kind of fault is inflicted. `plan` decides the faults and their times. Called by `play`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.integration.cells import TESTBED, TestbedCell, eventually, run
from tests.integration.victims import command_line
from tests.torture.journal import Broken, Journal, now
from tests.torture.plan import DAEMONS, EXEC_HOSTS, MASTER, SHADOW, VICTIMS, Fault

DISKS = Path("/var/lib/testbed")
_PIDS = Path("/run/testbed")
SPOOL_SIZE = "96m"
#: drops 15 of 100 packets that arrive
_LOSSY = (
    "add table inet torture; add chain inet torture in { type filter hook input priority 0; };"
    "add rule inet torture in numgen random mod 100 lt 15 drop"
)


def processes(host: str) -> list[int]:
    """All processes of a host, by their numbers outside; none while it is off."""
    try:
        init = (_PIDS / f"{host}.pid").read_text().strip()
        space = os.readlink(f"/proc/{init}/ns/pid")
    except OSError:
        return []
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(path / "ns" / "pid") == space:
                found.append(int(path.name))
    return found


def victims(host: str, victim: str) -> list[int]:
    """The processes of this kind on a host."""
    return [pid for pid in processes(host) if VICTIMS[victim] in command_line(pid)]


class Faults:
    """Inflicts the faults of a plan on a cell, and tells the journal."""

    def __init__(self, cell: TestbedCell, journal: Journal) -> None:
        self._cell, self._journal = cell, journal
        self._fill = DISKS / MASTER / "spool" / "fill"

    def inflict(self, fault: Fault) -> None:
        """Break, wait, and mend, as far as the cell does not do that by itself."""
        begin = now()
        try:
            getattr(self, f"_{fault.kind}")(fault)
        finally:
            self._journal.add_fault(Broken(begin, now(), str(fault), fault.host))

    def heal(self) -> None:
        """Everything that may still be broken is mended, every daemon runs."""
        self._fill.unlink(missing_ok=True)
        for host in (MASTER, *EXEC_HOSTS):
            self._cell.power("boot", host)
            self._cell.power("mend", host)
            self._cell.on(host, "nft", "flush", "ruleset")
            for pid in processes(host):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            eventually(f"{host} has its daemon", lambda host=host: not self._cell.on(host, "gridengine", "start").returncode)

    def _kill(self, fault: Fault) -> None:
        host, found = self._found(fault)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if fault.victim in DAEMONS:
            self._start(host)

    def _stop(self, fault: Fault) -> None:
        _, found = self._found(fault)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if number == signal.SIGSTOP:
                time.sleep(fault.lasts_s)

    def _power(self, fault: Fault) -> None:
        self._cell.power("kill", fault.host)
        time.sleep(fault.lasts_s)
        self._cell.power("boot", fault.host)
        self._start(fault.host)

    def _cut(self, fault: Fault) -> None:
        self._cell.power("cut", fault.host)
        time.sleep(fault.lasts_s)
        self._cell.power("mend", fault.host)

    def _lossy(self, fault: Fault) -> None:
        self._cell.on(fault.host, "nft", _LOSSY)
        time.sleep(fault.lasts_s)
        self._cell.on(fault.host, "nft", "delete", "table", "inet", "torture")

    def _part(self, fault: Fault) -> None:
        """No packet passes between two hosts, which reach all other hosts."""
        addresses = dict(line.split()[:2] for line in run([str(TESTBED / "hosts"), "list"]).stdout.splitlines())
        ways = ((fault.host, addresses[fault.victim]), (fault.victim, addresses[fault.host]))
        for host, address in ways:
            self._cell.on(host, "ip", "route", "add", "blackhole", f"{address}/32")
        time.sleep(fault.lasts_s)
        for host, address in ways:
            self._cell.on(host, "ip", "route", "del", "blackhole", f"{address}/32")

    def _full(self, fault: Fault) -> None:
        with suppress(OSError), self._fill.open("wb") as file:
            while True:
                file.write(bytes(2**16))
                file.flush()
        time.sleep(fault.lasts_s)
        self._fill.unlink(missing_ok=True)

    def _found(self, fault: Fault) -> tuple[str, list[int]]:
        """Where a process of this kind is, and its number: the master's may be on the host that has taken over."""
        places = [fault.host, SHADOW] if fault.host == MASTER else [fault.host]
        host = next((place for place in places if victims(place, fault.victim)), fault.host)
        return host, victims(host, fault.victim)[:1]

    def _start(self, host: str) -> None:
        """Restarts daemons as systemd would; a daemon that cannot start yet is started again when all faults are removed."""
        with suppress(subprocess.TimeoutExpired):
            self._cell.on(host, "gridengine", "start", timeout=120)


@contextmanager
def small_spool(cell: TestbedCell) -> Iterator[None]:
    """The spool of the master lies on a disk of its own, which outlives the host's power and can be filled."""
    place = DISKS / MASTER / "spool"
    cell.on(MASTER, "gridengine", "stop")
    cell.power("kill", MASTER)
    saved = place.with_name("saved")
    for command in (
        ["cp", "-a", str(place), str(saved)],
        ["mount", "-t", "tmpfs", "-o", f"size={SPOOL_SIZE},mode=755", "tmpfs", str(place)],
        ["cp", "-a", f"{saved}/.", str(place)],
    ):
        done = run(command)
        assert done.returncode == 0, done.stderr
    try:
        cell.power("boot", MASTER)
        cell.start(MASTER)
        yield
    finally:
        cell.power("kill", MASTER)
        run(["umount", str(place)])
        run(["rm", "-rf", str(saved)])
