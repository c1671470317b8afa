"""decide(state, request, caller, world) -> Decision: what a request does to the cluster.

Owns the table of handlers, one module per object. Handlers are pure: they read the state, never change it, and
return the answer with the events of one transaction, or a refusal without any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daemons.qmaster.decide.configuration import attributes, change_sets, share_tree_nodes, usersets
from daemons.qmaster.decide.configuration import objects as configuration
from daemons.qmaster.decide.hosts import cleaning
from daemons.qmaster.decide.jobs import alteration, deletion, holds, resubmission, share_usage, slaves, states, submission
from daemons.qmaster.decide.reservations import alteration as reservation_alteration
from daemons.qmaster.decide.reservations import deletion as reservation_deletion
from daemons.qmaster.decide.reservations import granting as reservations
from daemons.qmaster.decision import Decision, World
from gridengine.config import KINDS
from gridengine.errors import SyntaxFault
from gridengine.gdi import requests as rq
from gridengine.state.state import State

HANDLERS: dict[type[rq.RequestBody], Callable[[State, Any, rq.Caller, World], Decision]] = {
    rq.Submit: submission.submit,
    rq.DeleteJobs: deletion.delete_jobs,
    rq.ChangeStates: states.change_states,
    rq.HoldJobs: holds.hold_jobs,
    rq.AlterJobs: alteration.alter_jobs,
    rq.ResubmitJobs: resubmission.resubmit_jobs,
    rq.VerifiedCopy: resubmission.accept_copy,
    rq.Reserve: reservations.reserve,
    rq.AlterReservations: reservation_alteration.alter_reservations,
    rq.DeleteReservations: reservation_deletion.delete_reservations,
    rq.ConfigureAttributes: attributes.change,
    rq.ReplaceObjects: configuration.replace_all,
    rq.ChangeObjects: change_sets.change_objects,
    rq.ChangeUsers: usersets.change_users,
    rq.ChangeShareTree: share_tree_nodes.change_nodes,
    rq.ClearUsage: share_usage.clear_usage,
    rq.CleanQueues: cleaning.clean_queues,
    rq.StartSlave: slaves.start_slave,
}


def decide(state: State, name: str, request: rq.RequestBody, caller: rq.Caller, world: World) -> Decision:
    """The decision on one request. `name` tells the verbs of one request type apart (`config_add` …)."""
    if isinstance(request, rq.ConfigureObject | rq.ConfigureAttributes) and request.kind not in KINDS:
        return Decision().refuse(f'denied: there is no kind of object "{request.kind}"')
    if isinstance(request, rq.ConfigureObject):
        return configuration.VERBS[name](state, request, caller, world)
    try:
        return HANDLERS[type(request)](state, request, caller, world)
    except SyntaxFault as fault:
        # a pattern or a range somewhere in it: nothing was decided yet
        return Decision().refuse(f"denied: {fault}")
