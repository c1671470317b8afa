"""Queue instances: flags and errors that are set and cleared independently of the configuration.

Owns the events and the writing of the flags of `QueueInstance`. Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from gridengine.state.machines.event import Event, Handlers
from gridengine.state.state import State


class InstanceFlagsChanged(Event, frozen=True, tag=True):
    """Flags of the queue instances `instances` changed. `flags`: name in `QueueInstance` -> the value to which it is set."""

    instances: list[str]
    flags: dict[str, bool]


class InstanceErrorSet(Event, frozen=True, tag=True):
    """The queue instance `instance` is in state E: `reason` names the job that met the error (QI-10)."""

    instance: str
    reason: str


class InstanceErrorsCleared(Event, frozen=True, tag=True):
    """Errors of the queue instances `instances` were cleared. `reason`: the only cleared error, "" for all."""

    instances: list[str]
    reason: str = ""


InstanceEvent = InstanceFlagsChanged | InstanceErrorSet | InstanceErrorsCleared


def _instance_flags(state: State, event: InstanceFlagsChanged) -> None:
    for name in event.instances:
        instance = state.instances.get(name)
        if instance is not None:
            for flag, on in event.flags.items():
                setattr(instance, flag, on)
            instance.version += 1


def _instance_error_set(state: State, event: InstanceErrorSet) -> None:
    instance = state.instances.get(event.instance)
    if instance is not None and event.reason not in instance.errors:
        instance.errors.append(event.reason)


def _instance_errors_cleared(state: State, event: InstanceErrorsCleared) -> None:
    for name in event.instances:
        if name in state.instances:
            errors = state.instances[name].errors
            errors[:] = [error for error in errors if event.reason and error != event.reason]


HANDLERS: Handlers = {
    InstanceFlagsChanged: _instance_flags,
    InstanceErrorSet: _instance_error_set,
    InstanceErrorsCleared: _instance_errors_cleared,
}
