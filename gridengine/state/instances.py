"""Queue instances follow the cluster queues and host groups: created, resolved, orphaned, revived, removed.

Owns that rule (statements CQ-1, CQ-28 … CQ-32, HG-6, HG-7); called by `gridengine.state.apply` only. A change touches only
the instances that it affects: instances of a host whose tuple changed, instances of hosts with changed groups.
"""

from __future__ import annotations

import msgspec

from gridengine.config.queue_resolution import ResolvableQueue
from gridengine.state.groups import HostGroups
from gridengine.state.queues import InstanceConfig, QueueInstance, compile_config
from gridengine.state.state import State, UnreconciledChanges
from gridengine.syntax.lists import split_names
from gridengine.values.instance_name import host_of

_EVERY: frozenset[str] | None = None
"""Means "all hosts" where a set of affected hosts or identifiers is expected."""


def rebuild_instances(state: State) -> None:
    """Derive groups and every queue from the objects; instances keep their flags."""
    state.groups = _groups(state)
    for queue in sorted({*state.kind("cluster_queue"), *(instance.queue for instance in state.instances.values())}):
        _reconcile(state, queue, frozenset())


def reconcile_instances(state: State, unreconciled: UnreconciledChanges) -> None:
    """Update the instances after changes of queues or host groups."""
    moved: frozenset[str] = frozenset()
    queues = unreconciled.queues
    if unreconciled.groups:
        before, state.groups = state.groups, _groups(state)
        moved = frozenset(host for host, _ in before.by_host.items() ^ state.groups.by_host.items())
        queues = queues | state.kind("cluster_queue").keys()
    for queue in sorted(queues):
        _reconcile(state, queue, moved)


def _groups(state: State) -> HostGroups:
    """Members of every host group: the listed members and the hosts that match its rule (HG-12)."""
    members = {}
    for name, text in state.kind("host_group").items():
        members[name] = (*split_names(text["hostlist"]), *state.rule_members.get(name, ()))
    return HostGroups(members)


def _reconcile(state: State, queue: str, moved: frozenset[str]) -> None:
    """Update the instances of a queue from its configuration. An instance with tasks is orphaned, not removed.

    `moved`: hosts whose groups have changed.
    """
    text = state.kind("cluster_queue").get(queue)
    if queue not in state.instances_of:
        state.instances_of[queue] = {name for name, instance in state.instances.items() if instance.queue == queue}
    present = state.instances_of[queue]
    hosts: list[str] = []
    if text is None:
        state.queues.pop(queue, None)
    else:
        hosts = state.groups.flatten(split_names(text["hostlist"]))
        _resolve(state, queue, hosts, _affected_hosts(state, queue, text), moved)
    listed = {f"{queue}@{host}" for host in hosts}
    for name in sorted(present - listed):
        if state.is_in_use(name):
            _orphan(state, name)
        else:
            remove_instance(state, name)
    if text is None and not state.instances_of[queue]:
        del state.instances_of[queue]


def _affected_hosts(state: State, queue: str, text: dict[str, str]) -> frozenset[str] | None:
    """Hosts and groups for which the queue's configuration changed; None for all hosts."""
    before = state.queues.get(queue)
    now = state.queues[queue] = ResolvableQueue(text)
    return now.changed_hosts(before) if before is not None else _EVERY


def _resolve(
    state: State, queue: str, hosts: list[str], concerned: frozenset[str] | None, moved: frozenset[str]
) -> None:
    """Resolve the new and the affected instances of these hosts; equal instances share the compiled configuration."""
    resolvable = state.queues[queue]
    compiled: dict[tuple[str, ...], InstanceConfig] = {}
    for host in hosts:
        name = f"{queue}@{host}"
        groups = state.groups.groups_of(host)
        known = name in state.configs and host not in moved and concerned is not _EVERY
        if not known or host in concerned or not groups.isdisjoint(concerned):  # type: ignore[operator,arg-type]
            resolved, ambiguous = resolvable.resolve(host, groups)
            key = tuple(value for attribute, value in resolved.items() if attribute != "hostlist")
            if key not in compiled:
                compiled[key] = compile_config(resolved)
            state.configs[name] = msgspec.structs.replace(compiled[key], text=resolved)
            _note_superior(state, name)
            if ambiguous:
                state.ambiguous[name] = ambiguous
            else:
                state.ambiguous.pop(name, None)
        instance = state.instances.get(name)
        if instance is None:
            disabled = state.configs[name].text["initial_state"] == "disabled"
            state.instances[name] = QueueInstance(queue, host, disabled=disabled)
            state.instances_of[queue].add(name)
        else:
            instance.orphaned = False
            instance.last_text = {}


def _orphan(state: State, name: str) -> None:
    """Keep an instance that is no longer configured, with its last configuration, for its tasks and reservations."""
    instance = state.instances[name]
    instance.orphaned = True
    state.ambiguous.pop(name, None)  # without configuration there is no ambiguity
    if name in state.configs:
        instance.last_text = state.configs[name].text
    elif instance.last_text:
        state.configs[name] = compile_config(instance.last_text)
        _note_superior(state, name)


def _note_superior(state: State, name: str) -> None:
    """Keep the index of the instances that have subordinates."""
    host = host_of(name)
    config = state.configs.get(name)
    if config is not None and config.subordinates.queues:
        state.superiors.setdefault(host, set()).add(name)
    elif host in state.superiors:
        state.superiors[host].discard(name)
        if not state.superiors[host]:
            del state.superiors[host]


def remove_instance(state: State, name: str) -> None:
    """Take an instance out of the state and of every index."""
    instance = state.instances.pop(name)
    state.instances_of.get(instance.queue, set()).discard(name)
    state.configs.pop(name, None)
    _note_superior(state, name)
    state.ambiguous.pop(name, None)
    state.tasks_in.pop(name, None)
