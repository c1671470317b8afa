"""A run of the simulation: one cell, one seed, a number of steps, and then a world in which everything works again.

Defines the cell at the start of a run, the possible steps with their frequencies, and the way to the end. The seed decides
everything, so a run can be repeated to the very step. Called by the tests, and by `python -m tests.simulation`.
"""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from gridengine.protocols.delivery import Start
from tests.harness import Cell
from tests.simulation.promises import Promises
from tests.simulation.rules import LICENCES, Breach, Rules, hold
from tests.simulation.simulated_disk import simulated
from tests.simulation.simulated_host import SimulatedHost
from tests.simulation.simulated_loop import SimulatedLoop
from tests.simulation.simulated_master import SimulatedMaster
from tests.simulation.simulated_network import Network
from tests.simulation.users import Users

HOSTS, SLOTS = ["h1", "h2", "h3"], 3
STEPS = 120
PAUSES_S = (0.0, 0.02, 0.2, 0.6)
BEGIN = 1_800_000_000.0
LOSS_IS_SEEN_S = 2.0
"""After how long it is known that the node of a host is dead."""
LONGEST_END_S = 400
LONGEST_START_S = 30
"""Of a master, in a world in which everything works."""
CALLS = 400
"""Calls in a second, and at once, beyond which two processes answer each other in a loop."""

Action = Callable[[], None]


