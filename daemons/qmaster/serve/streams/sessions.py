"""Interactive sessions in the qmaster: the host and port of a job's streams, and the ticket for its owner.

Owns the ports that hosts have reported since this process started, and the rule that only a job's owner is admitted. No byte of
a session passes here. Called by the service. Source: docs/interactive.md; IA-10.
"""

from __future__ import annotations

from daemons.qmaster.serve.hosts.known_hosts import KeyOf
from daemons.runtime.tickets import session_ticket
from gridengine.protocols.gdi.requests import Answer, Caller, OpenSession
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.values.task_key import SlaveKey, TaskKey

#: METHOD_command and METHOD_daemon of sge_conf(5) configure how its client reaches a job. Source: remote_startup(5) (IA-5)
_METHODS = {"qrsh": "rsh", "qrlogin": "rlogin", "qlogin": "qlogin"}

BUILTIN = "builtin"


class Sessions:
    """`key_of(host)`: the key of a host, with which its tickets are made; "" for a host that is not trusted."""

    def __init__(self, key_of: KeyOf) -> None:
        self._key_of = key_of
        self._ports: dict[str, int] = {}

    def heard(self, host: str, port: int) -> None:
        """A host's daemon is up and accepts clients at this port."""
        self._ports[host] = port

    def _port(self, host: str) -> int:
        return self._ports.get(host, 0) if self._key_of(host) else 0

    def open(self, state: State, request: OpenSession, caller: Caller) -> Answer:
        """The address of the session: `{"task", "host", "port", "ticket", "method", "command"}`.

        `host` "" while the job is not placed, `port` 0 while its host's daemon has not reported.
        """
        job = state.jobs.get(request.job_id)
        if job is None:
            return Answer(1, [("error", f"denied: job {request.job_id} does not exist")])
        if job.owner != caller.user:
            # a manager may end the job, but only its owner may see the session
            return Answer(1, [("error", f'denied: job {job.id} belongs to "{job.owner}", not to "{caller.user}"')])
        if request.slave:
            return self._open_slave(state.task(job.id, request.task_id), job, request)
        if job.kind not in _METHODS:
            return Answer(1, [("error", f"denied: job {job.id} has no session: it was not started by qrsh or qlogin")])
        task = job.tasks.get(request.task_id)
        if task is None or not task.host:
            return Answer(data={"host": ""})
        key, method = TaskKey(job.id, task.id, task.attempt), _METHODS[job.kind]
        return Answer(
            data={
                "task": key,
                "host": task.host,
                "port": self._port(task.host),
                "ticket": session_ticket(self._key_of(task.host), key, (job.owner, job.submit_time)),
                "method": method,
                "command": getattr(state.configuration(caller.host), f"{method}_command"),
            }
        )

    def _open_slave(self, task: Task | None, job: Job, request: OpenSession) -> Answer:
        """Return the address of a slave task of a parallel job; for an ended slave task, its exit status (TI-4)."""
        slave = task.slaves.get(request.slave) if task is not None else None
        if task is None or slave is None:
            return Answer(1, [("error", f"denied: job {job.id} no longer has a task {request.slave}")])
        if slave.over:
            outcome = {"exit_status": slave.exit_status, "failed": slave.failed, "reason": slave.reason}
            return Answer(1, [("error", f"task {slave.number} of job {job.id} is over")], outcome)
        key = SlaveKey(job.id, task.id, task.attempt, slave.number)
        ticket = session_ticket(self._key_of(slave.host), key, (job.owner, job.submit_time))
        return Answer(
            data={
                "task": key,
                "host": slave.host,
                "port": self._port(slave.host),
                "ticket": ticket,
                # never the configured method of user sessions: its processes could not be controlled as one task
                "method": "rsh",
                "command": BUILTIN,
            }
        )
