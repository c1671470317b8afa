"""The execd of a host: carries out instructions, reports to the qmaster. Knows no transport.

Owns no data except copies of data on disk: its process may be killed at any moment. Hosted by the Ray actor of a host with a node
of its own (`actor`), and by a plain process on a host in a rack (`rack_member`). Source: docs/architecture.md section 5.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from daemons.execd import load
from daemons.execd.active_jobs import remove_all, set_kept_aside
from daemons.execd.attempt_log import AttemptLog
from daemons.execd.cgroups import note_cgroups, prepare_cgroups
from daemons.execd.device_watch import DeviceWatch
from daemons.execd.health import Health
from daemons.execd.keep_running import keep_running
from daemons.execd.load_sensors import LoadSensors, SensorHostNames, configured_sensors, sensor_starter, write_faults
from daemons.execd.output_reader import OutputReader
from daemons.execd.reporter import Reporter
from daemons.execd.resource_assignment import ResourceAssigner, permitted_processors
from daemons.execd.saved_configuration import read_configuration, save_configuration
from daemons.execd.site import PID_FILE, read_site
from daemons.execd.tasks import Tasks
from daemons.execd.unit_sampler import UnitSampler
from daemons.runtime.cell import read_cell
from daemons.runtime.daemon import announce_end
from daemons.runtime.messages import open_messages, set_loglevel
from daemons.runtime.name_service import NameServiceError
from gridengine.errors import UnavailableError, plain_fault
from gridengine.files.incarnation import incarnation
from gridengine.protocols.delivery import (
    Acknowledgement,
    Batch,
    Configure,
    Ended,
    Forget,
    HostFaults,
    Instruction,
    Renice,
    Report,
    Signal,
    Start,
    decode,
    encode,
)
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.usage.failed import BEFORE_CONFIG, EARLY
from gridengine.values.task_key import TaskKey
from gridengine.values.topology import Core

_log = logging.getLogger(__name__)

#: longest time that a start waits for the answer to an inventory, seconds
_INVENTORY_S = 30.0
#: until the qmaster has sent the configuration; sge_conf(5) load_report_time
_LOAD_REPORT_S = 40.0
#: time for the answer to a shutdown to get away, and for jobs that end with the daemon to be reported as ended
_SHUT_DOWN_S, _LAST_ENDS_S = 0.2, 3.0
_LOCK = "actor.lock"


class ExecHost:
    """One exec host. `host`: its unique name in the cell; `send(data)`: passes an encoded Batch of reports to the qmaster, and
    returns its verdicts or raises."""

    def __init__(self, host: str, sge_root: str, sge_cell: str, send: Callable[[bytes], Awaitable[bytes]]) -> None:
        cell = read_cell({"SGE_ROOT": sge_root, "SGE_CELL": sge_cell})
        site = read_site(host, sge_root, sge_cell, cell.execd_spool(host))
        open_messages(site.messages, "execd", host, component="execd", as_json=cell.json_log)
        self._lock = _lock_alone(site.spool / _LOCK)
        self._host, self._site = host, site
        self._closing = False
        self._names = SensorHostNames(cell, host)
        self._sensors = LoadSensors(
            lambda: configured_sensors(self._tasks.configuration, cell.common),
            sensor_starter(cell, site),
            self._report_sensed_load,
            partial(write_faults, site.spool),
        )
        self._assigner = ResourceAssigner(load.host_topology(), permitted_processors(), partial(prepare_cgroups, site))
        self._devices = DeviceWatch(self._report_sensed_load)
        self._load = load.LoadReporter(
            incarnation(),
            sensed=self._read_sensors,
            cores_in_use=self._cores_in_use,
            cgroups=self._cgroups,
            devices=lambda: (self._devices.devices, self._devices.fault),
        )
        self._attempt_log = AttemptLog(site.spool / "tries", int(time.time() * 1000))
        self._tasks = Tasks(site, self._attempt_log, self._report, self._assigner, self._report_sensed_load)
        self._sampler = UnitSampler(self._tasks.unit_meters, self._devices.read_every)
        self._devices.on_reading = self._sampler.take
        self._health = Health(site, self._report)
        self._outputs = OutputReader(self._tasks.directories, self._tasks.ended_outputs)
        self._reporter = Reporter(
            send,
            self._attempt_log,
            full=self._full_reports,
            on_acknowledged=self._tasks.acknowledged,
            on_forget=self._forget,
            on_orphans=self._tasks.keep_orphans,
            on_unknown=self._unknown_hosts,
        )
        self._tasks.find_ends()
        self._configured = asyncio.Event()
        configuration = read_configuration(site.spool)
        if configuration is not None:
            self._apply(configuration)
        self._background = {
            asyncio.get_running_loop().create_task(keep_running(name, work))
            for name, work in (
                ("the connection to the launcher", self._tasks.launcher.run),
                ("reports to the qmaster", self._reporter.run),
                ("load reports", self._report_load),
                ("the measurement of usage", self._measure_usage),
                ("the check of the spool directory", self._health.run),
                ("the watch of devices", self._devices.run),
            )
        }

    async def ping(self) -> str:
        """Answer with the host's name."""
        return self._host

    async def deliver(self, data: bytes) -> bytes:
        """Carry out a `Batch` of instructions; the answer holds an acknowledgement for each, in order.

        A batch that arrives after a later batch, or from an earlier qmaster, is refused as a whole.
        """
        batch = decode(data)
        if not self._attempt_log.obey(batch.master):
            _log.warning("instructions that came late are refused: %s after %s", batch.master, self._attempt_log.master)
            return encode(Batch(refused=True, master=self._attempt_log.master))
        answers = await asyncio.gather(*(self._answer(instruction, batch) for instruction in batch.instructions))
        return encode(Batch(acknowledgements=answers))

    async def _answer(self, instruction: Instruction, batch: Batch) -> Acknowledgement:
        """Carry an instruction out; its failure affects its own acknowledgement alone."""
        try:
            return await self._carry_out(instruction, batch)
        except (UnavailableError, NameServiceError, TimeoutError) as reason:
            return Acknowledgement(False, reason=str(reason) or "the qmaster has not answered reports", again=True)
        except Exception as error:  # one instruction must not fail its batch
            _log.exception("cannot carry out %s", type(instruction).__name__.lower())
            return Acknowledgement(False, EARLY, f"{type(error).__name__}: {error}")

    async def read_output(self, data: bytes) -> bytes:
        """Read the end of a task's output (`OutputRequest` -> `OutputTail`), with the rights of its owner."""
        return await self._outputs.answer(data)

    async def shut_down(self, kill_jobs: bool = False) -> None:
        """End the host's daemon; jobs go on unless `kill_jobs`. Source: qconf(1) -ke, -kej.

        Their ends are still reported if they come soon; nothing else is reported or carried out.
        """
        self._closing = True
        pid = announce_end(self._site.spool / PID_FILE)
        if kill_jobs:
            try:
                await self._tasks.end_all(_LAST_ENDS_S)
            except UnavailableError as reason:
                _log.error("jobs go on: %s", reason)
        asyncio.get_running_loop().call_later(_SHUT_DOWN_S, os.kill, pid, signal.SIGTERM)

    async def _carry_out(self, instruction: Instruction, batch: Batch) -> Acknowledgement:
        if self._closing:
            raise UnavailableError("the host's daemon is shutting down")
        match instruction:
            case Start():
                await self._tasks.remove_earlier_attempts(instruction)
                async with asyncio.timeout(_INVENTORY_S):
                    await self._reporter.wait_until_inventoried()
                return await self._start(instruction, batch)
            case Signal():
                answer = await self._tasks.signal(instruction)
                if not answer.ok:
                    self._reporter.send_everything()  # the qmaster expects a task that is not here
                return answer
            case Renice():
                return await self._tasks.renice(instruction)
            case Forget():
                return await self._tasks.forget(instruction)
            case Configure():
                return self._configure(instruction)

    async def _start(self, start: Start, batch: Batch) -> Acknowledgement:
        """Start a task; if its directory cannot be made, check whether the host can make any."""
        answer = await self._tasks.start(start, batch.master, batch.scripts.get(start.job.id))
        if answer.failed == BEFORE_CONFIG:
            answer.host_faults = await self._health.check()
        return answer

    def _configure(self, instruction: Configure) -> Acknowledgement:
        """Apply a configuration. A qmaster that has (re)started sends it, so all reports are sent to it again."""
        try:
            save_configuration(self._site.spool, instruction.configuration)
        except OSError as error:  # a full disk: the configuration is in force all the same
            _log.error("cannot keep the configuration: %s", plain_fault(error))
        self._apply(HostConfiguration.of(instruction.configuration))
        self._reporter.send_everything()
        return Acknowledgement()

    def _apply(self, configuration: HostConfiguration) -> None:
        self._tasks.configuration = configuration
        if not configuration.execd_params.keep_active and (kept := set_kept_aside(self._site)):
            _log.info("KEEP_ACTIVE is off: directories of %d ended tasks are removed", len(kept))
            asyncio.get_running_loop().run_in_executor(None, remove_all, kept)
        self._reporter.configure(configuration)
        self._assigner.configure(configuration)
        self._sampler.configure(configuration)
        note_cgroups(self._site.spool, self._assigner.cgroups)
        set_loglevel(configuration.loglevel)
        self._configured.set()
        self._sensors.ask()

    # --- reports --------------------------------------------------------------------------------------------------

    def _report(self, *reports: Report) -> None:
        self._reporter.add(*(report for report in reports if not self._closing or isinstance(report, Ended)))

    def _full_reports(self) -> list[Report]:
        """The reports that the qmaster needs after a restart of either side."""
        return [self._tasks.inventory(incarnation()), self._load.full(time.time()), HostFaults(self._health.faults)]

    def _forget(self, keys: list[TaskKey]) -> None:
        forgetting = asyncio.get_running_loop().create_task(self._tasks.forget_all(keys))
        self._background.add(forgetting)
        forgetting.add_done_callback(self._background.discard)

    def _read_sensors(self) -> load.SensorValues:
        """Return values that load sensors report for this host, and for other hosts by their unique names."""
        others: dict[str, dict[str, str]] = {}
        for name, values in self._sensors.figures().items():
            others.setdefault(self._names.unique(name), {}).update(values)
        return self._devices.load_values() | others.pop(self._host, {}), others

    def _cores_in_use(self) -> set[Core]:
        return self._assigner.cores_in_use

    def _cgroups(self) -> str:
        found = self._assigner.cgroups
        return "" if found is None else f"v{found.version}" if found.limit_memory else "none"

    def _report_sensed_load(self) -> None:
        """Report that values of load sensors, cores in use, or devices have changed."""
        self._report(self._load.sensed(time.time()))

    def _unknown_hosts(self, hosts: list[str]) -> None:
        self._load.unknown_hosts(hosts)
        self._sensors.unknown_hosts(hosts, self._names.unique)

    async def _report_load(self) -> None:
        """Load values every load_report_time, the first at once (as part of everything)."""
        while True:
            await self._pause()
            self._report(self._load.changes(time.time()))
            self._sensors.ask()

    async def _measure_usage(self) -> None:
        """Usage of running tasks, every load_report_time; never if PDC_INTERVAL is NEVER."""
        while True:
            await self._pause()
            configuration = self._tasks.configuration
            if configuration is not None and configuration.pdc_interval_s is not None:
                await self._tasks.measure()

    async def _pause(self) -> None:
        """Wait for the load report interval; a new configuration counts from its arrival."""
        while True:
            self._configured.clear()
            configuration = self._tasks.configuration
            interval_s = _LOAD_REPORT_S if configuration is None else configuration.load_report_time_s
            try:
                async with asyncio.timeout(interval_s):  # wait_for may lose a cancellation here (Python 3.11)
                    await self._configured.wait()
            except TimeoutError:
                return


def _lock_alone(path: Path) -> int:
    """Wait until no other execd of this host lives, and keep further processes out while this process lives.

    An actor whose node has been killed dies with it; until then two of them would change the same files.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor
