"""Interactive sessions as the qmaster knows them: which host has a job's streams, at which port, and who gets a ticket.

Owns the ports that hosts have told since this process began, and the rule that a job's owner alone is let in. No byte of
a session passes here. Called by the service. Source: docs/interactive.md; IA-10.
"""

from __future__ import annotations

from daemons.qmaster.serve.known_hosts import KeyOf
from daemons.runtime.tickets import session_ticket
from gridengine.gdi.requests import Answer, Caller, OpenSession
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.task_key import SlaveKey, TaskKey

#: METHOD_command and METHOD_daemon of sge_conf(5) say how its client gets to a job. Source: remote_startup(5) (IA-5)
_METHODS = {"qrsh": "rsh", "qrlogin": "rlogin", "qlogin": "qlogin"}

BUILTIN = "builtin"


class Sessions:
    """`key_of(host)`: the key of a host, which tickets for it are made with; "" for a host that is not believed."""

    def __init__(self, key_of: KeyOf) -> None:
        self._key_of = key_of
        self._ports: dict[str, int] = {}

    def heard(self, host: str, port: int) -> None:
        """A host's daemon lives and lets clients in at this port."""
        self._ports[host] = port

    def _port(self, host: str) -> int:
        return self._ports.get(host, 0) if self._key_of(host) else 0

    def open(self, state: State, request: OpenSession, caller: Caller) -> Answer:
        """The way to the session: `{"task", "host", "port", "ticket", "method", "command"}`.

        `host` "" while the job has no place yet, `port` 0 while nothing is known of its host's daemon.
        """
        job = state.jobs.get(request.job_id)
        if job is None:
            return Answer(1, [("error", f"denied: job {request.job_id} does not exist")])
        if job.owner != caller.user:
            # a manager may end the job, but what its owner types is his alone
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
        """The way to a slave task of a parallel job; of one that is over, how it ended (TI-4)."""
        slave = task.slaves.get(request.slave) if task is not None else None
        if task is None or slave is None:
            return Answer(1, [("error", f"denied: job {job.id} has no task {request.slave} any more")])
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
                # whatever is configured for sessions of users: what it starts could not be held together
                "method": "rsh",
                "command": BUILTIN,
            }
        )
