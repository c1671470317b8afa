"""What a cell's configuration says of one host, and how it says so of a new one, or of one that is gone.

Owns that on plain objects, as `gridengine config export` has them; nobody is asked and nothing is sent. Called by `host` and by
`admission`. Source: IN-1; adr/0153.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from clients.admin.cell_directory import Objects
from clients.admin.host_consumables import count_gpus, count_memory
from clients.admin.refusal import Refusal
from gridengine.config import KINDS
from gridengine.config.host_groups import resolve_hosts
from gridengine.hints import did_you_mean
from gridengine.kinds import title
from gridengine.syntax.lists import join_names, split_names
from gridengine.syntax.overrides import Overrides

ROLES = ("admin", "submit", "exec")
ALL_HOSTS = "@allhosts"
_OF_ROLE = {"admin": "admin_host", "submit": "submit_host", "exec": "exec_host"}


@dataclass(frozen=True, slots=True)
class HostWishes:
    """What a new host shall be. `queues`, `groups`: that there are; `new_queue`: one of its own, "" for none; `slots`: in each
    queue that it comes to, None for the queue's default; `everywhere`: also in each that it is in; `memory`: of jobs in all, as
    MEMORY is written, "" for not counted; `gpus`: 0 for not counted.
    """

    roles: tuple[str, ...] = ROLES
    queues: tuple[str, ...] = ()
    new_queue: str = ""
    groups: tuple[str, ...] = ()
    slots: int | None = None
    everywhere: bool = False
    memory: str = ""
    gpus: int = 0


def with_host(objects: Objects, host: str, wishes: HostWishes) -> Objects:
    """The configuration with a host in it. What it has already stays. Refusal: a queue or group that there is not, or is."""
    made = copy.deepcopy(objects)
    for role in wishes.roles:
        kind = _OF_ROLE[role]
        made.setdefault(kind, {}).setdefault(host, KINDS[kind].template(host).attributes())
    if "exec" not in wishes.roles:
        return made
    if wishes.new_queue:
        _new_queue(made, host, wishes.new_queue)
    for kind, names in (("cluster_queue", wishes.queues), ("host_group", _groups(objects, wishes))):
        for name in names:
            _listed(made, kind, name, host)
    if wishes.slots is not None:
        concerned = queues_of(made, host) - (set() if wishes.everywhere else queues_of(objects, host))
        for name in concerned | set(wishes.queues):
            queue = made["cluster_queue"][name]
            queue["slots"] = str(_only(Overrides.parse(queue["slots"]), host, str(wishes.slots)))
    if wishes.memory:
        count_memory(made, host, wishes.memory, wishes.slots)
    if wishes.gpus:
        count_gpus(made, host, wishes.gpus)
    return made


def _groups(objects: Objects, wishes: HostWishes) -> tuple[str, ...]:
    """Without any word of where it belongs, a host is one of all."""
    placed = wishes.queues or wishes.new_queue or wishes.groups
    return wishes.groups if placed or ALL_HOSTS not in objects.get("host_group", {}) else (ALL_HOSTS,)


def _new_queue(made: Objects, host: str, name: str) -> None:
    if name in made["cluster_queue"]:
        raise Refusal(f'there is a {title("cluster_queue", name)} already: --queue gives the host a place in it')
    made["cluster_queue"][name] = {**KINDS["cluster_queue"].template(name).attributes(), "hostlist": host}


def _listed(made: Objects, kind: str, name: str, host: str) -> None:
    if name not in made[kind]:
        raise Refusal("; ".join(filter(None, (f"there is no {title(kind, name)}", did_you_mean(name, made[kind])))))
    holder = made[kind][name]
    holder["hostlist"] = join_names(dict.fromkeys([*split_names(holder["hostlist"]), host]))


def _only(overrides: Overrides, host: str, value: str) -> Overrides:
    """A tuple of the host, unless it has that value anyway."""
    without = overrides.without([host])
    of_groups = any(identifier.startswith("@") for identifier in without.tuples)
    return without if without.default == value and not of_groups else without.with_value(host, value)


def queues_of(objects: Objects, host: str) -> set[str]:
    """The cluster queues that have the host, also through groups."""
    groups = {name: split_names(each["hostlist"]) for name, each in objects.get("host_group", {}).items()}
    queues = objects.get("cluster_queue", {})
    return {name for name, each in queues.items() if host in resolve_hosts(groups, split_names(each["hostlist"]))}


def references(objects: Objects, host: str) -> Iterator[tuple[str, str]]:
    """Where the configuration speaks of a host: an object as people call it, and what of it. Those that name it in a text of
    their own, as quotas do, come last: they stay when it is removed."""
    for role, kind in _OF_ROLE.items():
        if host in objects.get(kind, {}):
            yield f"{role} host", ""
    if host in objects.get("configuration", {}):
        yield title("configuration", host), ""
    for kind in ("host_group", "cluster_queue"):
        for name, each in objects.get(kind, {}).items():
            attributes = [attribute for attribute, text in each.items() if _names(attribute, text, host)]
            if attributes:
                yield title(kind, name), ", ".join(attributes)
    yield from mentions(objects, host)


def mentions(objects: Objects, host: str) -> Iterator[tuple[str, str]]:
    """Quotas that name the host, which stay as they are."""
    word = re.compile(rf"(?<![\w.@-]){re.escape(host)}(?![\w.-])")
    for name, each in objects.get("resource_quota", {}).items():
        attributes = [attribute for attribute, text in each.items() if word.search(text)]
        if attributes:
            yield title("resource_quota", name), ", ".join(attributes)


def _names(attribute: str, text: str, host: str) -> bool:
    return host in split_names(text) if attribute == "hostlist" else "[" in text and host in Overrides.parse(text).tuples


def without_host(objects: Objects, host: str) -> Objects:
    """The configuration without a host: its roles, its configuration, its places in queues and groups."""
    made = copy.deepcopy(objects)
    for kind in (*_OF_ROLE.values(), "configuration"):
        made.get(kind, {}).pop(host, None)
    for kind in ("host_group", "cluster_queue"):
        for each in made.get(kind, {}).values():
            for attribute, text in each.items():
                if not _names(attribute, text, host):
                    continue
                if attribute == "hostlist":
                    each[attribute] = join_names([name for name in split_names(text) if name != host])
                else:
                    each[attribute] = str(Overrides.parse(text).without([host]))
    return made
