"""Faults that a host reports about itself: its queue instances are in error as long as the host reports the fault.

Owns that rule and the form of the reasons. The form distinguishes these errors from errors that only qmod -cq clears (QI-10).
Deviation: in 8.1.9 the first job that fails puts an instance into error, and a person has to clear it.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridengine.state.events import AnyEvent
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceErrorSet
from gridengine.state.state import State


def fault_events(state: State, host: str, faults: Iterable[str]) -> list[AnyEvent]:
    """Events after which the instances of the host have exactly the errors in `faults`; errors of other kinds stay."""
    begins = f"host {host}: "
    reported = [begins + fault for fault in faults]
    events: list[AnyEvent] = []
    for name, instance in state.instances.items():
        if instance.host != host:
            continue
        known = [reason for reason in instance.errors if reason.startswith(begins)]
        events += [InstanceErrorsCleared([name], reason) for reason in known if reason not in reported]
        events += [InstanceErrorSet(name, reason) for reason in reported if reason not in known]
    return events
