"""A cell in memory on virtual time: the decisions of the qmaster and the runs of the scheduler, without files, daemons and hosts.

Owns the configuration of such a cell, and the acts of its users and hosts. Hosts are up, and report no load. Called by `replay`.
Source: adr/0315.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

from dateutil.tz import tzlocal
from msgspec.structs import replace

from daemons.qmaster.decide import decide
from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.hosts.reports import host_reports
from daemons.qmaster.decide.jobs.admission import check_limits
from daemons.qmaster.decide.jobs.job_fields import check_job_name
from daemons.qmaster.decide.jobs.share_usage import usage_charges
from daemons.qmaster.decide.jobs.submission import accept_job, next_job_id
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.rules.following import FOLLOWERS
from daemons.qmaster.rules.task_ends import conclude_task
from daemons.simulator.virtual_master import VirtualMaster
from gridengine.errors import ConfigError
from gridengine.kinds import KIND
from gridengine.protocols.delivery import Ended, Load
from gridengine.protocols.gdi.requests import Answer, Caller, ChangeObjects, ObjectChange, Submit
from gridengine.state.jobs import Job
from gridengine.state.state import State

TEMPLATES = frozenset({"global", "template"})
_LOAD = {"arch": "lx-amd64", "load_avg": "0.00", "np_load_avg": "0.00", "cpu": "0.0"}
_ROOT = Caller("root", 0, "root", 0, "")
Objects = Mapping[str, Mapping[str, dict[str, str]]]


class VirtualCell(VirtualMaster):
    """A cell of these objects (kind -> name -> attributes) at the time `now`, epoch s. `zone`: of its calendars.

    `submit_host`: a host from which users may submit jobs, "" for none. `slots`: all slots of all queues.
    Raises ConfigError with the sentences of the qmaster if no cell can have these objects.
    """

    def __init__(self, objects: Objects, now: float, zone: tzinfo | None = None) -> None:
        super().__init__(State(), now, zone or tzlocal(), FOLLOWERS)
        self.submit_host = ""
        self._configure(objects)
        hosts = [name for name in self.state.kind("exec_host") if name not in TEMPLATES]
        self.submit_host = next(iter((*self.state.kind("submit_host"), *self.state.kind("admin_host"))), "")
        for name in hosts:
            report = Load(now, self._load(name), full=True)
            self.record(host_reports(self.state, name, [report], self.world(), lambda *_: False))
        self.slots = sum(config.slots for config in self.state.configs.values())
        if not self.slots:
            raise ConfigError("cell", "", "", "the configuration has no queue with slots on a host")

    def world(self) -> World:
        """The facts outside the state."""
        return replace(super().world(), master_host=self.submit_host)

    def record(self, decision: Decision) -> None:
        """Apply a decision and its consequences; each accounting record is charged to the share tree."""
        decision.events.extend(usage_charges(self.state, decision.accounting))
        super().record(decision)

    def _configure(self, objects: Objects) -> None:
        """Set all objects in one transaction, as `gridengine config apply` does."""
        changes = [ObjectChange(kind, name, None, text) for kind in KIND for name, text in objects.get(kind, {}).items()]
        decision = decide(self.state, "config_change", ChangeObjects(changes), _ROOT, self.world())
        if decision.refused or not decision.events:
            raise ConfigError("cell", "", "", "; ".join(text for level, text in decision.answer.answers if level == "error"))
        self.record(decision)

    def _load(self, host: str) -> dict[str, str]:
        """The report of an idle host with as many processors as it has slots."""
        slots = [config.slots for name, config in self.state.configs.items() if name.endswith(f"@{host}")]
        return {**_LOAD, "num_proc": str(max(slots, default=1))}

    def submit(self, request: Submit, caller: Caller) -> Answer:
        """Submit a job; the answer as `qsub` gets it."""
        decision = decide(self.state, "submit", request, caller, self.world())
        self.record(decision)
        return decision.answer

    def submit_like(self, accepted: Job, name: str) -> Answer:
        """Submit a job that differs from an `accepted` job in number, name and time alone: the rest was checked before."""
        owner = Caller(accepted.owner, accepted.uid, accepted.group, accepted.gid, accepted.submit_host)
        try:
            check_limits(self.state, self.state.configuration(), owner)
            check_job_name(name)
        except RefusedError as refusal:
            return Decision().refuse(refusal.text, refusal.status).answer
        number = next_job_id(self.state)
        job = replace(accepted, id=number, name=name, submit_time=self.now)
        self.record(accept_job(self.state, job, Payload(None, {}), self.now))
        return Answer(data={"job_id": number})

    def end(self, ended: Ended) -> None:
        """A task ends, as its host reports it."""
        task = self.state.jobs[ended.key.job].tasks[ended.key.task]
        self.record(conclude_task(self.state, task.host, ended, self.now))