class Simulation:
    """`trace`: a line for each thing that happened. `faults`: the injected faults, with their number."""

    def __init__(self, place: Path, seed: int) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.trace: list[str] = []
        self.faults: Counter[str] = Counter()
        self.step = 0
        self.loop = SimulatedLoop()
        self.network = Network(self.loop, seed)
        self.promises = Promises()
        self.rules = Rules(self.promises, lambda: self.clock() + self._most_set)
        self._place = place
        self._set_by = self._most_set = 0.0
        self.users = Users(self.network, self.dice, self.promises, self.clock, self.note)

    def clock(self) -> float:
        """Of all but the master, epoch seconds."""
        return BEGIN + self.loop.time()

    def note(self, line: str) -> None:
        """Something has happened."""
        self.trace.append(f"{self.step} {self.loop.time():.6f} {line}")

    # --- the run -------------------------------------------------------------------------------------------

    def run(self, steps: int = STEPS) -> None:
        """Raises Breach; `step` says when."""
        (self._place / "spool.db").write_bytes(first_spool())
        self.master = SimulatedMaster(
            self._place, HOSTS, self.loop, self.network, self.dice,
            lambda: self.clock() + self._set_by,
            self.rules.master_began,
            self._master_died,
        )
        try:
            with self.loop, simulated(self._place, self.master.disk), _errors(self.master.disk.synced) as errors:
                self._errors = errors
                self._start()
                self._steps(steps)
                self._end()
        finally:
            self.master.end()

    def _start(self) -> None:
        """Start the master and its hosts."""
        self.master.start()
        self.hosts = {name: self._host(name) for name in HOSTS}

    def _host(self, name: str) -> SimulatedHost:
        return SimulatedHost(name, self._place, self.loop, self.network, self.seed, self.clock, self._begins)

    def _steps(self, steps: int) -> None:
        actions, weights = zip(*self._actions(), strict=True)
        for self.step in range(1, steps + 1):
            action = self.dice.choices(actions, weights)[0]
            self.note(action.__name__)
            action()
            self.pass_time(self.dice.choice(PAUSES_S))

    def pass_time(self, seconds: float) -> None:
        """Let all processes work for so long, and check the rules."""
        calls = self.network.calls
        self.loop.run_until(self.loop.time() + seconds)
        for fault in (*self.rules.broken, *self.loop.faults):
            raise fault if isinstance(fault, Breach) else Breach(f"no bugs: {fault!r}")
        hold("no bugs", not self._errors, self._errors)
        self.rules.check()
        hold("calm", self.network.calls - calls <= CALLS + CALLS * seconds, "daemons call each other without end")

    def _end(self) -> None:
        """Mend everything, and see that everything comes to its end."""
        self.step += 1
        self.note("the world works again")
        self.network.lossless = True
        self.network.cut.clear()
        self.master.disk.full, self.master.disk.writes_left = False, -1
        for host in self.hosts.values():
            if not host.on:
                host.power_on()
        until = self.loop.time() + LONGEST_END_S
        for _ in range(10):  # by the second: daemons that call each other without end are found at the first
            self.pass_time(1)
        self._release()
        served = self.loop.time()
        while self.loop.time() < until and not self._quiet():
            self.pass_time(1)
            served = served if self.rules.master is None else self.loop.time()
            hold("ends", self.loop.time() - served < LONGEST_START_S, "no master comes up")
        self.rules.check_end(self.hosts.values(), self._place)

    def _release(self) -> None:
        """Release holds, suspensions and errors that users have set and not released."""
        for action in ("enable", "unsuspend"):
            self._ask("change_states", action=action, what="queue", targets=["*"])
        self._ask("drain_hosts", hosts=HOSTS, end=True)
        for request in self.promises.requests.values():
            request.released = True
        self._ask("hold_jobs", users=["*"], holds="u", release=True)
        self._ask("change_states", action="unsuspend", what="job", targets=["*"])
        self._ask("change_states", action="clear", what="job", targets=["*"])

    def _ask(self, name: str, **fields: object) -> None:
        self.loop.create_task(self.users.ask(name, "root", **fields), context=self.loop.outside)
        self.pass_time(0.1)

    def _quiet(self) -> bool:
        master = self.rules.master
        if master is None or master.state.jobs or master.state.reservations:
            return False
        return not any(host.working or host.ended for host in self.hosts.values())

    # --- what happens in a step ----------------------------------------------------------------------------

    def _actions(self) -> list[tuple[Action, int]]:
        users = self.users
        asked = [
            (users.submit, 30), (users.delete, 3), (users.hold, 3), (users.release, 4), (users.alter, 4), (users.suspend, 3),
            (users.reschedule, 1), (users.inherit, 8), (users.reserve, 4), (users.alter_reservation, 2),
            (users.delete_reservation, 2), (users.toggle_queue, 2), (users.configure, 2), (users.drain_host, 2),
        ]  # fmt: skip
        broken: list[tuple[Action, int]] = [
            (self.kill_master, 2), (self.kill_master_writing, 3), (self.fail_master_power, 1), (self.fill_disk, 1),
            (self.kill_scheduler, 2), (self.kill_execd, 2), (self.fail_power, 1), (self.cut_host, 1), (self.set_clock, 1),
        ]  # fmt: skip
        return [*((self._begun(coroutine), weight) for coroutine, weight in asked), *broken]

    def _begun(self, coroutine: Callable[[], object]) -> Action:
        """The function that starts a user's action."""

        def begin() -> None:
            self.loop.create_task(coroutine(), context=self.loop.outside)  # type: ignore[arg-type]

        begin.__name__ = coroutine.__name__
        return begin

    def _begins(self, host: str, start: Start) -> None:
        self.note(f"{'.'.join(map(str, start.key))} {start.job.name} begins on {host}")
        self.rules.begins(host, start)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        self.loop.call_later(seconds, work, context=self.loop.outside)

    # --- what breaks ---------------------------------------------------------------------------------------

    def _master_died(self, how: str) -> None:
        self.note(f"the master {how}")
        self.faults[f"master {how.partition(':')[0]}"] += 1
        self.rules.master_died(writing=how == "died writing")

    def kill_master(self) -> None:
        self.master.kill()

    def kill_master_writing(self) -> None:
        """The process dies before one of its next writes or syncs."""
        self.master.disk.writes_left = self.dice.randrange(40)

    def fail_master_power(self) -> None:
        self.master.kill("lost its power", power=True)

    def fill_disk(self) -> None:
        self.faults["full disk"] += 1
        self.master.disk.full = True
        self._later(self.dice.choice((0.5, 3.0)), self._free_disk)

    def _free_disk(self) -> None:
        self.master.disk.full = False

    def kill_scheduler(self) -> None:
        self.faults["scheduler killed"] += 1
        self.master.restart_schedd()

    def _any_host(self) -> SimulatedHost:
        return self.hosts[self.dice.choice(HOSTS)]

    def kill_execd(self) -> None:
        host = self._any_host()
        if host.on:
            self.faults["execd killed"] += 1
            host.actor.kill()
            self._later(self.dice.choice((0.05, 1.0)), lambda: self._start_execd(host))

    def _start_execd(self, host: SimulatedHost) -> None:
        if host.on and not host.actor.alive:
            host.start_actor()

    def fail_power(self) -> None:
        host = self._any_host()
        if host.on:
            self.faults["power failed"] += 1
            self.rules.lost_hosts.add(host.name)
            host.power_off()
            self._later(LOSS_IS_SEEN_S, lambda: self._lose(host))
            self._later(self.dice.choice((0.5, 3.0, 8.0)), lambda: None if host.on else host.power_on())

    def cut_host(self) -> None:
        host = self._any_host()
        self.faults["host cut off"] += 1
        self.rules.lost_hosts.add(host.name)
        self.network.cut.add(host.name)
        self._later(LOSS_IS_SEEN_S, lambda: self._lose(host))
        self._later(self.dice.choice((0.5, 4.0, 9.0)), lambda: self.network.cut.discard(host.name))

    def _lose(self, host: SimulatedHost) -> None:
        """The node of a host is seen to be dead, if it still is."""
        service = self.master.service
        if service is not None and (not host.on or host.name in self.network.cut):
            self.note(f"{host.name} is lost")
            process, _ = self.network.places["qmaster"]
            process.run(service.lose_nodes, {host.name})

    def set_clock(self) -> None:
        """Set the clock of the master's host, in one of four cells: time windows hold only in the other cells."""
        if self.seed % 4:
            return
        self.rules.clock_was_set = True
        self.faults["clock set"] += 1
        self._set_by += self.dice.choice((-30.0, -2.0, 2.0, 30.0))
        self._most_set = max(self._most_set, self._set_by)


