"""The nodes of the share tree as listings show them: entitlement, use and short-term target of each.

Owns the traversal of the tree and the figures. Pure. Called by the query for sge_share_mon and by the qmaster's records of type
sharelog, which contain the same. Source: sge_share_mon(1), sge_share_tree(5), sge_reporting(5) sharelog; PR-11; O for the users
below a `default` leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gridengine.placement.share_tree import ActiveNode, Path, ShareTree, weighted
from gridengine.state.running_usage import share_usage
from gridengine.state.share_usage import ShareUsage
from gridengine.state.state import State
from gridengine.syntax.share_tree import DEFAULT_USER, PROJECT, USER, Node

AMOUNTS = ("cpu", "mem", "io", "ltcpu", "ltmem", "ltio")


class ShareNode(NamedTuple):
    """A node of the tree, or a user below a `default` leaf. `shares`: relative to the nodes beside it; `is_leaf`: no nodes are
    below it. `paths`: of its jobs in the tree of the policy. `level`, `total`: its fraction of its parent and of the whole tree,
    by shares, 0..1."""

    name: str
    paths: list[Path]
    user: str
    project: str
    shares: int
    level: float
    total: float
    is_leaf: bool


class Figures(NamedTuple):
    """Figures of a node at one moment. `jobs`: number of its active jobs. `long_target`, `short_target`, `actual`: fractions of
    the whole, 0..1, by shares alone, with compensation for past usage, and of the usage. `usage`: `used`, weighted, including all
    nodes below it."""

    jobs: int
    long_target: float
    short_target: float
    actual: float
    usage: float
    used: ShareUsage


def share_nodes(state: State, now: float) -> list[tuple[ShareNode, Figures]] | None:
    """All nodes, depth first; None without a tree. now: epoch seconds, until when usage decays."""
    root: Node | None = state.share_trees.get("")
    if root is None:
        return None
    tree = ShareTree(state, state.jobs.values(), now)
    nodes = list(_Nodes(tree, sorted(state.kind("user"))).below(root))
    used = _usage(state, tree, nodes, now)
    weights = state.scheduler.usage_weights
    everything = weighted(used["/"], weights)
    rows = []
    for node in nodes:
        usage = used[node.name]
        active_nodes = [active for path in node.paths if (active := _active_node_at(tree, path)) is not None]
        amount = weighted(usage, weights)
        figures = Figures(
            jobs=sum(active.jobs for active in active_nodes),
            long_target=sum((active.long_target for active in active_nodes), 0.0),
            short_target=sum((active.short_target for active in active_nodes), 0.0),
            actual=amount / everything if everything else 0.0,
            usage=amount,
            used=usage,
        )
        rows.append((node, figures))
    return rows


class _Nodes:
    """The traversal of the tree. users: the configured users, since only they have leaves."""

    def __init__(self, tree: ShareTree, users: list[str]) -> None:
        self._tree, self._users = tree, users

    def below(self, root: Node) -> Iterator[ShareNode]:
        """The root and all nodes below it, depth first."""
        yield from self._walk(ShareNode("/", [()], "", "", root.shares, 1.0, 1.0, not root.children), root)

    def _walk(self, shown: ShareNode, node: Node) -> Iterator[ShareNode]:
        """A node that has one path in the policy, and the nodes below it."""
        yield shown
        (path,) = shown.paths
        everything = sum(child.shares for child in node.children)
        for child in node.children:
            level = child.shares / everything if everything else 0.0
            project = child.name if child.type == PROJECT else shown.project
            members = self._members(child, node, path, project)
            is_user = child.type == USER and not child.children and child.name != DEFAULT_USER
            mine = ShareNode(
                f"{shown.name.rstrip('/')}/{child.name}",
                [(*path, name) for name in members] if members else [(*path, child.name)],
                user=child.name if is_user else "",
                project=project,
                shares=child.shares,
                level=level,
                total=shown.total * level,
                is_leaf=not child.children and not members,
            )
            if members:
                yield mine
                yield from _shared(mine, members)
            else:
                yield from self._walk(mine, child)

    def _members(self, child: Node, parent: Node, path: Path, project: str) -> list[str]:
        """The users that a `default` leaf stands for."""
        if child.name != DEFAULT_USER or child.type != USER or child.children:
            return []
        others = [name for name in self._users if parent.child(name) is None]
        return [name for name in others if self._tree.leaf_of(name, project) == (*path, name)]


def _shared(default: ShareNode, members: list[str]) -> Iterator[ShareNode]:
    """The users that a `default` leaf stands for, each with an equal part of it."""
    level = 1 / len(members)
    for name, path in zip(members, default.paths, strict=True):
        total = default.total * level
        yield ShareNode(f"{default.name}/{name}", [path], name, default.project, default.shares, level, total, True)


def _active_node_at(tree: ShareTree, path: Path) -> ActiveNode | None:
    """The active node of a path in the policy, None if it has no jobs."""
    active_node: ActiveNode | None = tree.top
    for name in path:
        active_node = active_node.below.get(name) if active_node is not None else None
    return active_node


def _usage(state: State, tree: ShareTree, shown: list[ShareNode], now: float) -> dict[str, ShareUsage]:
    """Usage by the name of the node, including all nodes below it."""
    leaves = {each.paths[0]: each.name for each in shown if each.is_leaf}
    found = {each.name: ShareUsage() for each in shown}
    for (owner, project), used in share_usage(state, now).items():
        name = leaves.get(tree.leaf_of(owner, project))
        while name is not None:
            found[name] = _sum(found[name], used)
            name = None if name == "/" else name.rpartition("/")[0] or "/"
    return found


def _sum(left: ShareUsage, right: ShareUsage) -> ShareUsage:
    amounts = {name: getattr(left, name) + getattr(right, name) for name in AMOUNTS}
    return ShareUsage(max(left.time, right.time), **amounts)
