"""The release that each exec host runs and has installed, and the hosts that are to restart as another release.

Owns the releases that hosts have reported since this process started (none of it is state), and which hosts may join. A host gets
the request in the answer to its next hello, which all versions understand. Called for hellos, `releases` and `restart_hosts`.
Source: docs/adr/0149.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from daemons.qmaster.master import Master
from daemons.qmaster.spooling.spool_versions import VERSION
from daemons.runtime.release import own_release, ray_version
from gridengine.protocols.gdi.requests import Answer, ExecdHello, RestartHosts
from gridengine.protocols.protocol import PROTOCOL, incompatibility_reason
from gridengine.protocols.racks import CONNECTED
from gridengine.state.bookings import GLOBAL
from gridengine.values.units import format_duration

_log = logging.getLogger(__name__)

HELLO_S, LONGEST_HELLO_S, MAX_HELLOS_PER_S = 2.0, 20.0, 100
"""Seconds between hellos of a host that has joined, at least and at most, and the limit of hellos a second from all hosts: each
costs a millisecond, and a lost host is detected by other means."""
CONNECTED_HELLO_S = 10.0
"""The least for a host that is connected to the node of its rack; it sends a hello at once when it is not."""
RESTART_S = 60.0
"""Time for which a host that was requested to restart as another release is not taken for lost."""


@dataclass(slots=True)
class HostRelease:
    """The last hello of a host, `hello`. `ready`: its inventory was taken since it runs this release. `target`: the release as
    which it is to restart, "" for none; requested at `requested_at` (steady s)."""

    hello: ExecdHello
    ready: bool = False
    target: str = ""
    requested_at: float = -math.inf


class HostReleases:
    """Of one running qmaster."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._hosts: dict[str, HostRelease] = {}
        self._refusals: dict[str, str] = {}

    def heard(self, hello: ExecdHello, cell_id: str) -> str:
        """Take a hello of a host to the cell `cell_id`. Returns why the host cannot join, "" if it can; logged once."""
        refusal = self._record_hello(hello) if hello.cell_id in ("", cell_id) else _foreign_host_refusal(hello)
        if refusal and refusal != self._refusals.get(hello.host):
            _log.error("%s", refusal)
        self._refusals[hello.host] = refusal
        return refusal

    def _record_hello(self, hello: ExecdHello) -> str:
        """Record the hello of a host of this cell. Returns why the host cannot work with this qmaster, "" if it can."""
        known = self._hosts.setdefault(hello.host, HostRelease(hello))
        if known.hello.release != hello.release:
            known.ready = False
            if known.target == hello.release:
                took = format_duration(self._master.world().steady - known.requested_at)
                _log.warning("host %s goes on as release %s, after %s", hello.host, hello.release, took)
                known.target = ""
        if hello.refusal and known.target:
            _log.error("host %s %s", hello.host, hello.refusal)
            known.target = ""
        known.hello = hello
        return incompatibility_reason(hello.host, hello.protocol, PROTOCOL, (hello.ray, ray_version()))

    def release_report(self, host: str) -> dict[str, object]:
        """The part of the answer to a hello that concerns releases, and the seconds until the next hello."""
        known = self._hosts.get(host)
        least_s = CONNECTED_HELLO_S if known and known.hello.rack == CONNECTED else HELLO_S
        pace_s = min(max(least_s, len(self._hosts) / MAX_HELLOS_PER_S), LONGEST_HELLO_S)
        pace = {"hello_s": pace_s} if pace_s > HELLO_S else {}
        return {"protocol": PROTOCOL, **pace, **({"restart": known.target} if known and known.target else {})}

    def inventoried(self, host: str) -> None:
        """The inventory of a host was taken."""
        if host in self._hosts:
            self._hosts[host].ready = True

    def is_restarting(self, host: str) -> bool:
        """Whether a host is silent because it was requested to restart."""
        known = self._hosts.get(host)
        if known is None or self._master.world().steady - known.requested_at >= RESTART_S:
            return False
        # the host sends its hello as the new release before its node has joined
        return bool(known.target) or not known.ready

    def restart(self, request: RestartHosts) -> Answer:
        """Request hosts to restart as a release that they have installed."""
        answer = Answer()
        for host in request.hosts:
            known = self._hosts.get(host)
            if known is None:
                answer.error(f'denied: execution host "{host}" has sent no hello to this qmaster')
            elif known.hello.installed != request.release:
                has = known.hello.installed or "no release that it reports"
                answer.error(f'denied: execution host "{host}" has {has} installed, not {request.release}')
            elif known.hello.release != request.release:
                known.target, known.requested_at = request.release, self._master.world().steady
                _log.warning("host %s is requested to restart as release %s", host, request.release)
        return answer

    def listed(self) -> Answer:
        """The qmaster's own release, and a row for each exec host."""
        names = sorted(name for name in self._master.state.kind("exec_host") if name not in (GLOBAL, "template"))
        own = {"host": self._master.world().master_host, "release": own_release(), "protocol": PROTOCOL, "spool": VERSION}
        return Answer(data={"master": own, "hosts": [self._row(name) for name in names]})

    def _row(self, name: str) -> dict[str, object]:
        state, known = self._master.state, self._hosts.get(name)
        hello, host = known.hello if known else ExecdHello(name), state.hosts.get(name)
        return {
            "host": name,
            "up": host is not None and host.up,
            "tasks": len(state.tasks_on.get(name, ())),
            "protocol": hello.protocol,
            "release": hello.release,
            "installed": hello.installed,
            "ready": known is not None and known.ready,
            "refusal": hello.refusal,
            "complaint": self._refusals.get(name, ""),
        }


def _foreign_host_refusal(hello: ExecdHello) -> str:
    """Return the reason why a host of another cell does not join: its tasks do not belong to this cell."""
    return f'host "{hello.host}" belongs to another cell, {hello.cell_id}'
