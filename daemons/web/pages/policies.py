"""Policies: the share tree with targets and usage, tickets of users and projects, and the scheduler's weights.

Owns the page and the requests of its buttons; the figures are the same as in sge_share_mon.
Source: PR-6, PR-7, PR-11, QF-32, QF-33.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from multidict import MultiMapping

from daemons.web.mirror import MirroredChange
from daemons.web.pages.changing import why_not_configure
from daemons.web.pages.configuration import address_of
from daemons.web.pages.forms import Question, action_route, listed
from daemons.web.pages.page import Data, Page, Visit, rows_of_page
from gridengine.kinds import KIND
from gridengine.protocols.gdi.requests import Answer
from gridengine.state.state import State
from gridengine.syntax.share_tree import Node
from gridengine.values.units import counted

ROWS = 200
_WEIGHTS = {
    "Tickets": (
        "weight_tickets_share", "weight_tickets_functional", "policy_hierarchy", "share_override_tickets",
        "share_functional_shares", "max_functional_jobs_to_schedule",
    ),
    "Share tree": ("usage_weight_list", "halftime", "halflife_decay_list", "compensation_factor"),
    "Functional": ("weight_user", "weight_project", "weight_department", "weight_job"),
    "Priority": (
        "weight_ticket", "weight_urgency", "weight_priority", "weight_waiting_time", "weight_deadline",
        "reprioritize_interval",
    ),
}
"""Attributes of the scheduler's configuration by topic."""


class TreeRow(NamedTuple):
    """A node of the tree, or a user under its leaf `default`. `path`: of names from the root. `shares`: relative to the nodes
    beside it; `level`, `total`: its fraction of its parent and of the whole tree, by shares, 0..1. `usage`: weighted; `jobs`:
    number of its active jobs. `depth`: 0 for the root.

    `target`, `short`, `actual`: fractions of the total, 0..1. `is_node`: whether the row has shares of its own, to change.
    """

    path: str
    depth: int
    shares: int
    level: float
    total: float
    target: float
    short: float
    actual: float
    usage: float
    jobs: int
    is_node: bool

    @property
    def name(self) -> str:
        return "Root" if self.path == "/" else self.path.rpartition("/")[2]


async def policies(visit: Visit) -> Data:
    """The whole page."""
    state = visit.shared.mirror.state
    status: Any = (await visit.shared.read("status", {"share_tree": {}}, visit.caller)).data
    nodes, rows = _paths(state), status["share_tree"]
    shown, pager = rows_of_page(visit, rows or (), ROWS)
    scheduler = state.kind("scheduler").get("", {})
    weights = {what: [(name, scheduler[name]) for name in names if name in scheduler] for what, names in _WEIGHTS.items()}
    return pager | {
        "tree": rows is not None, "rows": [_row(row, nodes) for row in shown],
        "weights": weights, "unused": not state.scheduler.weight_tickets_share, "holders": list(_tickets(state)),
        "why_not": why_not_configure(visit), "scheduler": address_of("scheduler", ""),
    }


def ask_about_policies(visit: Visit, fields: MultiMapping[str]) -> Question | None:
    """Ask to confirm the deletion of a node with all nodes below, or the users whose usage is cleared."""
    verb, node = fields.get("do", "").strip(), fields.get("node", "").strip()
    if verb == "clear":
        users = fields.get("users", "").replace(",", " ").split()
        targets = listed(users) or "all users and projects"
        return Question(f"Clear the usage of {targets}?", "Clear usage", ["This cannot be undone."])
    if verb != "delete":
        return None
    below = sum(path.startswith(f"{node.rstrip('/')}/") for path in _paths(visit.shared.mirror.state))
    details = [f"{counted(below, 'node')} below it: deleted as well." if below else "No nodes are below it."]
    return Question(f"Delete the share tree node {node}?", "Delete", details)


async def change_policies(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """Carry out the action of a button: `modify`, `add` or `delete` a node with `shares`, or `clear` usage, of `users` or all."""
    verb, node, shares = (fields.get(name, "").strip() for name in ("do", "node", "shares"))
    if verb == "clear":
        users = fields.get("users", "").replace(",", " ").split()
        return [await visit.shared.ask("clear_usage", {"users": users}, visit.caller)]
    if verb not in ("add", "modify", "delete"):
        return [Answer(1, [("error", f'there is no action "{verb}"')])]
    body = {"verb": verb, "nodes": [node if verb == "delete" else f"{node}={shares}"]}
    return [await visit.shared.ask("change_share_tree", body, visit.caller)]


def _paths(state: State) -> frozenset[str]:
    """Paths of the configured nodes of the tree."""
    root: Node | None = state.share_trees.get("")
    return frozenset(path for path, _ in root.walk()) if root is not None else frozenset()


def _row(row: dict[str, Any], nodes: frozenset[str]) -> TreeRow:
    path = row["node_name"]
    return TreeRow(
        path=path, depth=path.rstrip("/").count("/"), shares=row["shares"], level=row["level%"], total=row["total%"],
        target=row["long_target_share"], short=row["short_target_share"], actual=row["actual_share"],
        usage=row["usage"], jobs=row["job_count"], is_node=path in nodes,
    )


def _tickets(state: State) -> Iterator[tuple[str, str, str, int, int]]:
    """Holders of functional shares or override tickets: (noun, name, address, shares, tickets) each."""
    for table in (state.users, state.projects, state.usersets):
        for name in sorted(table):
            each = table[name]
            if each.fshare or each.oticket:
                yield KIND[table.kind].noun, name, address_of(table.kind, name), each.fshare, each.oticket


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or affected.durable or bool(affected.jobs or affected.kinds)


PAGES = [Page("/policies", "policies.html", policies, _concerns)]
ROUTES = [action_route("/policies", change_policies, ask_about_policies)]
