"""Resources of this host that a task gets for itself, beside plain limits: processor cores, GPUs and cgroups.

Owns the assignment of cores and GPUs to tasks: a core is assigned while any process of its task may run, and after a restart
the assignments are read from the files of the tasks. Called by `tasks`. Source: sge_submit(1) -binding, sge_conf(5)
ENABLE_BINDING, USE_CGROUPS; EX-18, SO-6; adr/0168, adr/0210.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import TypeVar

from daemons.execd.cgroups import HostCgroups
from gridengine.protocols.delivery import Start
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.jobs import Confinement
from gridengine.values.task_key import TaskKey
from gridengine.values.topology import BindingRequest, Core, Topology, choose, processor_numbers

_Numbers = TypeVar("_Numbers")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AssignedResources:
    """The resources of one task. `kind`: `set`, `env` or `pe` of -binding; `cores`: as (socket, core) each, none without a
    binding; `processors`: the kernel's numbers of its cores; `topology`: of the host with these cores in lower case, "" without a
    binding.

    `cgroups`: None unless ENABLE_CGROUPS is on. `gpus`: numbers of its GPUs.
    """

    kind: str = "set"
    cores: tuple[Core, ...] = ()
    processors: tuple[int, ...] = ()
    topology: str = ""
    cgroups: HostCgroups | None = None
    gpus: tuple[int, ...] = ()


class ResourceAssigner:
    """The assignments of one host. `permitted`: the processors of the daemon itself; other cores are never assigned.
    `find_cgroups_of_launcher`: examines the host, from the process that forks the shepherds.
    """

    def __init__(
        self, topology: Topology, permitted: Collection[int], find_cgroups_of_launcher: Callable[[int], HostCgroups]
    ) -> None:
        self._find_cgroups = find_cgroups_of_launcher
        self._launcher: int | None = None
        self._requested = False
        self.topology = topology
        self._forbidden_cores = {core for core in topology.cores if not set(permitted).issuperset(topology.processors([core]))}
        self._assigned: dict[TaskKey, tuple[Core, ...]] = {}
        self._gpus: dict[TaskKey, tuple[int, ...]] = {}
        self._cgroups: HostCgroups | None = None

    @property
    def cores_in_use(self) -> set[Core]:
        """The cores of all tasks that may still run."""
        return {core for cores in self._assigned.values() for core in cores}

    @property
    def is_ready(self) -> bool:
        """Whether tasks can be started: if jobs are to have cgroups, it is known what this host has."""
        return self._cgroups is not None or not self._requested

    @property
    def cgroups(self) -> HostCgroups | None:
        """None if jobs are to have none, or nothing is known yet."""
        return self._cgroups

    def configure(self, configuration: HostConfiguration) -> None:
        """Apply ENABLE_CGROUPS; when it is switched on, the host is examined again and the finding is logged."""
        self._requested = configuration.execd_params.enable_cgroups
        if not self._requested:
            self._cgroups = None
        elif self._cgroups is None:
            self._examine()

    def launcher_started(self, pid: int) -> None:
        """A launcher serves, before it gets the first request: its shepherds make their cgroups below its own."""
        self._launcher = pid
        if self._requested:
            self._examine()

    def _examine(self) -> None:
        if self._launcher is None:
            return
        before, self._cgroups = self._cgroups, None
        try:
            self._cgroups = self._find_cgroups(self._launcher)
        except OSError:
            return  # it has just ended: the next one is examined
        if self._cgroups.obstacle and (before is None or before.obstacle != self._cgroups.obstacle):
            _log.warning("ENABLE_CGROUPS: no memory limit by cgroups on this host: %s", self._cgroups.obstacle)

    def assign(self, start: Start, configuration: HostConfiguration, host: str) -> AssignedResources:
        """Assign the resources of a task that is to be started, until `release`. A slave task gets no cores of its own by
        `-binding`: where its job is bound, the cgroup of the job is."""
        return replace(self._cores(start, configuration, host), cgroups=self._cgroups, gpus=self._devices(start))

    def _cores(self, start: Start, configuration: HostConfiguration, host: str) -> AssignedResources:
        parameters, text = configuration.execd_params, start.job.binding
        if not text and parameters.cores_per_slot:
            text = f"set linear:{parameters.cores_per_slot * sum(grant.slots for grant in start.granted if grant.host == host)}"
        if not text or not parameters.enable_binding or (start.slave is not None and start.job.binding):
            return AssignedResources()
        request = BindingRequest.parse(text)
        slots = sum(grant.slots for grant in start.granted if grant.host == host)
        cores = _of_attempt(self._assigned, start.key)
        if cores is None:
            used = self.cores_in_use | self._forbidden_cores
            cores = choose(request, self.topology, used | self._far_cores(start), slots)
            cores = cores or choose(request, self.topology, used, slots)
        self._assigned[start.key] = cores
        processors = tuple(self.topology.processors(cores))
        return AssignedResources(request.kind, cores, processors, self.topology.text(cores) if cores else "")

    def _far_cores(self, start: Start) -> set[Core]:
        """The cores that are not near the named units of a task."""
        near, topology = processor_numbers(start.near_processors), self.topology
        return {core for core in topology.cores if near and not near.issuperset(topology.processors([core]))}

    def _devices(self, start: Start) -> tuple[int, ...]:
        """The free GPUs with the lowest numbers: the qmaster has booked no more than there are."""
        if not start.gpus:
            return ()
        mine = _of_attempt(self._gpus, start.key)
        if mine is None:
            taken = {number for numbers in self._gpus.values() for number in numbers}
            mine = tuple(islice((number for number in count() if number not in taken), start.gpus))
        self._gpus[start.key] = mine
        return mine

    def restore(self, key: TaskKey, cores: Collection[Core], gpus: Collection[int] = ()) -> None:
        """Restore the assignment of a task that an earlier execd started."""
        self._assigned[key] = tuple(cores)
        if gpus:
            self._gpus[key] = tuple(gpus)

    def release(self, key: TaskKey) -> bool:
        """No process of the task runs any longer. Returns whether that frees a core."""
        self._gpus.pop(key, None)
        before = self.cores_in_use
        self._assigned.pop(key, None)
        return self.cores_in_use != before


def _of_attempt(given: Mapping[TaskKey, _Numbers], key: TaskKey) -> _Numbers | None:
    """Return the assignment of the job's master or of another slave task of the job here: the assignment covers all of its
    slots."""
    return next((numbers for other, numbers in given.items() if other.master == key.master), None)


def confinement(assigned: AssignedResources, limits: dict[str, float | None]) -> Confinement | None:
    """The confinement that qstat -j shows: the cores, and the way in which memory is limited if ENABLE_CGROUPS is on."""
    memory, cgroups = "", assigned.cgroups
    if cgroups is not None and limits.get("h_vmem") is not None:
        by_process = f"h_vmem by address space, not by cgroup: {cgroups.obstacle}"
        memory = "h_vmem by cgroup" if cgroups.limit_memory else by_process
    return Confinement(assigned.topology, memory) if assigned.topology or memory else None


def permitted_processors() -> set[int]:
    """The processors that this process, and so every job, may use."""
    return os.sched_getaffinity(0)
