"""Showing configuration objects: single objects, lists of names, host groups resolved.

Owns the output of qconf -s* for objects. Called by `clients.qconf`. Source: QF-12 … QF-31, HG-5; O for texts of empty lists.
"""

import os
import sys

from clients import gdi, program
from gridengine.kinds import KIND
from gridengine.syntax.object_file import format_complex_table, format_object

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Shown = list[dict[str, Any]]


def show(kind: str, values: list[str]) -> int:
    """Print objects, in the form of their files; the exit status."""
    names = [name for value in values for name in value.split(",") if name]
    if kind == "cluster_queue" and not names:
        program.show([object_text(kind, program.read("config_template", {"kind": kind}))])
        return 0
    if kind == "cluster_queue":
        return _show_queues(names)
    if kind == "exec_host" and names == ["template"]:
        sys.stdout.write(objects_text(kind, with_load([{"name": "", "attributes": _host_template()}])))
        return 0
    if kind == "configuration" and not names:
        names = ["global"]
    answer = gdi.call("config_show", {"kind": kind, "names": names or None})
    objects: Shown = answer.data or []
    program.show([objects_text(kind, with_load(objects) if kind == "exec_host" else objects)])
    sys.stdout.flush()
    return status_of(kind, answer)


def status_of(kind: str, answer: gdi.Answer) -> int:
    """Print the texts of a `config_show`; the exit status, which is 1 when all objects were requested and none exists."""
    status = program.show_answers(answer)
    if not answer.data and not status and KIND[kind].shown_together:
        program.print_error("no sharetree element" if kind == "share_tree" else "No resource quota set found")
        return 1
    return status


def _host_template() -> "dict[str, Any]":
    """The attributes of a new execution host, under the name of the template in 8.1.9."""
    return {**program.read("config_template", {"kind": "exec_host"}), "hostname": "template"}


def _show_queues(expressions: list[str]) -> int:
    """Cluster queues, and resolved configurations of instances (QF-12)."""
    data = program.read("status", {"queue_configurations": {"queues": expressions}})["queue_configurations"]
    program.show([objects_text("cluster_queue", data["found"])])
    sys.stdout.flush()
    for phrase in data["unknown"]:
        program.print_error(f'No cluster queue or queue instance matches the phrase "{phrase}"')
    return 1 if data["unknown"] else 0


def object_text(kind: str, attributes: "dict[str, Any]", name: str = "") -> str:
    """An object in the form of its file."""
    return format_object(kind, attributes, "SGE_SINGLE_LINE" in os.environ, name)


def objects_text(kind: str, objects: "Shown") -> str:
    """The text of several objects: the complexes as one table, some kinds separated by an empty line."""
    if kind == "complex":
        return format_complex_table(sorted((each["attributes"] for each in objects), key=lambda row: row["name"]))
    if kind == "configuration":
        return "".join(object_text(kind, each["attributes"], each["name"]) for each in objects)
    texts = [object_text(kind, each["attributes"]) for each in objects]
    return ("\n" if KIND[kind].divided else "").join(texts)


def with_load(objects: "Shown") -> "Shown":
    """Execution hosts with their load values, as qconf -se shows them."""
    names = [each["name"] for each in objects if each["name"] not in ("", "global")]
    hosts = program.read("status", {"hosts": {"hosts": names, "load_values": True}})["hosts"] if names else []
    load = {host["name"]: host.get("load_values", {}) for host in hosts}
    shown: Shown = []
    for each in objects:
        reported = load.get(each["name"], {})
        attributes: dict[str, Any] = {}
        for attribute, value in each["attributes"].items():
            attributes[attribute] = value
            if attribute == "complex_values":
                attributes["load_values"] = ",".join(f"{name}={text}" for name, text in reported.items()) or "NONE"
                attributes["processors"] = reported.get("num_proc", "0")
        shown.append({"name": each["name"], "attributes": attributes})
    return shown


def show_list(kind: str) -> int:
    """Print all names of a kind, a line each; exit 1 when the kind has no object."""
    names = names_of(kind)
    if not names:
        program.print_error(KIND[kind].empty)
        return 1
    _write_names(names)
    return 0


def names_of(kind: str) -> list[str]:
    """All names of a kind that identify separate objects, sorted."""
    return sorted(name for name in program.read("config_list", {"kind": kind}) if name not in KIND[kind].unlisted)


def _write_names(names: list[str]) -> None:
    program.show(f"{name}\n" for name in names)


def search(values: list[str]) -> int:
    """-sobjl: print the names of the objects with a matching value; an empty result is no failure (QF-15)."""
    _write_names(matching_names(values))
    return 0


def matching_names(values: list[str]) -> list[str]:
    """Names of the objects that `object attribute value` selects."""
    names: list[str] = program.read("config_search", dict(zip(("object", "attribute", "value"), values, strict=True)))
    return names


def show_group_tree(group: str) -> int:
    """-shgrp_tree: print the group and, indented, its members."""
    program.show(_tree(group, group_members(group), ""))
    return 0


def show_group_hosts(group: str) -> int:
    """-shgrp_resolved: print all hosts of the group in one line; no line for an empty group (O)."""
    if hosts := hosts_of_group(group):
        print(" ".join(hosts))
    return 0


def hosts_of_group(group: str) -> list[str]:
    """All hosts of a group, each once. Raises CommandError for an unknown group."""
    return _resolve_hosts(group, group_members(group))


def group_members(group: str) -> dict[str, list[str]]:
    """Members of all groups: hosts and groups as configured, and the hosts that match a rule (HG-5, HG-12)."""
    groups = program.read("config_show", {"kind": "host_group", "names": None})
    members = {
        each["name"]: [
            member
            for member in (*each["attributes"]["hostlist"].replace(",", " ").split(), *each.get("rule_members", ()))
            if member.upper() != "NONE"
        ]
        for each in groups
    }
    if group not in members:
        raise program.CommandError(f'Host group "{group}" does not exist', 1)
    return members


def _tree(name: str, members: dict[str, list[str]], indent: str) -> "Iterator[str]":
    yield f"{indent}{name}\n"
    for member in members.get(name, ()):
        yield from _tree(member, members, indent + "   ")


def _resolve_hosts(name: str, members: dict[str, list[str]]) -> list[str]:
    """All hosts of a group, each once: its own hosts in their order, then the hosts of its subgroups (O)."""
    listed = members.get(name, ())
    hosts = dict.fromkeys(member for member in listed if not member.startswith("@"))
    for group in listed:
        if group.startswith("@"):
            hosts.update(dict.fromkeys(_resolve_hosts(group, members)))
    return list(hosts)
