"""apply(state, event): the only code that writes the state.

Owns the dispatch of an event to its machine (`gridengine.state.machines`) and the derivation of indexes when a state is read.
Called by the qmaster after its decisions, by mirrors with received events, and at restart with the journal. The function
never decides and reads no clock; it refuses an event that is invalid in the current state.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridengine.state.events import AnyEvent
from gridengine.state.instances import rebuild_instances
from gridengine.state.machines import configuration, host, instance, job, reservation, slave, task, usage
from gridengine.state.machines.closed_units import book_closed_units
from gridengine.state.machines.event import Event, InvalidTransitionError, StateOf
from gridengine.state.machines.held_units import index_held
from gridengine.state.machines.placed import place
from gridengine.state.state import State

MACHINES = (configuration, job, task, slave, instance, host, reservation, usage)
HANDLERS = {event: handler for machine in MACHINES for event, handler in machine.HANDLERS.items()}


CHECKS: dict[type[Event], tuple[StateOf, Mapping[str, str | tuple[str, ...]]]] = {
    event: (machine.state_of, rows)
    for machine in (job, task, slave, reservation)
    for event, rows in machine.TRANSITIONS.items()
}
"""Events with preconditions: the function that gives the state of their subject, and the states in which they may happen."""


def apply(state: State, event: AnyEvent) -> None:
    """Apply one event. Raises InvalidTransitionError, with the state unchanged, if its machine's table does not allow it."""
    kind = type(event)
    check = CHECKS.get(kind)
    if check is not None:
        was = check[0](state, event)
        if was not in check[1]:
            raise InvalidTransitionError(event, was)
    HANDLERS[kind](state, event)


def load_state(state: State) -> State:
    """Build every derived index of a state that came from a snapshot."""
    reservation.index_reservations(state)
    host.index_sensed(state)
    for each in state.jobs.values():
        job.index_job(state, each)
        for item in each.tasks.values():
            if item.granted:
                place(state, each, item)
    index_held(state)
    for name in state.hosts:
        book_closed_units(state, name)
    # last, because an orphaned instance stays as long as it is in use
    rebuild_instances(state)
    state.quotas.rebuild()
    return state
