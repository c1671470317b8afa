"""initial_state of queue instances when their host's execd starts.

Owns that rule; what a new instance starts with is `gridengine.state.instances`'. Called by the master when a supervisor
says hello. Source: queue_conf(5) initial_state; QC-38.
"""

from __future__ import annotations

from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import ExecdStarted
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.state import State


def execd_started(state: State, host: str, process: str) -> list[AnyEvent]:
    """The events of a hello; none when this process of the host is known already.

    `process` tells one start of sge_execd from another: boot and process id.
    """
    known = state.hosts.get(host)
    if known is None or known.execd == process:
        return []
    events: list[AnyEvent] = [ExecdStarted(host, process)]
    for wanted, disabled in (("enabled", False), ("disabled", True)):
        changed = [
            name
            for name, instance in state.instances.items()
            if instance.host == host
            and instance.disabled != disabled
            and state.configs[name].text["initial_state"] == wanted
        ]
        if changed:
            events.append(InstanceFlagsChanged(sorted(changed), {"disabled": disabled}))
    return events
