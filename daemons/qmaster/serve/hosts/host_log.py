"""One line in `messages` for each loss and each return of an exec host, with its duration, and for each drain.

Owns the time of the last contact with each host, on a monotonic clock; the state has only its reports. Decides nothing.
Called by the service, for messages of hosts and for commits. Source: docs/operations.md.
"""

from __future__ import annotations

import logging

from daemons.qmaster.master import Master
from daemons.qmaster.transaction import Transaction
from daemons.runtime.messages import about
from gridengine.state.machines.closed_units import holders_of_unit
from gridengine.state.machines.host import DevicesReported, HostBooted, HostDrained, HostDrainEnded, HostHeard, HostLost
from gridengine.state.state import State
from gridengine.values.units import format_duration

_log = logging.getLogger(__name__)


class HostLog:
    """Follows a master's transactions. A host without a contact since the start of this process is neither lost nor back."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._last_contact: dict[str, float] = {}
        self._lost: dict[str, float] = {}
        self._stopped: dict[str, str] = {}  # host -> the process of its daemon that was stopped
        self._closed = {name: _flat(host.closed_units) for name, host in master.state.hosts.items()}
        self._incarnations = {name: host.incarnation for name, host in master.state.hosts.items()}
        master.subscribers.append(self.committed)

    def note_contact(self, host: str) -> None:
        """The host sent hello, or a report."""
        self._last_contact[host] = self._master.world().steady

    def note_shutdown(self, host: str) -> None:
        """Its daemon is being ended in order: that is the cause of its next loss."""
        self._stopped[host] = self._master.state.hosts[host].execd

    def was_stopped(self, host: str) -> bool:
        """Whether the last known daemon of a host was ended in order."""
        known = self._master.state.hosts.get(host)
        return known is not None and self._stopped.get(host) == known.execd

    def committed(self, transaction: Transaction) -> None:
        """A transaction is on disk."""
        for event in transaction.events:
            if type(event) is HostLost:
                self._log_loss(event)
            elif type(event) is HostBooted:
                self._log_boot(event)
            elif type(event) is HostHeard and not event.by and event.host in self._lost:
                self._log_return(event.host)
            elif type(event) is HostDrained:
                fields = about("host_drained", hosts=[event.host], by=event.user, reason=event.reason)
                _log.warning("host %s is drained by %s: %s", event.host, event.user, event.reason, extra=fields)
            elif type(event) is DevicesReported:
                self._log_units(event)
            elif type(event) is HostDrainEnded:
                _log.warning("host %s takes jobs again", event.host, extra=about("host_resumed", hosts=[event.host]))

    def _log_units(self, event: DevicesReported) -> None:
        """Log each unit that closes or opens."""
        before, self._closed[event.host] = self._closed.get(event.host, {}), _flat(event.closed)
        after = self._closed[event.host]
        for unit, reason in after.items():
            if before.get(unit) != reason:
                holders = ", ".join(holders_of_unit(self._master.state, event.host, *unit.split("/", 1)))
                kept = f"; it stays with job {holders}" if holders else ""
                fields = about("unit_closed", hosts=[event.host], reason=reason)
                _log.error("%s of host %s is closed: %s; no job gets it%s", unit, event.host, reason, kept, extra=fields)
        for unit in before.keys() - after.keys():
            _log.warning("%s of host %s is open again", unit, event.host, extra=about("unit_opened", hosts=[event.host]))

    def _log_boot(self, event: HostBooted) -> None:
        host = event.host
        if self._incarnations.get(host):
            text = "host %s was rebooted: no process that ran there is left"
            _log.warning(text, host, extra=about("host_rebooted", hosts=[host]))
        self._incarnations[host] = event.incarnation

    def _log_loss(self, event: HostLost) -> None:
        host = event.host
        now = self._lost[host] = self._master.world().steady
        if event.orderly:
            text = "the daemon of host %s was stopped in order"
            _log.warning(text, host, extra=about("host_shut_down", hosts=[host]))
            return
        silence = format_duration(now - self._last_contact[host]) if host in self._last_contact else "a while"
        _log.warning("host %s is lost: nothing heard for %s", host, silence, extra=about("host_lost", hosts=[host]))

    def _log_return(self, host: str) -> None:
        away_s = self._master.world().steady - self._lost.pop(host)
        running_tasks = _tasks(self._master.state, host)
        fields = about("host_back", hosts=[host], after_s=round(away_s, 1))
        _log.warning("host %s answers again after %s; %s ran on", host, format_duration(away_s), running_tasks, extra=fields)


def _flat(closed: dict[str, dict[str, str]]) -> dict[str, str]:
    """RESOURCE/UNIT -> reason."""
    return {f"{resource}/{unit}": reason for resource, units in closed.items() for unit, reason in units.items()}


def _tasks(state: State, host: str) -> str:
    running = sum(state.jobs[job].tasks[task].status == "running" for job, task in state.tasks_on.get(host, ()))
    return f"{running or 'no'} task{'' if running == 1 else 's'}"