# --- around a run ----------------------------------------------------------------------------------------------


@cache
def first_spool() -> bytes:
    """The spool at the start of every run: the default cell, with the objects that the jobs of the simulation need."""
    with TemporaryDirectory(prefix="simulation-") as name:
        cell = Cell(Path(name), hosts=HOSTS, slots=SLOTS)
        row = {**cell.state.kind("complex")["h_rt"], "name": "lic", "shortcut": "lic", "type": "INT", "default": "0"}
        attributes = [(name, value, 1) for name, value in {**row, "consumable": "YES"}.items()]
        hold("first", not cell.admin("config_add", kind="complex", name="lic", attributes=attributes).status)
        cell.configure("exec_host", "global", complex_values=f"lic={LICENCES}")
        cell.configure("parallel_environment", "mpi", control_slaves="TRUE")
        cell.configure("configuration", "global", reschedule_unknown="0:0:3")
        hold("first", not cell.admin("change_users", verb="add", users=["alice"], lists=["arusers"]).status)
        cell.master.spool.snapshot(cell.state)
        cell.master.spool.close()
        return (Path(name) / "spool.db").read_bytes()


class _Errors(logging.Handler):
    """Errors that were logged with an exception: bugs that the program has survived."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.found.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


@contextmanager
def _errors(synced: Callable[[Path], None]) -> Iterator[list[str]]:
    """Nothing is logged meanwhile, but errors are collected; `synced` replaces each sync of this machine's disk."""
    handler, root = _Errors(), logging.getLogger()
    handlers, level = root.handlers, root.level
    fsync, fdatasync = os.fsync, os.fdatasync
    root.handlers = [handler]
    logging.disable(logging.WARNING)
    os.fsync = os.fdatasync = lambda file: synced(Path(os.readlink(f"/proc/self/fd/{file}")))  # type: ignore[assignment]
    try:
        yield handler.found
    finally:
        os.fsync, os.fdatasync = fsync, fdatasync
        logging.disable(logging.NOTSET)
        root.handlers, root.level = handlers, level
