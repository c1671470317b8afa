"""What a host says is wrong with itself: its queue instances are in error for as long as it says so.

Owns that rule and the form of the reasons, by which such errors are told from those that only qmod -cq clears (QI-10).
Deviation: 8.1.9 leaves it to the first job that fails to put an instance into error, and to a person to clear it.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridengine.state.events import AnyEvent
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceErrorSet
from gridengine.state.state import State


def fault_events(state: State, host: str, faults: Iterable[str]) -> list[AnyEvent]:
    """Events that make the errors of the host's instances those that it names; errors of other kinds stay."""
    begins = f"host {host}: "
    wanted = [begins + fault for fault in faults]
    events: list[AnyEvent] = []
    for name, instance in state.instances.items():
        if instance.host != host:
            continue
        known = [reason for reason in instance.errors if reason.startswith(begins)]
        events += [InstanceErrorsCleared([name], reason) for reason in known if reason not in wanted]
        events += [InstanceErrorSet(name, reason) for reason in wanted if reason not in known]
    return events
