"""The configuration of a test cell: the shipped default cell with hosts in @allhosts and room in all.q."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clients.admin.initial_config import NOT_OBJECTS
from gridengine.config import KINDS
from gridengine.config.sample_cell import read_cell

SHIPPED = Path(__file__).parent.parent / "cluster-config"


def shipped_texts() -> dict[str, str]:
    """The files of the default cell by name, without files that are no configuration objects."""
    found = {}
    for path in sorted(SHIPPED.rglob("*")):
        name = path.relative_to(SHIPPED)
        if path.is_file() and name.parts[0] not in NOT_OBJECTS:
            found[str(name)] = path.read_text()
    return found


@cache
def _shipped_objects() -> dict[tuple[str, str], dict[str, str]]:
    """Attributes of the objects of the default cell by (kind, name); thousands of tests begin with them."""
    return {(kind, model.object_name): model.attributes() for kind, model in read_cell(shipped_texts())}


def default_objects(hosts: list[str], slots: int) -> list[tuple[str, str, dict[str, str]]]:
    """(kind, name, attributes) of every object: all.q with `slots` slots on each host, no load thresholds."""
    objects = {key: dict(attributes) for key, attributes in _shipped_objects().items()}
    host = KINDS["exec_host"].template().attributes()
    for name in ("global", *hosts):
        objects["exec_host", name] = {**host, "hostname": name}
    objects["host_group", "@allhosts"] = {"group_name": "@allhosts", "hostlist": " ".join(hosts) or "NONE"}
    queue = objects["cluster_queue", "all.q"]
    objects["cluster_queue", "all.q"] = {**queue, "slots": str(slots), "load_thresholds": "NONE"}
    for name in ("master", *hosts):
        objects["admin_host", name] = {"name": name}
        objects["submit_host", name] = {"name": name}
    objects["manager", "root"] = {"name": "root"}
    configuration = objects["configuration", "global"]
    objects["configuration", "global"] = {**configuration, "min_uid": "0", "min_gid": "0"}
    return [(kind, name, text) for (kind, name), text in objects.items()]
