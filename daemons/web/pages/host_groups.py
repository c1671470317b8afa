"""The graph of host groups: nested groups, the hosts of a group, and the objects that use a group. Source: GU-1."""

from __future__ import annotations

import re

from daemons.web.drawing import host_groups as drawing
from daemons.web.mirror import MirroredChange
from daemons.web.pages.configuration import Match, address_of, matches
from daemons.web.pages.page import Data, NotFoundError, Page, Visit
from gridengine.state.state import State

KIND_NAME = "host_group"
_SHOWN = 200


async def graph(visit: Visit) -> Data:
    """The graph, with details on the group in the address; with `near=yes` only groups that are related to that group."""
    state, name = visit.shared.mirror.state, visit.parameter("group")
    members = state.groups.members
    data: Data = {"group": name, "near": visit.parameter("near") == "yes", "chosen": None, "related": set()}
    data["count"] = len(members)
    if name:
        if name not in members:
            raise NotFoundError(f"There is no host group {name}")
        data["related"] = drawing.related(members, name)
        hosts = state.groups.flatten([name])
        data["chosen"] = {
            "hosts": hosts[:_SHOWN], "total": len(hosts), "members": members[name],
            "used": users_of(state, name), "address": address_of(KIND_NAME, name),
        }
    shown = {each: of for each, of in members.items() if not data["near"] or each in data["related"]}
    return data | {"graph": drawing.lay_out(shown), "box": (drawing.WIDTH, drawing.HEIGHT)}


def users_of(state: State, group: str) -> list[Match]:
    """Objects that name a host group, except the group itself."""
    named = re.compile(rf"(?<![\w@.-]){re.escape(group)}(?![\w.-])")
    return [match for match in matches(state, named) if match.address != address_of(KIND_NAME, group)]


def _concerns(change: MirroredChange) -> bool:
    return change.whole or bool(change.affected.kinds)


PAGES = [Page("/hostgroups", "hostgroups.html", graph, _concerns)]
