"""An exec host as the simulation has it: the real reporter and record of tries, over jobs that are timers.

Keeps the guarantees of `daemons.execd.tasks`: a start of an attempt that is or was here does nothing, an end is reported until
it is acknowledged, jobs outlive the daemon, and a power failure leaves only the disk. Called by the simulation.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from daemons.execd.attempt_log import AttemptLog
from daemons.execd.reporter import Reporter
from gridengine.protocols.delivery import (
    Acknowledgement,
    Batch,
    Configure,
    Ended,
    Forget,
    Instruction,
    Inventory,
    Load,
    Origin,
    Report,
    Signal,
    Start,
    Started,
    decode,
    encode,
)
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.usage.failed import AFTER_JOB, HOST_CRASHED, RESCHEDULED
from gridengine.values.task_key import SlaveKey, TaskKey
from tests.harness import LOAD
from tests.simulation.simulated_loop import Process, SimulatedLoop
from tests.simulation.simulated_network import Network

DURATIONS_S = (0.01, 0.1, 0.5, 1.0, 3.0)
CALL_S, LOAD_REPORT_S, RETRY_S = 10.0, 15.0, 0.1
Begun = Callable[[str, Start], None]


@dataclass
class Work:
    """A task that runs here. `due`: its time was over while it was suspended."""

    start: Start
    began: float
    status: int
    suspended: bool = False
    due: bool = False


class SimulatedHost:
    """`working`: running tasks; `ended`: ends that are not acknowledged. `begun(host, start)` is called for each attempt here."""

    def __init__(
        self, name: str, place: Path, loop: SimulatedLoop, network: Network, seed: int,
        clock: Callable[[], float], begun: Begun,
    ) -> None:  # fmt: skip
        self.name, self._place = name, place
        self._loop, self._network, self._clock, self._begun = loop, network, clock, begun
        self._dice = random.Random(f"{seed} {name}")
        self.boot = 1
        self.working: dict[TaskKey, Work] = {}
        self.ended: dict[TaskKey, tuple[Start, Ended]] = {}
        self._orphans: set[TaskKey] = set()
        self._scripts: set[int] = set()
        self._configuration: HostConfiguration | None = None
        self.machine = Process(name)
        self.start_actor()

    # --- its life ------------------------------------------------------------------------------------------

    def start_actor(self) -> None:
        """The daemon starts with the data on disk."""
        self.actor = Process(f"execd-{self.name}")
        self._orphans.clear()
        self.attempt_log = AttemptLog(self._place / f"tries.{self.name}", int(self._clock() * 1000))
        self._reporter = Reporter(
            self._send,
            self.attempt_log,
            full=self._everything,
            on_acknowledged=self._remove,
            on_forget=self._remove,
            on_orphans=self._orphans.update,
            on_unknown=lambda hosts: None,
        )
        if self._configuration is not None:
            self._reporter.configure(self._configuration)
        self._reporter.add(*(end for _, end in self.ended.values()))
        self.actor.run(self._loop.create_task, self._reporter.run())
        self.actor.run(self._loop.create_task, self._report_load())
        self._network.serve(self.name, self.actor, self)

    async def _send(self, data: bytes) -> bytes:
        verdicts: bytes = await self._network.call(
            self.name, "qmaster", lambda service: service.reports(self.name, data), CALL_S
        )
        return verdicts

    def power_off(self) -> None:
        """Everything stops. The disk may have a record of tasks that ran, or had ended without acknowledgement."""
        self.actor.kill()
        self.machine.kill()
        crashed = {
            key: (work.start, self._end_of(key, work, HOST_CRASHED, 0)) for key, work in self.working.items() if self._coin()
        }
        self.ended = {key: end for key, end in self.ended.items() if self._coin()} | crashed
        self.working.clear()

    def power_on(self) -> None:
        self.boot += 1
        self.machine = Process(self.name)
        self.start_actor()

    @property
    def on(self) -> bool:
        return self.machine.alive

    def _coin(self) -> bool:
        return self._dice.random() < 0.5

    # --- instructions --------------------------------------------------------------------------------------

    async def deliver(self, data: bytes) -> bytes:
        """As `ExecHost.deliver`."""
        batch = decode(data)
        if not self.attempt_log.obey(batch.master):
            return encode(Batch(refused=True, master=self.attempt_log.master))
        answers = await asyncio.gather(*(self._carry_out(each, batch) for each in batch.instructions))
        return encode(Batch(acknowledgements=answers))

    async def _carry_out(self, instruction: Instruction, batch: Batch) -> Acknowledgement:
        match instruction:
            case Start():
                return await self._start(instruction, batch)
            case Signal():
                return self._signal(instruction)
            case Forget():
                self._remove([instruction.key])
            case Configure():
                self._configuration = HostConfiguration.of(instruction.configuration)
                self._reporter.configure(self._configuration)
                self._reporter.send_everything()
        return Acknowledgement()

    async def _start(self, start: Start, batch: Batch) -> Acknowledgement:
        key = start.key
        others = [other for other in self._here() if other[:2] == key[:2] and other.attempt != key.attempt]
        if any(other.attempt > key.attempt and self._start_of(other).submit_time == start.submit_time for other in others):
            return Acknowledgement(False, over=True)
        self._remove(others)
        try:
            async with asyncio.timeout(CALL_S):
                await self._reporter.wait_until_inventoried()
        except TimeoutError:
            return Acknowledgement(False, again=True)
        if key not in self._here():
            if any(orphan[:2] == key[:2] for orphan in self._orphans & self._here()):
                return Acknowledgement(False, 1, "a stray is in its place")
            if not self.attempt_log.is_current(batch.master):
                return Acknowledgement(False, again=True)
            if self.attempt_log.has_ended(key, start.submit_time):
                return Acknowledgement(False, over=True)
            if start.script and key.job not in self._scripts and key.job not in batch.scripts:
                return Acknowledgement(False, needs_script=True)
            self._begin(start)
        if key in self.working:
            self._reporter.add(Started(key, self._clock()))
        return Acknowledgement()

    def _begin(self, start: Start) -> None:
        if start.script:
            self._scripts.add(start.key.job)
        self._begun(self.name, start)
        self.working[start.key] = Work(start, self._clock(), self._dice.choice((0, 0, 0, 0, 1, 99)))
        self.machine.run(self._loop.call_later, self._dice.choice(DURATIONS_S), self._over, start.key)

    def _signal(self, signal: Signal) -> Acknowledgement:
        work = self.working.get(signal.key)
        if work is None:
            if signal.key not in self.ended:
                self._reporter.send_everything()
                return Acknowledgement(False)
        elif signal.command == "suspend":
            work.suspended = True
        elif signal.command == "run":
            work.suspended = False
            if work.due:
                self._over(signal.key)
        else:
            self._end(signal.key, AFTER_JOB, 137)
        return Acknowledgement()

    # --- tasks ---------------------------------------------------------------------------------------------

    def _here(self) -> set[TaskKey]:
        return self.working.keys() | self.ended.keys()

    def _start_of(self, key: TaskKey) -> Start:
        return self.working[key].start if key in self.working else self.ended[key][0]

    def _over(self, key: TaskKey) -> None:
        """A task reaches its end; a suspended task goes on until it is resumed."""
        work = self.working.get(key)
        if work is None:
            return
        if work.suspended:
            work.due = True
        elif work.status == 99 and not isinstance(key, SlaveKey):
            self._end(key, RESCHEDULED, 99)
        else:
            self._end(key, 0, work.status % 99)

    def _end(self, key: TaskKey, failed: int, status: int) -> None:
        work = self.working.pop(key)
        end = self._end_of(key, work, failed, status)
        self.ended[key] = work.start, end
        if self.actor.alive:
            self.actor.run(self._reporter.add, end)

    def _end_of(self, key: TaskKey, work: Work, failed: int, status: int) -> Ended:
        used = {"ru_wallclock": self._clock() - work.began, "cpu": 0.5}
        return Ended(key, failed, status, start_time=work.began, end_time=self._clock(), usage=used)

    def _remove(self, keys: list[TaskKey]) -> None:
        """These tasks are over, and no late instruction may start them again: their attempts are recorded first."""
        here = {key: self._start_of(key) for key in keys if key in self._here()}
        if not here:
            return
        self.attempt_log.add({key: start.submit_time for key, start in here.items()})
        for key in here:
            self.working.pop(key, None)
            self.ended.pop(key, None)
        self._scripts &= {key.job for key in self._here()}

    # --- reports -------------------------------------------------------------------------------------------

    def _everything(self) -> list[Report]:
        for key in sorted(self._orphans & self.ended.keys()):
            self._reporter.add(self.ended[key][1])
        self._orphans.clear()
        keys = sorted(self._here())
        starts = [self._start_of(key) for key in keys]
        incarnation = f"boot{self.boot}"
        inventory = Inventory(keys, incarnation, [Origin.of(start) for start in starts])
        return [inventory, Load(self._clock(), dict(LOAD), full=True, incarnation=incarnation)]

    async def _report_load(self) -> None:
        while True:
            await asyncio.sleep(LOAD_REPORT_S)
            self._reporter.add(Load(self._clock(), {"load_avg": f"{self._dice.random():.2f}"}, incarnation=f"boot{self.boot}"))
