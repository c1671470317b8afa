"""Lost hosts: exec hosts that have sent no report for max_unheard, whose queue instances become unknown. Pure.

Called by `timers`. What becomes of their tasks is in `rerun`, the earlier detection of dead nodes in `serve/liveness`.
Source: QI-3.
"""

from __future__ import annotations

from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import HostLost
from gridengine.state.state import State


def lost_hosts(state: State, now: float) -> list[AnyEvent]:
    """The hosts that count as lost at `now`."""
    max_unheard = state.configuration().max_unheard_s
    return [HostLost(host.name, now) for host in state.hosts.values() if host.up and host.last_heard + max_unheard < now]
