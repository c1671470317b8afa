"""Lost hosts: exec hosts that have sent no report for max_unheard, whose queue instances become unknown. Pure.

Called by `timers`, and by all rules that give up a host. The tasks of a lost host are up to `rerun`, the earlier detection of
dead nodes in `serve/liveness`. Source: QI-3.
"""

from __future__ import annotations

from gridengine.state.events import AnyEvent
from gridengine.state.hosts import Host
from gridengine.state.machines.host import HostLost
from gridengine.state.state import State

RETURN_S = 20.0
"""Grace period after its own start in which the qmaster waits for reports of hosts, before it considers a host lost."""


def lost_hosts(state: State, now: float) -> list[AnyEvent]:
    """The hosts that count as lost at `now`."""
    max_unheard = state.configuration().max_unheard_s
    return [HostLost(host.name, now) for host in state.hosts.values() if host.up and host.last_heard + max_unheard < now]


def is_lost(host: Host | None, now: float, started: float) -> bool:
    """Whether the qmaster gives up a host that is not up. `started`: when the qmaster started, epoch s.

    A host without a report since then is given up at the end of the grace period.
    """
    if host is not None and host.up:
        return False
    return now >= started + RETURN_S or (host is not None and host.last_heard >= started)
