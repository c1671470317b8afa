"""qconf -s… -json: configuration objects and lists of names as plain data.

Owns the list of showing options with this form, and its field names, which docs/schemas publishes. Called by `clients.qconf`.
"""

from clients import gdi, program
from clients.configure import daemons
from clients.configure import show as text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gridengine.options.configuration import Action

    Fields = dict[str, Any]


def show(actions: "list[Action]") -> int:
    """Print one object for all options: `shown`, an entry per option; the exit status."""
    for verb, _, _ in actions:
        if verb not in _SHOWN:
            program.print_error("error: -json goes with options that show something")
            return 1
    if not actions:
        program.print_error("error: -json needs an option that shows an object")
        return 1
    status = 0
    shown = []
    for verb, kind, values in actions:
        entry, failed = _SHOWN[verb](kind, values)
        shown.append(entry)
        status = status or failed
    program.print_json({"shown": shown})
    return status


def _objects(kind: str, values: list[str]) -> "tuple[Fields, int]":
    names = [name for value in values for name in value.split(",") if name]
    if kind == "cluster_queue" and names:
        data = program.read("status", {"queue_configurations": {"queues": names}})["queue_configurations"]
        for phrase in data["unknown"]:
            program.print_error(f'No cluster queue or queue instance matches the phrase "{phrase}"')
        return {"kind": kind, "objects": data["found"]}, 1 if data["unknown"] else 0
    if kind == "configuration" and not names:
        names = ["global"]
    if kind == "cluster_queue":
        template = {"name": "template", "attributes": program.read("config_template", {"kind": kind})}
        return {"kind": kind, "objects": [template]}, 0
    answer = gdi.call("config_show", {"kind": kind, "names": names or None})
    rows = text.with_load(answer.data or []) if kind == "exec_host" else answer.data or []
    objects = [{"name": row["name"], "attributes": row["attributes"]} for row in rows]
    return {"kind": kind, "objects": objects}, text.status_of(kind, answer)


def _names(kind: str, values: list[str]) -> "tuple[Fields, int]":
    return {"kind": kind, "names": text.names_of(kind)}, 0


def _hosts_of_group(kind: str, values: list[str]) -> "tuple[Fields, int]":
    return {"kind": "host_group", "names": text.hosts_of_group(values[0])}, 0


def _tree_of_group(kind: str, values: list[str]) -> "tuple[Fields, int]":
    return {"kind": "host_group", "tree": _branch(values[0], text.group_members(values[0]))}, 0


def _branch(name: str, members: dict[str, list[str]]) -> "Fields":
    """A host, or a group with its members."""
    if not name.startswith("@"):
        return {"name": name}
    return {"name": name, "members": [_branch(member, members) for member in members.get(name, ())]}


def _detached(kind: str, values: list[str]) -> "tuple[Fields, int]":
    answer = gdi.call("config_detached", {})
    rows = answer.data or ()
    # the answer's texts are the same settings for people
    names = ("queue", "attribute", "identifier", "partly")
    return {"kind": kind, "detached": [dict(zip(names, row, strict=True)) for row in rows]}, answer.status


def _scheduler(kind: str, values: list[str]) -> "tuple[Fields, int]":
    host = daemons.scheduler_host()
    return {"kind": "scheduler", "host": host or None}, 0 if host else daemons.report_no_scheduler()


def _search(kind: str, values: list[str]) -> "tuple[Fields, int]":
    return {"kind": values[0], "names": text.matching_names(values)}, 0


def _share_tree(kind: str, values: list[str]) -> "tuple[Fields, int]":
    paths = [path for value in values for path in value.split(",") if path]
    answer = gdi.call("config_share_tree", {"paths": paths or None})
    nodes = [{"path": path, "name": name, "shares": shares} for path, name, shares in answer.data or []]
    return {"kind": "share_tree", "nodes": nodes}, program.show_answers(answer)


def _event_clients(kind: str, values: list[str]) -> "tuple[Fields, int]":
    rows = program.read("event_clients", {})
    clients = [{"id": number, "name": name, "host": host} for number, name, host in rows]
    return {"kind": "event_client", "event_clients": clients}, 0


_SHOWN: "dict[str, Callable[[str, list[str]], tuple[Fields, int]]]" = {
    "show": _objects,
    "list": _names,
    "resolved": _hosts_of_group,
    "tree": _tree_of_group,
    "detached": _detached,
    "scheduler_host": _scheduler,
    "search": _search,
    "nodes": _share_tree,
    "drawn": _share_tree,
    "list_event_clients": _event_clients,
}
