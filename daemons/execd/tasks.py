"""The tasks on this host: carries out instructions, notices ends, passes both to the reporter.

Owns the set of tasks here, in memory a mirror of `active_jobs`: after any restart it is read again from disk, which is
authoritative. Must not know Ray. Called by the execd actor. Source: docs/architecture.md section 5 (EX-9).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TypeVar

from daemons.execd import active_jobs, task_log
from daemons.execd.accounts import Accounts
from daemons.execd.attempt_log import AttemptLog
from daemons.execd.ended_outputs import EndedOutputs
from daemons.execd.environment import Account
from daemons.execd.idleness import Idleness
from daemons.execd.job_scripts import JobScripts, Reader
from daemons.execd.launcher_client import LauncherClient, LauncherLostError
from daemons.execd.resource_assignment import ResourceAssigner, confinement
from daemons.execd.site import HostSite
from daemons.execd.task_config import device_refusal, gid_of, limits
from daemons.execd.unit_meters import UnitMeters, gpus_of, since_boot
from gridengine.errors import UnavailableError, plain_fault
from gridengine.protocols.delivery import (
    Acknowledgement,
    Checkpointed,
    Forget,
    Inventory,
    Origin,
    Renice,
    Signal,
    Stamp,
    Start,
    Started,
    UsageReport,
)
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.usage.failed import BEFORE_CONFIG, BEFORE_JOB, EARLY
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

#: the shepherd's command for a command of the qmaster
_SHEPHERD_COMMANDS = {"run": "resume", "suspend": "suspend", "migrate": "migrate", "kill": "terminate", "end": "end"}
#: time that a shepherd may take to write its usage file, and to find out that a method cannot be executed, seconds
_USAGE_WAIT_S, METHOD_S = 0.5, 2.0
#: time that an instruction waits for the launcher, which its supervisor restarts at once, and for an earlier attempt
_PATIENCE_S, _RETRY_S = 5.0, 0.1
#: time for which the script of a job without tasks here is kept for its next task, seconds
SCRIPT_KEPT_S = 5.0


class Tasks:
    """All tasks of the host. `report(*reports)` hands reports to the qmaster, which may take a while."""

    def __init__(
        self, site: HostSite, attempt_log: AttemptLog, report: Callable[..., None],
        assigner: ResourceAssigner, cores_changed: Callable[[], None],
    ) -> None:
        self._site, self._report, self._cores_changed = site, report, cores_changed
        self._attempt_log, self._assigner, self._accounts = attempt_log, assigner, Accounts(site.host)
        self.configuration: HostConfiguration | None = None
        on_disk = active_jobs.read_tasks(site)
        self.directories: dict[TaskKey, Path] = {key: site.task_directory(key) for key in on_disk}
        self._submitted = {key: task.submitted for key, task in on_disk.items()}
        self._confinements = {key: task.confinement for key, task in on_disk.items()}
        self._scripts, self.ended_outputs = JobScripts(site.job_scripts), EndedOutputs()
        self._scripts.keep_only({key[0] for key in on_disk})
        self.unit_meters = UnitMeters(site.host)
        for key, task in on_disk.items():
            assigner.restore(key, task.cores, task.gpus)
            self.unit_meters.add(key, self.directories[key], gpus_of(task.origin, task.gpus))
        self._by_path = {str(directory): key for key, directory in self.directories.items()}
        self._origins = {key: task.origin for key, task in on_disk.items()}
        self._orphans: set[TaskKey] = set()  # the qmaster does not know them
        self._ended: set[TaskKey] = set()  # the end is known and is being reported to the qmaster
        self._forgotten: set[TaskKey] = set()  # the end is not to be reported
        self._idle: dict[TaskKey, Idleness] = {}
        self._checkpointed: set[TaskKey] = set()  # the checkpoint was reported to the qmaster
        self.launcher = LauncherClient(
            site.spool / "launcher.sock", self._on_shepherd_exit, self._on_launcher_connected, assigner.launcher_started
        )

    def find_ends(self) -> None:
        """Report the ends that came while this daemon was down."""
        for key in list(self.directories):
            self._check_end(key)

    # --- instructions ---------------------------------------------------------------------------------------------

    async def start(self, start: Start, stamp: Stamp, script: bytes | None = None) -> Acknowledgement:
        """Run a task, once: a running attempt is acknowledged again, an attempt that has ended here is answered `over`.

        `stamp`: of the qmaster's message; `script`: of the job, None if the host should have the script already. Not `ok`:
        the task cannot be started, with `failed` as in sge_status(5), or the script is needed. Raises UnavailableError.
        """
        key, configuration = start.key, self.configuration
        if configuration is None:
            raise UnavailableError("the host has no configuration yet")
        if not self._assigner.is_ready:
            raise UnavailableError("the launcher of the host does not run")
        if any(orphan[:2] == key[:2] for orphan in self._orphans):
            reason = f"another task {key[0]}.{key[1]}, which the cell does not know, is on this host (qdel -f ends it)"
            return task_log.refusal(key, EARLY, reason)
        account = None if key in self.directories else await self._accounts.find(start.job)
        if account is not None and key not in self.directories:
            # no await may come between these checks and the making of the directory
            if not self._attempt_log.is_current(stamp):
                raise UnavailableError("a later instruction of the qmaster has arrived")
            if self._attempt_log.has_ended(key, start.submit_time) or self._is_outdated(start):
                return Acknowledgement(False, over=True)
            try:
                if isinstance(account, active_jobs.TaskStartError):
                    raise account
                if not self._has_script(start, script, Reader(account.uid, gid_of(start, configuration, account))):
                    return Acknowledgement(False, needs_script=True)
                self._prepare(start, configuration, account)
                task_log.log_start(start)
            except active_jobs.TaskStartError as fault:
                self._release_script(start.job.id)
                return task_log.refusal(key, fault.failed, str(fault))
        directory, wrapper, owner = str(self.directories[key]), configuration.shepherd_cmd, start.job.owner
        try:
            await self._retry_until_launcher_answers(lambda: self.launcher.start(directory, wrapper, owner))
        except ValueError as error:
            if key not in self.directories:
                return Acknowledgement(False, over=True)
            self._drop(key)  # none of its processes has started
            return task_log.refusal(key, EARLY, str(error))
        if key in self.directories and key not in self._ended:  # a short job may have ended already
            self._report(Started(key, time.time(), self._confinements.get(key)))
        return Acknowledgement(confinement=self._confinements.get(key))

    def _has_script(self, start: Start, script: bytes | None, reader: Reader) -> bool:
        """Whether the job's script is on this host, or can be written. Raises TaskStartError."""
        if not start.script or self._scripts.has(start.job.id, reader):
            return True
        if script is None:
            return False
        try:
            self._scripts.write(start.job.id, script, reader)
        except OSError as error:
            reason = f"cannot write the script of job {start.job.id}: {plain_fault(error)}"
            raise active_jobs.TaskStartError(BEFORE_CONFIG, reason) from error
        return True

    def _prepare(self, start: Start, configuration: HostConfiguration, account: Account) -> None:
        """Make the task's directory and assign its resources. Raises TaskStartError."""
        wrapper = configuration.shepherd_cmd
        if wrapper is not None and not os.access(wrapper, os.X_OK):
            raise active_jobs.TaskStartError(BEFORE_JOB, f"cannot execute shepherd_cmd {wrapper}")
        if refusal := device_refusal(start, self._assigner.cgroups, configuration):
            raise active_jobs.TaskStartError(BEFORE_JOB, refusal)
        assigned = self._assigner.assign(start, configuration, self._site.host)
        try:
            directory = active_jobs.create(start, self._site, configuration, assigned, account)
        except Exception:
            self._assigner.release(start.key)
            raise
        self.directories[start.key] = directory
        self._submitted[start.key] = start.submit_time
        self._by_path[str(directory)] = start.key
        origin = self._origins[start.key] = Origin.of(start)
        self.unit_meters.add(start.key, directory, gpus_of(origin, assigned.gpus))
        limited = limits(start, configuration) if assigned.cgroups is not None else {}
        self._confinements[start.key] = confinement(assigned, limited)
        if assigned.cores:
            self._cores_changed()

    def _is_outdated(self, start: Start) -> bool:
        """Whether a later attempt of the task is here: this start was delayed."""
        return any(
            other[:2] == start.key[:2] and other.attempt > start.key.attempt and self._submitted.get(other) == start.submit_time
            for other in self.directories
        )

    async def remove_earlier_attempts(self, start: Start) -> None:
        """Before a start: remove the remains of other attempts; an attempt that still runs is killed. Raises UnavailableError."""
        key, until = start.key, time.monotonic() + _PATIENCE_S
        if self._is_outdated(start):
            return
        for other in [other for other in self.directories if other[:2] == key[:2] and other.attempt != key.attempt]:
            await self._forget(other)
            while other in self.directories:
                if time.monotonic() > until:
                    raise UnavailableError(f"attempt {other[2]} of task {key[0]}.{key[1]} still ends")
                await asyncio.sleep(_RETRY_S)

    async def signal(self, instruction: Signal) -> Acknowledgement:
        """Carry out a command on a running task; a command on an ended task has no effect, since the end will be reported.

        Not `ok`: the task is not here. Raises UnavailableError.
        """
        if instruction.key not in self.directories:
            return Acknowledgement(False, reason="the task is not on this host")
        task_log.log_command(instruction.key, self._owner(instruction.key), instruction.command)
        await self._command(instruction.key, _SHEPHERD_COMMANDS[instruction.command])
        asyncio.get_running_loop().call_later(METHOD_S, self._log_faults, instruction.key)
        return Acknowledgement()

    def _log_faults(self, key: TaskKey) -> None:
        if key in self.directories:
            task_log.log_faults(key, self._owner(key), self.directories[key])

    async def renice(self, instruction: Renice) -> Acknowledgement:
        """Change the nice value of a task's processes. Not `ok`: the task is not here. Raises UnavailableError."""
        if instruction.key not in self.directories:
            return Acknowledgement(False, reason="the task is not on this host")
        await self._command(instruction.key, f"nice={instruction.nice}")
        return Acknowledgement()

    async def forget(self, instruction: Forget) -> Acknowledgement:
        """Remove a task's files; its processes are killed first. Raises UnavailableError."""
        await self._forget(instruction.key)
        return Acknowledgement()

    async def forget_all(self, keys: Iterable[TaskKey]) -> None:
        """Forget tasks by a verdict of the qmaster, which repeats it after the next inventory."""
        for key in keys:
            try:
                await self._forget(key)
            except UnavailableError as reason:
                _log.warning("cannot forget task %d.%d: %s", *key[:2], reason)

    async def end_all(self, within_s: float) -> None:
        """End every running task, as by `qconf -kej`; checkpointing jobs with `s` migrate (CK-5).

        Returns when the qmaster has all ends, at the latest after `within_s`. Raises UnavailableError.
        """
        for key in list(self.directories):
            if key in self.directories:  # a task may end while the command is passed to another task
                await self._command(key, "shutdown")
        until = time.monotonic() + within_s
        while self.directories and time.monotonic() < until:
            await asyncio.sleep(_RETRY_S)

    async def _forget(self, key: TaskKey) -> None:
        directory = self.directories.get(key)
        if directory is None:
            return
        self._forgotten.add(key)  # removed when its shepherd has ended
        if active_jobs.read_end(key, directory) is not None or not await self._command(key, "kill"):
            if key in self.directories:
                self._remove([key])
        else:
            task_log.log_unwanted(key, self._owner(key))

    def _owner(self, key: TaskKey) -> str:
        return self._origins.get(key, Origin()).owner

    async def _command(self, key: TaskKey, command: str) -> bool:
        """Pass a command to the task's shepherd; False when none runs. Raises UnavailableError."""
        path = str(self.directories[key])
        return await self._retry_until_launcher_answers(lambda: self.launcher.signal(path, command))

    async def _retry_until_launcher_answers(self, request: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Repeat a request while there is no launcher. Raises UnavailableError."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return await request()
            except LauncherLostError:
                if time.monotonic() > until:
                    raise UnavailableError("the launcher of the host does not run") from None
                await asyncio.sleep(_RETRY_S)

    # --- inventory and orphans -------------------------------------------------------------------------------------

    def inventory(self, incarnation: str) -> Inventory:
        """All tasks here, with their origins. The ends of orphans are reported again: this qmaster may know them."""
        again, self._orphans = self._orphans, set()
        for key in sorted(again & self._ended):
            self._ended.discard(key)
            self._check_end(key)
        keys = sorted(self.directories)
        return Inventory(keys, incarnation, [self._origins.get(key, Origin()) for key in keys])

    def keep_orphans(self, keys: Iterable[TaskKey]) -> None:
        """Keep tasks that the qmaster does not know: they go on, and their ends stay here until a qmaster takes them."""
        for key in keys:
            if key in self.directories and key not in self._orphans:
                self._orphans.add(key)
                _log.warning("the qmaster does not know task %d.%d; it is left alone", *key[:2])

    # --- ends -----------------------------------------------------------------------------------------------------

    def acknowledged(self, keys: Iterable[TaskKey]) -> None:
        """The qmaster has the ends of these attempts."""
        self._remove([key for key in keys if key in self.directories])

    def _on_shepherd_exit(self, directory: str) -> None:
        key = self._by_path.get(directory)
        if key is not None:
            self._check_end(key)

    def _on_launcher_connected(self, running: list[str]) -> None:
        """Check the tasks whose shepherds ended while there was no connection: their ends are on disk."""
        alive = set(running)
        for key, directory in list(self.directories.items()):
            if str(directory) not in alive:
                self._check_end(key)

    def _check_end(self, key: TaskKey) -> None:
        if key in self._ended:
            return
        end = active_jobs.read_end(key, self.directories[key])
        if end is None:
            return
        if key in self._forgotten:
            self._remove([key])
            return
        self._release(key)
        self._ended.add(key)
        end.units = self.unit_meters.end(key, end.end_time - end.start_time if end.start_time else 0.0)
        if self._reports_allocation and end.start_time:
            end.usage |= active_jobs.reserved_usage(self.directories[key], end.usage.get("ru_wallclock", 0.0))
        self._log_faults(key)
        task_log.log_end(end, self._owner(key))
        self._report(end)

    def _release(self, key: TaskKey) -> None:
        if self._assigner.release(key):
            self._cores_changed()

    def _remove(self, keys: list[TaskKey]) -> None:
        """Remove tasks that have ended. Their attempts stay noted after their directories are gone, against delayed starts."""
        if keys:
            self._attempt_log.add({key: self._submitted[key] for key in keys})
        for key in keys:
            self._drop(key)

    def _drop(self, key: TaskKey) -> None:
        self._release(key)
        self._submitted.pop(key, None)
        self._confinements.pop(key, None)
        directory = self.directories.pop(key)
        del self._by_path[str(directory)]
        self._origins.pop(key, None)
        for known in (self._ended, self._forgotten, self._checkpointed, self._orphans):
            known.discard(key)
        self._idle.pop(key, None)
        self.unit_meters.remove(key)
        self.ended_outputs.note(key, directory)
        keep = self.configuration is not None and self.configuration.execd_params.keep_active
        active_jobs.remove(self._site, directory, keep)
        self._release_script(key[0])

    def _release_script(self, job_id: int) -> None:
        """Remove the script of a job that has no tasks here, unless a task arrives soon."""
        if not self._has_tasks(job_id):
            asyncio.get_running_loop().call_later(SCRIPT_KEPT_S, self._drop_script, job_id)

    def _has_tasks(self, job_id: int) -> bool:
        return any(key[0] == job_id for key in self.directories)

    def _drop_script(self, job_id: int) -> None:
        if not self._has_tasks(job_id):
            self._scripts.remove(job_id)

    # --- usage ----------------------------------------------------------------------------------------------------

    async def measure(self) -> None:
        """Have the running shepherds measure, and report usage that has changed (EX-8), and first checkpoints (CK-7)."""
        running = [key for key in self.directories if key not in self._ended and self._idle.setdefault(key, Idleness()).is_due()]
        for key in running:
            try:
                await self._command(key, "usage")
            except (UnavailableError, KeyError):
                continue
        await asyncio.sleep(_USAGE_WAIT_S)
        for key in running:
            self._log_faults(key)
            directory = self.directories.get(key)
            usage = None
            if directory is not None and key not in self._ended:
                usage = active_jobs.current_usage(directory, with_reservation=self._reports_allocation)
            if usage is not None and directory is not None:
                usage.units = self.unit_meters.usage(key, active_jobs.running_seconds(directory, since_boot()))
            if usage is not None and key in self._idle and self._idle[key].note_usage(usage):
                self._report(UsageReport(key, usage))
            pid = active_jobs.read_checkpoint(directory) if directory is not None and key not in self._checkpointed else 0
            if pid:
                self._checkpointed.add(key)
                self._report(Checkpointed(key, pid))

    @property
    def _reports_allocation(self) -> bool:
        return self.configuration is not None and self.configuration.execd_params.acct_reserved_usage
