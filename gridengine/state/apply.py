"""apply(state, event): the only code that writes the state.

Owns the road from an event to its machine (`gridengine.state.machines`) and the upkeep of what is derived when a state is
read. Called by the qmaster after its decisions, by mirrors with the events they are sent, and at restart with the journal.
It never decides and reads no clock; an event that cannot happen to its thing it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridengine.state.events import AnyEvent
from gridengine.state.instances import rebuild_instances
from gridengine.state.machines import configuration, host, instance, job, reservation, slave, task, usage
from gridengine.state.machines.event import Event, InvalidTransition, StateOf
from gridengine.state.state import State

MACHINES = (configuration, job, task, slave, instance, host, reservation, usage)
HANDLERS = {event: handler for machine in MACHINES for event, handler in machine.HANDLERS.items()}


CHECKS: dict[type[Event], tuple[StateOf, Mapping[str, str | tuple[str, ...]]]] = {
    event: (machine.state_of, rows)
    for machine in (job, task, slave, reservation)
    for event, rows in machine.TRANSITIONS.items()
}
"""Events that depend on the state of their thing: how it is found, and the states in which they may happen to it."""


def apply(state: State, event: AnyEvent) -> None:
    """Apply one event. Raises InvalidTransition, with the state as it was, for one that its machine's table does not have."""
    kind = type(event)
    check = CHECKS.get(kind)
    if check is not None:
        was = check[0](state, event)
        if was not in check[1]:
            raise InvalidTransition(event, was)
    HANDLERS[kind](state, event)


def load_state(state: State) -> State:
    """Build every derived index of a state that came from a snapshot."""
    reservation.index_reservations(state)
    host.index_sensed(state)
    for each in state.jobs.values():
        job.index_job(state, each)
        for one in each.tasks.values():
            if one.granted:
                task.place(state, each, one)
    # last, because what is in an instance decides whether it stays
    rebuild_instances(state)
    state.quotas.rebuild()
    return state
