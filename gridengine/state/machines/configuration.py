"""The configuration: its objects, and the members of host groups by rule.

Owns the events, and the consequences of a change in the state: hosts are added and removed, queue instances and the use under
resource quotas are updated. Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from gridengine.kinds import kinds_affecting
from gridengine.state.bookings import GLOBAL
from gridengine.state.hosts import Host
from gridengine.state.instances import reconcile_instances
from gridengine.state.machines import usage
from gridengine.state.machines.closed_units import rebook_closed_units
from gridengine.state.machines.event import Event, Handlers
from gridengine.state.machines.held_units import forget_units
from gridengine.state.machines.host import forget_sensed
from gridengine.state.machines.job import forget_finished
from gridengine.state.state import State, UnreconciledChanges


class ObjectSet(Event, frozen=True, tag=True):
    """A configuration object was added or replaced; `attributes` are canonical texts in print order.

    `more`: another change of the same transaction follows, and queue instances are updated only after the last change, so
    no instance is removed and created again, without its flags, in between.
    """

    kind: str
    name: str
    attributes: dict[str, str]
    more: bool = False


class ObjectRemoved(Event, frozen=True, tag=True):
    """A configuration object was removed; `more` as in `ObjectSet`."""

    kind: str
    name: str
    more: bool = False


class GroupMembersSet(Event, frozen=True, tag=True):
    """The hosts that match the rules of host groups changed. `members`: group -> all hosts that match now, sorted (HG-12)."""

    members: dict[str, list[str]]


ConfigurationEvent = ObjectSet | ObjectRemoved | GroupMembersSet

#: the use under quotas depends on them; also on host groups, but a change of these updates everything anyway
_OF_QUOTAS = kinds_affecting("quotas")


def _object_set(state: State, event: ObjectSet) -> None:
    state.objects.setdefault(event.kind, {})[event.name] = event.attributes
    _configuration_changed(state, event.kind, event.name, event.more)


def _object_removed(state: State, event: ObjectRemoved) -> None:
    state.objects.get(event.kind, {}).pop(event.name, None)
    _configuration_changed(state, event.kind, event.name, event.more)


def _configuration_changed(state: State, kind: str, name: str, more: bool) -> None:
    state.forget_typed(kind, name)
    if kind == "exec_host" and name != GLOBAL:
        if state.has("exec_host", name):
            state.hosts.setdefault(name, Host(name))
        else:
            forget_units(state, state.hosts.pop(name, None))
            forget_sensed(state, name)
    elif kind == "host_group":
        state.unreconciled.groups = True
        if not state.has(kind, name):
            state.rule_members.pop(name, None)
    elif kind == "cluster_queue":
        state.unreconciled.queues.add(name)
    elif kind == "configuration":
        forget_finished(state)
    elif kind in _OF_QUOTAS:
        state.unreconciled.quotas = True
    elif kind in ("user", "project") and not state.has(kind, name):
        usage.forget(state, kind, name)
    if not more:
        _reconcile(state)


def _group_members_set(state: State, event: GroupMembersSet) -> None:
    for group, hosts in event.members.items():
        if hosts:
            state.rule_members[group] = hosts
        else:
            state.rule_members.pop(group, None)
    state.unreconciled.groups = True
    _reconcile(state)


def _reconcile(state: State) -> None:
    unreconciled, state.unreconciled = state.unreconciled, UnreconciledChanges()
    reconcile_instances(state, unreconciled)
    if unreconciled.quotas or unreconciled.groups:
        state.quotas.rebuild()
    state.forget_derived()
    rebook_closed_units(state)


HANDLERS: Handlers = {
    ObjectSet: _object_set,
    ObjectRemoved: _object_removed,
    GroupMembersSet: _group_members_set,
}
