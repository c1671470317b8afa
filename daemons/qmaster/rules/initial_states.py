"""initial_state of queue instances when their host's execd starts.

Owns that rule; the initial state of a new instance belongs to `gridengine.state.instances`. Called by the master at the hello
of a supervisor. Source: queue_conf(5) initial_state; QC-38.
"""

from __future__ import annotations

from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import ExecdStarted
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.state import State


def execd_started(state: State, host: str, process: str) -> list[AnyEvent]:
    """The events of a hello; none if this process of the host is known already.

    `process` identifies one start of sge_execd: boot and process id.
    """
    known = state.hosts.get(host)
    if known is None or known.execd == process:
        return []
    events: list[AnyEvent] = [ExecdStarted(host, process)]
    for initial_state, disabled in (("enabled", False), ("disabled", True)):
        changed = [
            name
            for name, instance in state.instances.items()
            if instance.host == host
            and instance.disabled != disabled
            and state.configs[name].text["initial_state"] == initial_state
        ]
        if changed:
            events.append(InstanceFlagsChanged(sorted(changed), {"disabled": disabled}))
    return events
