"""A host's part of a cell's configuration: references to it, adding it, and removing it.

Works on plain objects, in the form of `gridengine config export`; sends no request. Called by `host` and by `admission`. Source:
IN-1; adr/0153.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from clients.admin.cell_directory import Objects
from clients.admin.errors import AdminError
from clients.admin.host_consumables import count_gpus, count_memory
from gridengine.config import KINDS
from gridengine.config.host_groups import resolve_hosts
from gridengine.kinds import title
from gridengine.syntax.lists import join_names, split_names
from gridengine.syntax.overrides import Overrides
from gridengine.terminal.hints import did_you_mean

ROLES = ("admin", "submit", "exec")
ALL_HOSTS = "@allhosts"
_OF_ROLE = {"admin": "admin_host", "submit": "submit_host", "exec": "exec_host"}


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The options of a new host. `queues`, `groups`: existing names; `new_queue`: a new queue for the host, "" for none; `slots`:
    in each queue that it joins, None for the queue's default; `everywhere`: also in its present queues; `memory`: total for jobs,
    in the form of MEMORY, "" for not counted; `gpus`: 0 for not counted.
    """

    roles: tuple[str, ...] = ROLES
    queues: tuple[str, ...] = ()
    new_queue: str = ""
    groups: tuple[str, ...] = ()
    slots: int | None = None
    everywhere: bool = False
    memory: str = ""
    gpus: int = 0


def with_host(objects: Objects, host: str, options: HostOptions) -> Objects:
    """The configuration with a host added. Existing settings stay. AdminError: an unknown queue or group, or a new queue that
    exists.
    """
    made = copy.deepcopy(objects)
    for role in options.roles:
        kind = _OF_ROLE[role]
        made.setdefault(kind, {}).setdefault(host, KINDS[kind].template(host).attributes())
    if "exec" not in options.roles:
        return made
    if options.new_queue:
        _new_queue(made, host, options.new_queue)
    for kind, names in (("cluster_queue", options.queues), ("host_group", _groups(objects, options))):
        for name in names:
            _add_to_hostlist(made, kind, name, host)
    if options.slots is not None:
        concerned = queues_of(made, host) - (set() if options.everywhere else queues_of(objects, host))
        for name in concerned | set(options.queues):
            queue = made["cluster_queue"][name]
            queue["slots"] = str(_with_value_of_host(Overrides.parse(queue["slots"]), host, str(options.slots)))
    if options.memory:
        count_memory(made, host, options.memory, options.slots)
    if options.gpus:
        count_gpus(made, host, options.gpus)
    return made


def _groups(objects: Objects, options: HostOptions) -> tuple[str, ...]:
    """The host groups to join; by default the group of all hosts."""
    placed = options.queues or options.new_queue or options.groups
    return options.groups if placed or ALL_HOSTS not in objects.get("host_group", {}) else (ALL_HOSTS,)


def _new_queue(made: Objects, host: str, name: str) -> None:
    if name in made["cluster_queue"]:
        raise AdminError(f'there is a {title("cluster_queue", name)} already: --queue adds the host to it')
    made["cluster_queue"][name] = {**KINDS["cluster_queue"].template(name).attributes(), "hostlist": host}


def _add_to_hostlist(made: Objects, kind: str, name: str, host: str) -> None:
    if name not in made[kind]:
        raise AdminError("; ".join(filter(None, (f"there is no {title(kind, name)}", did_you_mean(name, made[kind])))))
    holder = made[kind][name]
    holder["hostlist"] = join_names(dict.fromkeys([*split_names(holder["hostlist"]), host]))


def _with_value_of_host(overrides: Overrides, host: str, value: str) -> Overrides:
    """The overrides with a tuple for the host, unless the value applies anyway."""
    without = overrides.without([host])
    of_groups = any(identifier.startswith("@") for identifier in without.tuples)
    return without if without.default == value and not of_groups else without.with_value(host, value)


def queues_of(objects: Objects, host: str) -> set[str]:
    """The cluster queues with the host, also through groups."""
    groups = {name: split_names(each["hostlist"]) for name, each in objects.get("host_group", {}).items()}
    queues = objects.get("cluster_queue", {})
    return {name for name, each in queues.items() if host in resolve_hosts(groups, split_names(each["hostlist"]))}


def references(objects: Objects, host: str) -> Iterator[tuple[str, str]]:
    """The references to a host in the configuration: title of the object, and attribute. Objects that name it in free text
    (quotas) come last: they stay when the host is removed.
    """
    for role, kind in _OF_ROLE.items():
        if host in objects.get(kind, {}):
            yield f"{role} host", ""
    if host in objects.get("configuration", {}):
        yield title("configuration", host), ""
    for kind in ("host_group", "cluster_queue"):
        for name, each in objects.get(kind, {}).items():
            attributes = [attribute for attribute, text in each.items() if _refers_to(attribute, text, host)]
            if attributes:
                yield title(kind, name), ", ".join(attributes)
    yield from quota_references(objects, host)


def quota_references(objects: Objects, host: str) -> Iterator[tuple[str, str]]:
    """Quotas that name the host, and that its removal does not change."""
    pattern = re.compile(rf"(?<![\w.@-]){re.escape(host)}(?![\w.-])")
    for name, each in objects.get("resource_quota", {}).items():
        attributes = [attribute for attribute, text in each.items() if pattern.search(text)]
        if attributes:
            yield title("resource_quota", name), ", ".join(attributes)


def _refers_to(attribute: str, text: str, host: str) -> bool:
    return host in split_names(text) if attribute == "hostlist" else "[" in text and host in Overrides.parse(text).tuples


def without_host(objects: Objects, host: str) -> Objects:
    """The configuration without a host: its roles, its configuration, its entries in queues and groups."""
    made = copy.deepcopy(objects)
    for kind in (*_OF_ROLE.values(), "configuration"):
        made.get(kind, {}).pop(host, None)
    for kind in ("host_group", "cluster_queue"):
        for each in made.get(kind, {}).values():
            for attribute, text in each.items():
                if not _refers_to(attribute, text, host):
                    continue
                if attribute == "hostlist":
                    each[attribute] = join_names([name for name in split_names(text) if name != host])
                else:
                    each[attribute] = str(Overrides.parse(text).without([host]))
    return made
