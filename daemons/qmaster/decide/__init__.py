"""decide(state, request, caller, world) -> Decision: the effect of a request on the cluster.

Owns the table of handlers, one module per object. Handlers are pure. A handler reads the state, never changes it, and returns
the answer with the events of one transaction, or a refusal without events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daemons.qmaster.decide.configuration import attributes, change_sets, share_tree_nodes, usersets
from daemons.qmaster.decide.configuration import objects as configuration
from daemons.qmaster.decide.hosts import cleaning, draining
from daemons.qmaster.decide.jobs import (
    accounting_import,
    alteration,
    deletion,
    holds,
    resubmission,
    share_usage,
    slaves,
    states,
    submission,
)
from daemons.qmaster.decide.reservations import alteration as reservation_alteration
from daemons.qmaster.decide.reservations import deletion as reservation_deletion
from daemons.qmaster.decide.reservations import granting as reservations
from daemons.qmaster.decision import Decision, World
from gridengine.config import KINDS
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi import requests as rq
from gridengine.state.state import State

Decide = Callable[[State, Any, rq.Caller, World], Decision]

DECISIONS: dict[str, Decide] = {
    "submit": submission.submit,
    "delete_jobs": deletion.delete_jobs,
    "change_states": states.change_states,
    "hold_jobs": holds.hold_jobs,
    "alter_jobs": alteration.alter_jobs,
    "resubmit_jobs": resubmission.resubmit_jobs,
    "reserve": reservations.reserve,
    "alter_reservations": reservation_alteration.alter_reservations,
    "delete_reservations": reservation_deletion.delete_reservations,
    "config_add": configuration.add,
    "config_modify": configuration.modify,
    "config_delete": configuration.delete,
    "config_attributes": attributes.change,
    "config_replace": configuration.replace_all,
    "config_change": change_sets.change_objects,
    "accounting_import": accounting_import.import_accounting,
    "change_users": usersets.change_users,
    "change_share_tree": share_tree_nodes.change_nodes,
    "clear_usage": share_usage.clear_usage,
    "clean_queues": cleaning.clean_queues,
    "drain_hosts": draining.drain_hosts,
    "start_slave": slaves.start_slave,
}
"""By the names of requests."""
_WITHIN: dict[str, Decide] = {"verified_copy": resubmission.accept_copy}
"""Requests that the qmaster makes to itself while it answers a client."""


def decide(state: State, name: str, request: rq.RequestBody, caller: rq.Caller, world: World) -> Decision:
    """The decision on one request."""
    if isinstance(request, rq.ConfigureObject | rq.ConfigureAttributes) and request.kind not in KINDS:
        return Decision().refuse(f'denied: there is no kind of object "{request.kind}"')
    try:
        return (DECISIONS.get(name) or _WITHIN[name])(state, request, caller, world)
    except InvalidValueError as fault:
        # a malformed pattern or range in the request: no event was decided yet
        return Decision().refuse(f"denied: {fault}")
